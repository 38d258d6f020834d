//! A digest of a request, by which a retry is told from another request under its number (RFC 8881
//! §2.10.6.1.3.1), or under its transaction id where there are no sessions.
//!
//! Where a reply is kept it covers every byte of the operations and the user, so it must be fast: four lanes
//! of folded multiplications, which a processor runs side by side, about as fast as it copies. It is keyed by
//! the session's random id, though only a client could gain from a collision, and only against itself; and by
//! a secret where several clients may share an address.

use rpc::Caller;
use rpc::auth::Flavor;

/// Odd numbers without structure: the fractional parts of the square roots of primes.
const LANES: [u64; 4] =
    [0x6a09_e667_f3bc_c909, 0xbb67_ae85_84ca_a73b, 0x3c6e_f372_fe94_f82b, 0xa54f_f53a_5f1d_36f1];
/// Bytes that one lane takes at a time.
const STEP: usize = 16;
/// Bytes that all lanes take at a time.
const BLOCK: usize = STEP * LANES.len();

/// Collects what a request is made of.
pub(crate) struct Digest {
    lanes: [u64; 4],
}

impl Digest {
    pub(crate) fn new(key: [u8; 16]) -> Self {
        let (low, high) = words(&key);
        Self { lanes: [LANES[0] ^ low, LANES[1] ^ high, LANES[2] ^ low, LANES[3] ^ high] }
    }

    /// Adds bytes and their number: what is added in two parts has another digest than in one.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        let (blocks, rest) = bytes.as_chunks::<BLOCK>();
        for block in blocks {
            let (steps, _) = block.as_chunks::<STEP>();
            for (index, step) in steps.iter().enumerate() {
                self.step(index, step);
            }
        }
        let (steps, tail) = rest.as_chunks::<STEP>();
        for (index, step) in steps.iter().enumerate() {
            self.step(index, step);
        }
        let mut last = [0; STEP];
        last[..tail.len()].copy_from_slice(tail);
        self.step(3, &last);
        self.number(bytes.len() as u64);
    }

    pub(crate) fn number(&mut self, number: u64) {
        self.lanes[0] = fold(self.lanes[0] ^ number, LANES[3]);
    }

    /// The caller with its groups. Persistent sessions keep digests, so their parts stay as they are.
    pub(crate) fn caller(&mut self, caller: &Caller) {
        match (caller.flavor(), caller.user()) {
            (Flavor::Sys, Some(user)) => {
                self.number(1 << 32 | u64::from(user.uid));
                self.number(u64::from(user.gid));
                self.number(user.gids.len() as u64);
                user.gids.iter().for_each(|gid| self.number(u64::from(*gid)));
                self.bytes(caller.machine_name());
            }
            (Flavor::None, _) => self.number(0),
            (flavor, _) => {
                self.number(2 << 32 | u64::from(flavor.number()));
                self.bytes(caller.principal());
            }
        }
    }

    /// The user and nothing else: less than [`Digest::caller`] where that has a digest of its own.
    pub(crate) fn user(&mut self, caller: &Caller) {
        match (caller.flavor(), caller.user()) {
            (Flavor::Sys, Some(user)) => self.number(1 << 32 | u64::from(user.uid)),
            _ => self.caller(caller),
        }
    }

    pub(crate) fn finish(self) -> u64 {
        self.lanes.iter().fold(0, |all: u64, lane| fold(all.rotate_left(23) ^ lane, LANES[0]))
    }

    #[inline]
    fn step(&mut self, lane: usize, step: &[u8; STEP]) {
        let (low, high) = words(step);
        // Adding the lane again keeps what it knew if the product should be nought.
        self.lanes[lane] =
            fold(self.lanes[lane] ^ low, high ^ LANES[lane]).wrapping_add(self.lanes[lane].rotate_left(29));
    }
}

fn words(bytes: &[u8; STEP]) -> (u64, u64) {
    let both = u128::from_le_bytes(*bytes);
    (both as u64, (both >> 64) as u64)
}

/// The two halves of a product, laid over each other.
fn fold(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rpc::AuthSys;

    use super::*;

    fn of(bytes: &[u8]) -> u64 {
        let mut digest = Digest::new([7; 16]);
        digest.bytes(bytes);
        digest.finish()
    }

    #[test]
    fn every_bit_and_the_length_count() {
        let mut seen = BTreeSet::new();
        let mut data = vec![0; 300];
        for length in 0..=data.len() {
            assert!(seen.insert(of(&data[..length])), "{length} noughts");
        }
        for bit in 0..data.len() * 8 {
            data[bit / 8] ^= 1 << (bit % 8);
            assert!(seen.insert(of(&data)), "bit {bit}");
            data[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn two_words_exchanged_count() {
        let data: Vec<u8> = (0..128).collect();
        let mut seen = BTreeSet::from([of(&data)]);
        for one in 0..16 {
            for other in one + 1..16 {
                let mut swapped = data.clone();
                for byte in 0..8 {
                    swapped.swap(one * 8 + byte, other * 8 + byte);
                }
                assert!(seen.insert(of(&swapped)), "words {one} and {other}");
            }
        }
    }

    #[test]
    fn the_user_counts_and_the_stamp_does_not() {
        let of = |stamp, uid, gid, gids: &[u32]| {
            let mut digest = Digest::new([7; 16]);
            let machine_name = "m".into();
            digest.caller(&AuthSys { stamp, machine_name, uid, gid, gids: gids.into() }.into());
            digest.finish()
        };
        let same = of(1, 2, 3, &[4, 5]);
        assert_eq!(same, of(9, 2, 3, &[4, 5]));
        for other in [of(1, 9, 3, &[4, 5]), of(1, 2, 9, &[4, 5]), of(1, 2, 3, &[4]), of(1, 2, 3, &[5, 4])] {
            assert_ne!(same, other);
        }
    }
}

//! What stands in the files: bytes that follow from seed, file, generation and offset, so that what is read
//! can be checked without keeping it.
//!
//! Owns the pattern and its check. It knows nothing of files or the network.

use bytes::{Bytes, BytesMut};

use crate::seeded::mix;

const WORD: u64 = 8;
/// Words of each read that are compared. A wrong block has all of them wrong, so a few find it.
const SAMPLES: u64 = 5;

/// The contents of one file in one generation. Prepared files are generation 0; each overwriting has its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pattern {
    key: u64,
}

impl Pattern {
    /// The pattern of `file` in `generation`.
    pub(crate) fn new(seed: u64, file: u64, generation: u64) -> Self {
        Self { key: mix(mix(mix(seed) ^ file).wrapping_add(generation)) }
    }

    /// The `length` bytes from `offset` on.
    pub(crate) fn bytes(self, offset: u64, length: usize) -> Bytes {
        let before = (offset % WORD) as usize;
        let words = (before + length).div_ceil(WORD as usize);
        let mut buffer = BytesMut::zeroed(words * WORD as usize);
        let first = offset / WORD;
        for (chunk, index) in buffer.chunks_exact_mut(WORD as usize).zip(first..) {
            chunk.copy_from_slice(&self.word(index));
        }
        buffer.freeze().slice(before..before + length)
    }

    /// Whether `data`, read at `offset`, is of this pattern, at samples that include its first and its last
    /// byte.
    pub(crate) fn holds(self, offset: u64, data: &[u8]) -> bool {
        let Some(last) = (data.len() as u64).checked_sub(1) else { return true };
        (0..SAMPLES).all(|sample| {
            let position = last * sample / (SAMPLES - 1);
            self.word_holds(offset, data, offset + position)
        })
    }

    /// Whether `data` agrees in all of its bytes that are in the word that holds the file's byte `at`.
    fn word_holds(self, offset: u64, data: &[u8], at: u64) -> bool {
        let start = at / WORD * WORD;
        self.word(at / WORD).iter().zip(start..).all(|(expected, position)| {
            let byte = position.checked_sub(offset).and_then(|index| data.get(index as usize));
            byte.is_none_or(|byte| byte == expected)
        })
    }

    fn word(self, index: u64) -> [u8; WORD as usize] {
        // One multiplication: filling must cost less than sending.
        let word = (self.key ^ index).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (word ^ (word >> 32)).to_le_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_the_same_wherever_it_is_cut() {
        let pattern = Pattern::new(1, 2, 0);
        let whole = pattern.bytes(0, 100);
        for (offset, length) in [(0, 100), (3, 20), (8, 8), (99, 1), (50, 0)] {
            assert_eq!(pattern.bytes(offset, length), whole[offset as usize..offset as usize + length]);
        }
    }

    #[test]
    fn written_pattern_verifies() {
        let pattern = Pattern::new(1, 2, 3);
        for (offset, length) in [(0, 4096), (5, 1), (5, 9), (4095, 70_001), (17, 0)] {
            assert!(pattern.holds(offset, &pattern.bytes(offset, length)), "{offset} {length}");
        }
    }

    #[test]
    fn another_seed_file_generation_or_place_does_not_hold() {
        let data = Pattern::new(1, 2, 3).bytes(4096, 4096);
        assert!(!Pattern::new(2, 2, 3).holds(4096, &data));
        assert!(!Pattern::new(1, 3, 3).holds(4096, &data));
        assert!(!Pattern::new(1, 2, 4).holds(4096, &data));
        assert!(!Pattern::new(1, 2, 3).holds(0, &data));
        assert!(!Pattern::new(1, 2, 3).holds(4096, &[0; 4096]));
    }

    #[test]
    fn a_wrong_first_or_last_byte_is_found() {
        let pattern = Pattern::new(1, 2, 3);
        for position in [0, 4095] {
            let mut data = pattern.bytes(4096, 4096).to_vec();
            data[position] ^= 1;
            assert!(!pattern.holds(4096, &data));
        }
    }
}

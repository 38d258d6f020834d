//! Random choices that a seed repeats: in every release and on every machine the same.
//!
//! Owns one generator (SplitMix64). General-purpose crates promise good numbers, not the same numbers for
//! ever, and a result's seed must still mean the same order of blocks years later. Not for secrets.

/// A generator with a state of one word.
#[derive(Debug, Clone)]
pub(crate) struct Seeded(u64);

impl Seeded {
    /// The generator that belongs to `seed` and `stream`; different streams are independent.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        Self(mix(seed).wrapping_add(mix(!stream)))
    }

    /// The next word.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `bound`; 0 when `bound` is 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        // The high half of the product: the bias is bound ÷ 2⁶⁴, which no benchmark sees.
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// Puts `items` into random order.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

/// Spreads every bit of `word` over all others.
pub(crate) fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers_and_another_stream_gives_others() {
        let numbers = |seed, stream| {
            let mut seeded = Seeded::new(seed, stream);
            [seeded.next(), seeded.next(), seeded.next()]
        };
        assert_eq!(numbers(1, 2), numbers(1, 2));
        assert_ne!(numbers(1, 2), numbers(1, 3));
        assert_ne!(numbers(1, 2), numbers(2, 1));
    }

    #[test]
    fn numbers_stay_below_their_bound_and_reach_all_of_it() {
        let mut seeded = Seeded::new(7, 0);
        let mut seen = [false; 5];
        for _ in 0..1000 {
            seen[seeded.below(5) as usize] = true;
        }
        assert_eq!(seen, [true; 5]);
        assert_eq!(seeded.below(0), 0);
    }

    #[test]
    fn shuffling_keeps_every_item_and_changes_the_order() {
        let mut items: Vec<u32> = (0..50).collect();
        Seeded::new(7, 0).shuffle(&mut items);
        let mut sorted = items.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..50).collect::<Vec<_>>());
        assert_ne!(items, sorted);
    }
}

//! The window of sequence numbers of a context (RFC 2203 §5.3.3.1).

/// The numbers of a window. It is larger than the requests that a client has under way: one that is dropped
/// looks to the client like a lost call.
pub const WINDOW: u32 = 4_096;

/// The highest sequence number of a context (`MAXSEQ`, RFC 2203 §5).
pub const SEQUENCE_MAX: u32 = 0x8000_0000;

const WORDS: usize = (WINDOW / u64::BITS) as usize;

/// The numbers from the highest one seen down to `WINDOW` − 1 below it, and which of them were seen.
#[derive(Debug)]
pub(super) struct Window {
    /// `None` before the first number.
    highest: Option<u32>,
    /// A bit for each number, at its place modulo `WINDOW`.
    seen: [u64; WORDS],
}

impl Window {
    pub(super) fn new() -> Self {
        Self { highest: None, seen: [0; WORDS] }
    }

    /// Notes a number, which moves the window forward if it is higher than all before it. The caller has
    /// verified the MIC. False for a number below the window, and for one that was seen.
    pub(super) fn admit(&mut self, number: u32) -> bool {
        match self.highest {
            None => self.highest = Some(number),
            Some(highest) if number > highest => {
                self.clear(highest, number);
                self.highest = Some(number);
            }
            Some(highest) if highest - number >= WINDOW => return false,
            Some(_) => {}
        }
        let (word, bit) = place(number);
        let is_new = self.seen[word] & bit == 0;
        self.seen[word] |= bit;
        is_new
    }

    /// Clears the places of the numbers behind `highest` up to `number`.
    fn clear(&mut self, highest: u32, number: u32) {
        let distance = number - highest;
        if distance >= WINDOW {
            self.seen = [0; WORDS];
            return;
        }
        let mut next = highest + 1;
        while next <= number {
            let (word, bit) = place(next);
            // The places up to the end of the word, or up to `number`.
            let places = (u64::BITS - bit.trailing_zeros()).min(number - next + 1);
            let ones = if places == u64::BITS { u64::MAX } else { (1 << places) - 1 };
            self.seen[word] &= !(ones << bit.trailing_zeros());
            next += places;
        }
    }
}

/// Returns the word of a number and its bit there.
fn place(number: u32) -> (usize, u64) {
    let place = number % WINDOW;
    ((place / u64::BITS) as usize, 1 << (place % u64::BITS))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// The rule of the standard, with a set of all numbers seen.
    #[derive(Default)]
    struct Model(BTreeSet<u32>);

    impl Model {
        fn admit(&mut self, number: u32) -> bool {
            let is_below = self.0.last().is_some_and(|last| u64::from(*last) >= u64::from(number + WINDOW));
            !is_below && self.0.insert(number)
        }
    }

    #[test]
    fn edges_of_the_window_are_those_of_the_standard() {
        let mut window = Window::new();
        assert!(window.admit(10_000));
        assert!(!window.admit(10_000), "a repeated number");
        assert!(window.admit(10_000 - WINDOW + 1), "the lowest of the window");
        assert!(!window.admit(10_000 - WINDOW), "the first below it");
        assert!(window.admit(10_001));
        assert!(!window.admit(10_000 - WINDOW + 1), "the window has moved");
        assert!(window.admit(SEQUENCE_MAX) && !window.admit(10_002));
        assert!(window.admit(SEQUENCE_MAX - WINDOW + 1) && !window.admit(SEQUENCE_MAX - WINDOW));
    }

    #[test]
    fn first_number_may_be_any_and_zero_counts() {
        let mut window = Window::new();
        assert!(window.admit(0) && !window.admit(0));
        let mut window = Window::new();
        assert!(window.admit(5) && window.admit(0) && window.admit(4) && !window.admit(0));
    }

    proptest! {
        #[test]
        fn window_agrees_with_a_set_of_all_numbers(
            start in 0_u32..SEQUENCE_MAX,
            steps in prop::collection::vec((any::<bool>(), 0_u32..3 * WINDOW), 1..300),
        ) {
            let (mut window, mut model, mut last) = (Window::new(), Model::default(), start);
            for (is_forward, distance) in steps {
                let number = match is_forward {
                    true => last.saturating_add(distance).min(SEQUENCE_MAX),
                    false => last.saturating_sub(distance),
                };
                prop_assert_eq!(window.admit(number), model.admit(number), "{}", number);
                last = last.max(number);
            }
        }
    }
}

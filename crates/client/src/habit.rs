//! What the first thing was that was done with an object each time it was opened: a lock that always follows may be asked
//! for with the open itself. Pure.

use std::ops::Range;

/// How often in a row the same lock must have come first before it is expected.
const STREAK_MIN: u8 = 2;

/// The first acts of the opens of one object.
#[derive(Debug, Default)]
pub(crate) struct LockHabit {
    last: Option<(Range<u64>, bool)>,
    streak: u8,
}

impl LockHabit {
    /// An open file was used for the first time: for a lock of this range, exclusive or not, or for anything else.
    pub(crate) fn first_act(&mut self, lock: Option<(Range<u64>, bool)>) {
        self.streak = match lock.is_some() && lock == self.last {
            true => self.streak.saturating_add(1),
            false => u8::from(lock.is_some()),
        };
        self.last = lock;
    }

    /// The lock that will follow on the next open, as far as one can tell.
    pub(crate) fn expected(&self) -> Option<(Range<u64>, bool)> {
        self.last.clone().filter(|_| self.streak >= STREAK_MIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_expected_when_it_came_first_twice_in_a_row() {
        let mut habit = LockHabit::default();
        habit.first_act(Some((0..10, false)));
        assert_eq!(habit.expected(), None);
        habit.first_act(Some((0..10, false)));
        assert_eq!(habit.expected(), Some((0..10, false)));
        habit.first_act(Some((0..10, true)));
        assert_eq!(habit.expected(), None, "it is another lock");
    }

    #[test]
    fn anything_else_ends_the_habit() {
        let mut habit = LockHabit::default();
        for _ in 0..300 {
            habit.first_act(Some((0..u64::MAX, true)));
        }
        habit.first_act(None);
        assert_eq!(habit.expected(), None);
        habit.first_act(Some((0..u64::MAX, true)));
        assert_eq!(habit.expected(), None);
    }
}

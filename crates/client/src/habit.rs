//! What is usually done with an object, and so what is asked for along with an open of it. Pure.

use std::ops::Range;

/// How often in a row the same lock must have come first before it is expected.
const STREAK_MIN: u8 = 2;

/// How many opens for writing it takes at most until a delegation for writing is asked for.
const PATIENCE_MAX: u8 = 64;

/// The first acts of the opens of one object: a lock that always follows may be asked for with the open
/// itself.
#[derive(Debug, Default)]
pub(crate) struct LockHabit {
    last: Option<(Range<u64>, bool)>,
    streak: u8,
}

impl LockHabit {
    /// An open file was used for the first time: for a lock of this range, exclusive or not, or for anything
    /// else.
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

/// The opens for writing of one object: who opens it so again and again, with nobody else about, is served by
/// a delegation. One that is used once costs a request more, and one that others want at once costs them a
/// recall.
#[derive(Debug)]
pub(crate) struct WriteHabit {
    opens: u8,
    /// How many must have come with nobody else in between.
    patience: u8,
}

impl Default for WriteHabit {
    fn default() -> Self {
        Self { opens: 0, patience: 1 }
    }
}

impl WriteHabit {
    /// It was opened for writing.
    pub(crate) fn opened(&mut self) {
        self.opens = self.opens.saturating_add(1);
    }

    /// Somebody else has wanted it.
    pub(crate) fn recalled(&mut self) {
        self.opens = 0;
        self.patience = (self.patience * 2).min(PATIENCE_MAX);
    }

    /// It will be opened for writing again, as far as one can tell.
    pub(crate) fn goes_on(&self) -> bool {
        self.opens >= self.patience
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_writing_is_expected_again_and_less_after_conflicts() {
        let mut habit = WriteHabit::default();
        assert!(!habit.goes_on());
        habit.opened();
        assert!(habit.goes_on());
        for needed in [2, 4, 8, 16, 32, 64, 64, 64] {
            habit.recalled();
            (1..needed).for_each(|_| habit.opened());
            assert!(!habit.goes_on());
            habit.opened();
            assert!(habit.goes_on());
        }
        (0..1000).for_each(|_| habit.opened());
        assert!(habit.goes_on());
    }

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

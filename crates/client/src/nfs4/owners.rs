//! Numbers of open-owners. Each open has its own, and numbers are used again, so that a server sees no more
//! owners than there ever were opens at once. Pure.

use std::collections::BTreeSet;

/// The numbers in use.
#[derive(Debug, Default)]
pub(super) struct Owners {
    next: u64,
    free: BTreeSet<u64>,
}

impl Owners {
    /// The lowest number that is free.
    pub(super) fn take(&mut self) -> u64 {
        self.free.pop_first().unwrap_or_else(|| {
            self.next += 1;
            self.next
        })
    }

    /// The number is free again.
    pub(super) fn give_back(&mut self, owner: u64) {
        self.free.insert(owner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_used_again_lowest_first() {
        let mut owners = Owners::default();
        assert_eq!([owners.take(), owners.take(), owners.take()], [1, 2, 3]);
        owners.give_back(3);
        owners.give_back(1);
        assert_eq!([owners.take(), owners.take(), owners.take()], [1, 3, 4]);
    }
}

//! How often something is still to be done: the loop of a phase, a file to be created.

use std::sync::atomic::{AtomicU64, Ordering};

/// Shared by the threads of one client.
#[derive(Debug)]
pub(super) struct Passes {
    left: Option<AtomicU64>,
}

impl Passes {
    /// `passes` in all; none for no limit.
    pub(super) fn new(passes: Option<u64>) -> Self {
        Self { left: passes.map(AtomicU64::new) }
    }

    /// Takes one; false when there is none left.
    pub(super) fn take(&self) -> bool {
        let less = |left: u64| left.checked_sub(1);
        self.left
            .as_ref()
            .is_none_or(|left| left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_are_given_out_than_there_are() {
        let passes = Passes::new(Some(2));
        assert_eq!([passes.take(), passes.take(), passes.take(), passes.take()], [true, true, false, false]);
        assert!(Passes::new(None).take());
    }
}

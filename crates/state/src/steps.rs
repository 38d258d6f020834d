//! Counts the steps of searches, in test builds: a test can assert how the cost of an operation grows.

#[cfg(test)]
use std::cell::Cell;

#[cfg(test)]
thread_local! {
    static STEPS: Cell<u64> = const { Cell::new(0) };
}

/// Counts one step; does nothing outside of test builds.
#[inline]
pub(crate) fn step() {
    #[cfg(test)]
    STEPS.with(|steps| steps.set(steps.get() + 1));
}

/// The steps of `work` on this thread.
#[cfg(test)]
pub(crate) fn steps_of(work: impl FnOnce()) -> u64 {
    let before = STEPS.with(Cell::get);
    work();
    STEPS.with(Cell::get) - before
}

//! Whether a thread works on the only request of its line.
//!
//! Handing a wait for the disk to another thread, and being woken by it, costs as much as a fast disk takes.
//! Where nothing else of its line is kept waiting, the thread may wait itself. Who serves knows when that is
//! so; a file system that has no use for it need not ask.

use std::cell::Cell;

thread_local! {
    static ALONE: Cell<Alone> = const { Cell::new(Alone::No) };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Alone {
    No,
    Yes,
    HasWaited,
}

/// Says that the request that this thread goes on with is the only one of its line, as those before it were,
/// until [`end_alone`].
pub fn begin_alone() {
    ALONE.set(Alone::Yes);
}

/// Says that it may not be any more; true when the thread has waited for it, so that others may have come.
pub fn end_alone() -> bool {
    ALONE.replace(Alone::No) == Alone::HasWaited
}

/// True while the request that this thread works on is the only one of its line.
#[cfg(target_os = "linux")]
pub(crate) fn is_alone() -> bool {
    ALONE.get() != Alone::No
}

/// Notes that the thread has waited for a request that is alone.
#[cfg(target_os = "linux")]
pub(crate) fn note_wait() {
    ALONE.set(Alone::HasWaited);
}

//! The memory that the reply caches of all sessions may take together.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts bytes that are promised: a slot that is in use is charged its longest reply, so that there is always room for it.
#[derive(Debug)]
pub(crate) struct ReplyMemory {
    max: u64,
    taken: AtomicU64,
}

/// How much is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Supply {
    /// Less than a sixteenth: clients are asked for every slot that they do not use.
    Spent,
    /// Less than a quarter: clients are asked for slots back.
    Short,
    /// Neither.
    Fair,
    /// More than half: clients may have more slots again.
    Ample,
}

impl ReplyMemory {
    pub(crate) fn new(max: u64) -> Self {
        Self { max, taken: AtomicU64::new(0) }
    }

    pub(crate) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Takes `bytes`; false when there are not so many.
    pub(crate) fn take(&self, bytes: u64) -> bool {
        if bytes == 0 {
            return true;
        }
        let take = |taken: u64| taken.checked_add(bytes).filter(|taken| *taken <= self.max);
        self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }

    pub(crate) fn give_back(&self, bytes: u64) {
        // Most requests give nothing back, and need not write to what all sessions share.
        if bytes > 0 {
            self.taken.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    pub(crate) fn supply(&self) -> Supply {
        let taken = self.taken();
        if taken > self.max / 16 * 15 {
            Supply::Spent
        } else if taken > self.max / 4 * 3 {
            Supply::Short
        } else if taken > self.max / 2 {
            Supply::Fair
        } else {
            Supply::Ample
        }
    }
}

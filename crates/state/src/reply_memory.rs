//! The memory that the reply caches of all sessions may take together, and the share of each client address.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts bytes that are promised: a slot that is in use is charged its longest reply, so that there is
/// always room for it.
#[derive(Debug)]
pub(crate) struct ReplyMemory {
    max: u64,
    taken: AtomicU64,
}

impl Default for ReplyMemory {
    /// Without a bound.
    fn default() -> Self {
        Self::new(u64::MAX)
    }
}

/// The part of the sessions of one client address. An address may take as much as it leaves to all others.
#[derive(Debug, Default)]
pub(crate) struct ReplyShare {
    memory: Arc<ReplyMemory>,
    own: AtomicU64,
}

/// How much is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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

impl Supply {
    fn of(taken: u64, max: u64) -> Self {
        if taken > max / 16 * 15 {
            Self::Spent
        } else if taken > max / 4 * 3 {
            Self::Short
        } else if taken > max / 2 {
            Self::Fair
        } else {
            Self::Ample
        }
    }
}

impl ReplyMemory {
    pub(crate) fn new(max: u64) -> Self {
        Self { max, taken: AtomicU64::new(0) }
    }

    pub(crate) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Takes `bytes`; false when there are not so many.
    fn take(&self, bytes: u64) -> bool {
        let take = |taken: u64| taken.checked_add(bytes).filter(|taken| *taken <= self.max);
        self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }
}

impl ReplyShare {
    pub(crate) fn new(memory: Arc<ReplyMemory>) -> Self {
        Self { memory, own: AtomicU64::new(0) }
    }

    /// Takes `bytes`; false when there are not so many, or the address has its share.
    pub(crate) fn take(&self, bytes: u64) -> bool {
        if bytes == 0 {
            return true;
        }
        let own = self.own.fetch_add(bytes, Ordering::Relaxed) + bytes;
        // Several threads of the address may take at once: each counts the others' bytes, and none too much
        // is taken.
        let is_within = own <= self.memory.max.saturating_sub(self.memory.taken().saturating_add(bytes));
        if is_within && self.memory.take(bytes) {
            return true;
        }
        self.own.fetch_sub(bytes, Ordering::Relaxed);
        false
    }

    pub(crate) fn give_back(&self, bytes: u64) {
        // Most requests give nothing back, and need not write to what all sessions share.
        if bytes > 0 {
            self.own.fetch_sub(bytes, Ordering::Relaxed);
            self.memory.taken.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    /// What is left of the memory, or of the share if that is less.
    pub(crate) fn supply(&self) -> Supply {
        let (max, taken) = (self.memory.max, self.memory.taken());
        let own = self.own.load(Ordering::Relaxed);
        let share = max.saturating_sub(taken.saturating_sub(own)) / 2;
        Supply::of(taken, max).min(Supply::of(own, share))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_takes_as_much_as_it_leaves_to_others() {
        let memory = Arc::new(ReplyMemory::new(1200));
        let (a, b) = (ReplyShare::new(Arc::clone(&memory)), ReplyShare::new(Arc::clone(&memory)));
        let fill = |share: &ReplyShare| (0..).take_while(|_| share.take(10)).count();
        assert_eq!(fill(&a), 60);
        assert_eq!((a.supply(), b.supply()), (Supply::Spent, Supply::Ample));
        assert_eq!(fill(&b), 30, "a newcomer has room");
        assert_eq!(memory.taken(), 900);
        a.give_back(600);
        assert_eq!((a.supply(), b.supply(), memory.taken()), (Supply::Ample, Supply::Ample, 300));
        b.give_back(300);
        assert_eq!((b.supply(), memory.taken()), (Supply::Ample, 0));
    }
}

//! The change attribute (RFC 8881 §5.8.1.4): different after every change that somebody may have missed, and
//! never going back.
//!
//! Where the kernel gives every change of an inode that was looked at a time of its own (multigrain
//! timestamps), the time of the last change in nanoseconds is all it takes. Elsewhere a time is good for a
//! whole tick of some milliseconds, and the value is that time and a count:
//!
//! - Of files that were changed through us lately a bounded table keeps the value last given. When one was
//!   changed since, or its time moved, the next value is the larger of its time and the last value plus one.
//! - A file that is not in the table, because it was changed before the start or had to make room, may once
//!   have had a value above its time. Up to the latest time of such a file, times count [`SETTLED`]
//!   nanoseconds more: above any count, and below the next tick. So a value of before is never given for a
//!   later state.
//!
//! The kernel's own counter (`STATX_CHANGE_COOKIE`) is not shown to processes. What others than us change
//! twice within one tick cannot be told apart on a kernel with coarse times.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;
use rustix::time::{ClockId, clock_gettime};

/// Added to the times of files whose count is not known. Less than the shortest tick (1 ms).
const SETTLED: u64 = 999_999;
/// Longer than any file system's times stand still: 2 s, those of FAT.
const STANDSTILL_MAX_NS: i64 = 3_000_000_000;
const SHARDS: usize = 16;
/// Files of a shard that a count is kept of.
const FILES_MAX: usize = 4096;

/// Where times tell all changes apart, nothing is kept.
pub(super) enum Changes {
    Fine,
    Coarse(Box<Coarse>),
}

/// Counts beside coarse times.
pub(super) struct Coarse {
    /// Files that are not in the table and were changed at this time or before, in nanoseconds, are settled.
    settled_ns: AtomicI64,
    shards: [Mutex<Shard>; SHARDS],
}

#[derive(Default)]
struct Shard {
    files: HashMap<u64, Recent>,
    /// The oldest first.
    order: VecDeque<u64>,
}

/// A file that was changed through us.
#[derive(Clone, Copy)]
struct Recent {
    /// Its time and value when it was last looked at; never, as long as there is none.
    seen: Option<(i64, u64)>,
    /// Changed since.
    moved: bool,
}

impl Changes {
    /// `fine` where every change of an inode that was looked at gets a new time. Otherwise it waits for the
    /// next tick, so that no file is changed in the tick of an earlier server's last change.
    pub(super) fn new(fine: bool) -> Self {
        if fine {
            return Self::Fine;
        }
        let start_ns = now_ns();
        while now_ns() == start_ns {
            std::thread::sleep(Duration::from_millis(1));
        }
        Self::Coarse(Box::new(Coarse::new(start_ns)))
    }

    /// Notes that a file was changed through us. To be called after the change.
    pub(super) fn moved(&self, fileid: u64) {
        if let Self::Coarse(coarse) = self {
            coarse.moved(fileid, now_ns);
        }
    }

    /// True where a change through us gets a new value at its end, whatever its time is.
    pub(super) fn is_counted(&self) -> bool {
        matches!(self, Self::Coarse(_))
    }

    /// True when a file whose last change is at `time_ns` now cannot be changed any more without a new time.
    pub(super) fn is_past(&self, time_ns: i64) -> bool {
        match self {
            Self::Fine => true,
            Self::Coarse(_) => now_ns().saturating_sub(time_ns) > STANDSTILL_MAX_NS,
        }
    }

    /// The value for a file whose last change is at `time_ns`. It never is that time itself: clients may know
    /// of such values that they are worth no more than a coarse time is, and do not believe them at once.
    pub(super) fn value(&self, fileid: u64, time_ns: i64) -> u64 {
        let value = match self {
            Self::Fine => time_ns as u64,
            Self::Coarse(coarse) => coarse.value(fileid, time_ns),
        };
        value.wrapping_add(1)
    }
}

impl Coarse {
    fn new(now_ns: i64) -> Self {
        Self { settled_ns: AtomicI64::new(now_ns), shards: Default::default() }
    }

    fn moved(&self, fileid: u64, now_ns: impl Fn() -> i64) {
        let mut shard = self.shard(fileid).lock();
        let Shard { files, order } = &mut *shard;
        match files.entry(fileid) {
            Entry::Occupied(mut file) => file.get_mut().moved = true,
            Entry::Vacant(file) => {
                file.insert(Recent { seen: None, moved: true });
                order.push_back(fileid);
            }
        }
        if files.len() <= FILES_MAX {
            return;
        }
        let oldest = order.pop_front().and_then(|fileid| files.remove(&fileid));
        // Before the lock goes: nobody may see the file without its entry and not settled.
        let last_ns = match oldest {
            Some(Recent { seen: Some((time_ns, _)), moved: false }) => time_ns,
            _ => now_ns(),
        };
        self.settled_ns.fetch_max(last_ns, Relaxed);
    }

    fn value(&self, fileid: u64, time_ns: i64) -> u64 {
        let mut shard = self.shard(fileid).lock();
        let settled = if time_ns <= self.settled_ns.load(Relaxed) { SETTLED } else { 0 };
        let least = (time_ns as u64).wrapping_add(settled);
        let Some(file) = shard.files.get_mut(&fileid) else { return least };
        let value = match file.seen {
            Some((seen_ns, value)) if seen_ns == time_ns && !file.moved => value,
            Some((_, value)) => least.max(value + 1),
            // It may have been looked at in this very tick, before the change.
            None => least.wrapping_add(1),
        };
        *file = Recent { seen: Some((time_ns, value)), moved: false };
        value
    }

    fn shard(&self, fileid: u64) -> &Mutex<Shard> {
        &self.shards[(fileid % SHARDS as u64) as usize]
    }
}

/// The clock that coarse times are taken from.
pub(super) fn now_ns() -> i64 {
    let now = clock_gettime(ClockId::RealtimeCoarse);
    now.tv_sec.wrapping_mul(1_000_000_000).wrapping_add(now.tv_nsec)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: i64 = 1_000_000;

    #[test]
    fn changes_within_a_tick_differ_and_a_new_tick_is_its_time_again() {
        let coarse = Coarse::new(0);
        let mut last = coarse.value(7, 5 * TICK);
        assert_eq!(last, 5 * TICK as u64);
        for _ in 0..1000 {
            coarse.moved(7, || 5 * TICK);
            let next = coarse.value(7, 5 * TICK);
            assert!(next > last);
            assert_eq!(coarse.value(7, 5 * TICK), next, "the same without a change");
            last = next;
        }
        coarse.moved(7, || 6 * TICK);
        assert_eq!(coarse.value(7, 6 * TICK), 6 * TICK as u64);
    }

    #[test]
    fn a_change_of_others_is_seen_by_its_time() {
        let coarse = Coarse::new(0);
        coarse.moved(7, || TICK);
        let first = coarse.value(7, TICK);
        assert!(coarse.value(7, 2 * TICK) > first);
        assert!(coarse.value(7, TICK) > 2 * TICK as u64, "also when the clock was set back");
    }

    #[test]
    fn counters_do_not_go_back_when_a_file_makes_room_or_at_a_restart() {
        let coarse = Coarse::new(0);
        let mut given = Vec::new();
        for _ in 0..10 {
            coarse.moved(0, || TICK);
            given.push(coarse.value(0, TICK));
        }
        for other in 1..=FILES_MAX as u64 {
            coarse.moved(other * SHARDS as u64, || TICK);
        }
        assert!(!coarse.shard(0).lock().files.contains_key(&0));
        let restarted = Coarse::new(TICK + 5);
        for coarse in [coarse, restarted] {
            let settled = coarse.value(0, TICK);
            assert!(given.iter().all(|value| *value < settled));
            coarse.moved(0, || TICK);
            let next = coarse.value(0, TICK);
            assert!(next > settled);
            coarse.moved(0, || 2 * TICK);
            assert!(coarse.value(0, 2 * TICK) > next);
        }
    }

    #[test]
    fn only_a_time_that_is_over_tells_changes_apart() {
        let second = 1_000_000_000;
        assert!(!Changes::new(false).is_past(now_ns() - second));
        assert!(!Changes::new(false).is_past(now_ns() + second));
        assert!(Changes::new(false).is_past(now_ns() - 4 * second));
        assert!(Changes::new(true).is_past(now_ns() + second));
    }

    #[test]
    fn the_table_is_bounded() {
        let coarse = Coarse::new(0);
        for fileid in 0..3 * (FILES_MAX * SHARDS) as u64 {
            coarse.moved(fileid, || TICK);
        }
        for shard in &coarse.shards {
            let shard = shard.lock();
            assert_eq!((shard.files.len(), shard.order.len()), (FILES_MAX, FILES_MAX));
        }
        assert_eq!(coarse.settled_ns.load(Relaxed), TICK);
    }
}

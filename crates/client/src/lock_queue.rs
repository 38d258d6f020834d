//! The callers of this process that wait for byte-range locks of one object, in the order of asking.
//!
//! A caller that an earlier one conflicts with asks the server later. A caller is woken when a lock of this
//! process ends, when an earlier caller leaves the queue, and by CB_NOTIFY_LOCK or
//! NLM_GRANTED.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;

/// The waiting callers of one object.
#[derive(Debug, Default)]
pub(crate) struct LockQueue {
    waiters: Mutex<Vec<Arc<Waiter>>>,
}

#[derive(Debug)]
struct Waiter {
    /// The open file.
    owner: u64,
    range: Range<u64>,
    exclusive: bool,
    /// Keeps one wake-up: it may come before the caller sleeps, as CB_NOTIFY_LOCK may before the reply that
    /// denies the lock.
    wake: Notify,
}

impl Waiter {
    fn conflicts(&self, other: &Self) -> bool {
        self.owner != other.owner
            && (self.exclusive || other.exclusive)
            && self.range.start < other.range.end
            && other.range.start < self.range.end
    }
}

impl LockQueue {
    /// Joins the end of the queue, until the turn is dropped.
    pub(crate) fn join(&self, owner: u64, range: Range<u64>, exclusive: bool) -> Turn<'_> {
        let waiter = Arc::new(Waiter { owner, range, exclusive, wake: Notify::new() });
        self.waiters.lock().push(Arc::clone(&waiter));
        Turn { queue: self, waiter }
    }

    /// Wakes the callers whose turn it is: a lock of this process has ended.
    pub(crate) fn wake_next(&self) {
        let waiters = self.waiters.lock();
        for (index, waiter) in waiters.iter().enumerate() {
            if !waiters[..index].iter().any(|earlier| earlier.conflicts(waiter)) {
                waiter.wake.notify_one();
            }
        }
    }

    /// Wakes the callers of an open file: the server says that the lock may be free.
    pub(crate) fn wake_owner(&self, owner: u64) {
        self.waiters.lock().iter().filter(|waiter| waiter.owner == owner).for_each(|waiter| {
            waiter.wake.notify_one();
        });
    }
}

/// A place in the queue.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    queue: &'a LockQueue,
    waiter: Arc<Waiter>,
}

impl Turn<'_> {
    /// True when no earlier caller conflicts with this one.
    pub(crate) fn has_come(&self) -> bool {
        let waiters = self.queue.waiters.lock();
        let mut earlier = waiters.iter().take_while(|waiter| !Arc::ptr_eq(waiter, &self.waiter));
        !earlier.any(|earlier| earlier.conflicts(&self.waiter))
    }

    /// Sleeps until a wake-up, for `longest` at most; false when none has come.
    pub(crate) async fn sleep(&self, longest: Duration) -> bool {
        tokio::time::timeout(longest, self.waiter.wake.notified()).await.is_ok()
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.queue.waiters.lock().retain(|waiter| !Arc::ptr_eq(waiter, &self.waiter));
        self.queue.wake_next();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    #[tokio::test(start_paused = true)]
    async fn callers_are_woken_in_the_order_of_asking() {
        let queue = LockQueue::default();
        let (first, second) = (queue.join(1, 0..10, true), queue.join(2, 5..15, true));
        let (reader, other) = (queue.join(3, 0..10, false), queue.join(4, 20..30, true));
        assert!(first.has_come() && other.has_come());
        assert!(!second.has_come() && !reader.has_come());
        queue.wake_next();
        assert!(first.sleep(LONG).now_or_never().is_some() && other.sleep(LONG).now_or_never().is_some());
        assert!(second.sleep(LONG).now_or_never().is_none(), "it is not its turn");
        drop(first);
        assert!(second.has_come() && second.sleep(LONG).now_or_never().is_some(), "by the one before");
        assert!(!reader.has_come());
        drop(second);
        assert!(reader.has_come());
    }

    #[tokio::test(start_paused = true)]
    async fn a_wake_up_before_the_sleep_is_kept_and_only_for_its_owner() {
        let queue = LockQueue::default();
        let (one, two) = (queue.join(1, 0..10, false), queue.join(2, 0..10, false));
        queue.wake_owner(1);
        assert!(one.sleep(LONG).now_or_never().is_some());
        assert!(one.sleep(LONG).now_or_never().is_none(), "once");
        assert!(two.sleep(LONG).now_or_never().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn readers_and_callers_of_one_file_do_not_wait_for_each_other() {
        let queue = LockQueue::default();
        let turns = [queue.join(1, 0..10, false), queue.join(2, 0..10, false), queue.join(1, 0..10, true)];
        assert!(turns[1].has_come() && !turns[2].has_come(), "a writer waits for the reader of another file");
    }
}

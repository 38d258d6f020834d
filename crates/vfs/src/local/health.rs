//! Whether the calls on a file system return, and the calls that are being made.
//!
//! Each thread publishes the call that it is making in a slot of its own: two relaxed stores per call, and
//! no clock. The watchdog reads the slots and marks the file system of a call that does not return as slow.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::thread::Thread;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use rustix::thread::Pid;

use crate::DeviceNumber;

/// How long a file system stays slow after its last call that did not return in time.
const HOLD_MIN: Duration = Duration::from_secs(1);
/// The same for one that becomes slow again and again.
const HOLD_MAX: Duration = Duration::from_secs(64);
/// A file system that was slow again within so many holds is held twice as long.
const HOLDS_BETWEEN: u32 = 8;

/// Bits of a published call: the file system, the kind of the call, and a number that differs between calls.
const HEALTH_SHIFT: u32 = 40;
const KIND_SHIFT: u32 = 38;
const NUMBER_MASK: u64 = (1 << KIND_SHIFT) - 1;

/// A thread that makes calls sets this when the watchdog sleeps until it does.
static WATCHDOG_SLEEPS: AtomicBool = AtomicBool::new(false);
static WATCHDOG: Mutex<Option<Thread>> = Mutex::new(None);
static SLOTS: Mutex<Vec<Arc<CallSlot>>> = Mutex::new(Vec::new());
static FILE_SYSTEMS: Mutex<Vec<Weak<Health>>> = Mutex::new(Vec::new());
static NEXT_ID: AtomicU32 = AtomicU32::new(1);
/// No call may be made in place, on any file system: too few threads are left to take over from those that
/// hang.
static NONE_IN_PLACE: AtomicBool = AtomicBool::new(false);

thread_local! {
    static CALLER: Caller = Caller::register();
}

/// The kind of a call, by the thread that makes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallKind {
    /// On a thread that serves others as well.
    InPlace,
    /// On a thread that may wait for the disk: another has taken over its other work.
    Waiting,
    /// On a thread of the file system's own pool.
    Pool,
}

/// The state of one file system (`st_dev`), shared by all exports on it.
#[derive(Debug)]
pub(super) struct Health {
    id: u32,
    device: DeviceNumber,
    is_slow: AtomicBool,
    history: Mutex<History>,
    /// Without a journal ext4 takes an inode for clean as soon as a `syncfs` has taken it up, and before it
    /// is on the disk: an `fsync` of it that runs beside returns too early. There neither runs beside the
    /// other, whichever export they are for.
    pub(super) syncs: RwLock<()>,
}

#[derive(Debug, Default)]
struct History {
    hold: Duration,
    last_hang: Option<Instant>,
    recovered: Option<Instant>,
}

impl Health {
    /// The state of the file system of `device`.
    pub(super) fn of(device: DeviceNumber) -> Arc<Self> {
        let mut all = FILE_SYSTEMS.lock();
        all.retain(|health| health.strong_count() > 0);
        if let Some(known) = all.iter().filter_map(Weak::upgrade).find(|health| health.device == device) {
            return known;
        }
        let health = Arc::new(Self {
            id: NEXT_ID.fetch_add(1, Relaxed),
            device,
            is_slow: AtomicBool::new(false),
            history: Mutex::default(),
            syncs: RwLock::default(),
        });
        all.push(Arc::downgrade(&health));
        health
    }

    /// True while calls on this file system may hang: a thread that serves others makes none.
    pub(super) fn is_slow(&self) -> bool {
        self.is_slow.load(Relaxed) || NONE_IN_PLACE.load(Relaxed)
    }

    /// Publishes that this thread makes a call on the file system, until the guard is dropped. Calls may be
    /// nested.
    pub(super) fn begin_call(&self) -> CallGuard {
        CALLER
            .try_with(|caller| caller.begin(self.id, caller.kind.get()))
            .map_or(CallGuard::NONE, CallGuard::restoring)
    }

    /// As [`Health::begin_call`], for a call that may wait for the disk.
    pub(super) fn begin_wait(&self) -> CallGuard {
        CALLER
            .try_with(|caller| match caller.kind.get() {
                CallKind::Pool => caller.begin(self.id, CallKind::Pool),
                _ => caller.begin(self.id, CallKind::Waiting),
            })
            .map_or(CallGuard::NONE, CallGuard::restoring)
    }

    /// Marks the file system as slow. True when it was not.
    pub(super) fn note_hang(&self, now: Instant) -> bool {
        let mut history = self.history.lock();
        history.last_hang = Some(now);
        if self.is_slow.swap(true, Relaxed) {
            return false;
        }
        let is_again = history.recovered.is_some_and(|at| now - at < history.hold * HOLDS_BETWEEN);
        history.hold = if is_again { (history.hold * 2).min(HOLD_MAX) } else { HOLD_MIN };
        true
    }

    /// Ends the mark once every call has returned in time for long enough.
    pub(super) fn recover(&self, now: Instant) {
        if !self.is_slow.load(Relaxed) {
            return;
        }
        let mut history = self.history.lock();
        if history.last_hang.is_none_or(|at| now - at >= history.hold) {
            history.recovered = Some(now);
            self.is_slow.store(false, Relaxed);
        }
    }
}

/// Every file system that is exported.
pub(super) fn file_systems() -> Vec<Arc<Health>> {
    FILE_SYSTEMS.lock().iter().filter_map(Weak::upgrade).collect()
}

/// The slots of all threads that have made a call and run still.
pub(super) fn slots() -> Vec<Arc<CallSlot>> {
    let mut slots = SLOTS.lock();
    slots.retain(|slot| Arc::strong_count(slot) > 1);
    slots.clone()
}

/// Allows calls in place, or sends those on every file system to its pool.
pub(super) fn allow_in_place(allows: bool) {
    NONE_IN_PLACE.store(!allows, Relaxed);
}

/// From now on this thread is one of a pool.
pub(super) fn join_pool() {
    // A thread that ends makes no calls any more.
    let _ = CALLER.try_with(|caller| caller.kind.set(CallKind::Pool));
}

/// Sleeps until a thread makes a call. False when none did for so long. For the watchdog alone.
pub(super) fn sleep_until_call(at_most: Duration) -> bool {
    *WATCHDOG.lock() = Some(std::thread::current());
    WATCHDOG_SLEEPS.store(true, Relaxed);
    std::thread::park_timeout(at_most);
    !WATCHDOG_SLEEPS.swap(false, Relaxed)
}

/// Where a thread publishes the call that it makes; alone in its cache line.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct CallSlot {
    pub(super) thread: Pid,
    call: AtomicU64,
}

/// A call as it was published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PublishedCall(u64);

impl CallSlot {
    pub(super) fn call(&self) -> Option<PublishedCall> {
        Some(PublishedCall(self.call.load(Relaxed))).filter(|call| call.0 != 0)
    }
}

impl PublishedCall {
    pub(super) fn is_on(self, health: &Health) -> bool {
        self.0 >> HEALTH_SHIFT == u64::from(health.id)
    }

    pub(super) fn kind(self) -> CallKind {
        match self.0 >> KIND_SHIFT & 3 {
            0 => CallKind::InPlace,
            1 => CallKind::Waiting,
            _ => CallKind::Pool,
        }
    }
}

/// The state of a thread's own calls.
struct Caller {
    slot: Arc<CallSlot>,
    calls: Cell<u64>,
    kind: Cell<CallKind>,
}

impl Caller {
    fn register() -> Self {
        let slot = Arc::new(CallSlot { thread: rustix::thread::gettid(), call: AtomicU64::new(0) });
        SLOTS.lock().push(Arc::clone(&slot));
        Self { slot, calls: Cell::new(0), kind: Cell::new(CallKind::InPlace) }
    }

    /// Publishes a call; the one before, which goes on behind it.
    fn begin(&self, health: u32, kind: CallKind) -> u64 {
        if WATCHDOG_SLEEPS.load(Relaxed) {
            wake_watchdog();
        }
        let number = self.calls.get().wrapping_add(1) & NUMBER_MASK;
        self.calls.set(number);
        let before = self.slot.call.load(Relaxed);
        let call = u64::from(health) << HEALTH_SHIFT | (kind as u64) << KIND_SHIFT | number;
        self.slot.call.store(call, Relaxed);
        before
    }
}

#[cold]
fn wake_watchdog() {
    if WATCHDOG_SLEEPS.swap(false, Relaxed)
        && let Some(watchdog) = &*WATCHDOG.lock()
    {
        watchdog.unpark();
    }
}

/// Ends a published call when dropped. Stays on its thread.
pub(super) struct CallGuard {
    before: Option<u64>,
    of_this_thread: PhantomData<*const ()>,
}

impl CallGuard {
    const NONE: Self = Self { before: None, of_this_thread: PhantomData };

    fn restoring(before: u64) -> Self {
        Self { before: Some(before), of_this_thread: PhantomData }
    }
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            // A thread that ends makes no calls any more.
            let _ = CALLER.try_with(|caller| caller.slot.call.store(before, Relaxed));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(major: u32) -> DeviceNumber {
        DeviceNumber { major, minor: u32::MAX }
    }

    fn own_call() -> Option<PublishedCall> {
        CALLER.with(|caller| caller.slot.call())
    }

    #[test]
    fn calls_are_published_while_they_run_and_may_be_nested() {
        let (outer, inner) = (Health::of(device(1)), Health::of(device(2)));
        assert!(own_call().is_none());
        let first = outer.begin_call();
        let published = own_call().unwrap();
        assert!(published.is_on(&outer) && published.kind() == CallKind::InPlace);
        let second = inner.begin_wait();
        assert!(own_call().unwrap().is_on(&inner) && own_call().unwrap().kind() == CallKind::Waiting);
        drop(second);
        assert_eq!(own_call(), Some(published));
        drop(first);
        assert!(own_call().is_none());
        let again = outer.begin_call();
        assert_ne!(own_call(), Some(published), "another call of the same thread");
        drop(again);
    }

    #[test]
    fn exports_on_one_device_share_their_health() {
        let first = Health::of(device(3));
        assert!(Arc::ptr_eq(&first, &Health::of(device(3))));
        assert!(!Arc::ptr_eq(&first, &Health::of(device(4))));
    }

    #[test]
    fn file_system_that_hangs_again_is_held_twice_as_long() {
        let health = Health::of(device(5));
        let mut now = Instant::now();
        for hold in [1, 2, 4, 8, 16, 32, 64, 64].map(Duration::from_secs) {
            assert!(health.note_hang(now) && !health.note_hang(now));
            health.recover(now + hold - Duration::from_millis(1));
            assert!(health.is_slow());
            now += hold;
            health.recover(now);
            assert!(!health.is_slow());
        }
        now += HOLD_MAX * HOLDS_BETWEEN;
        assert!(health.note_hang(now));
        health.recover(now + HOLD_MIN);
        assert!(!health.is_slow(), "it was well for long");
    }
}

//! The thread that finds calls on a file system that do not return.
//!
//! One thread of the process looks at the calls that are being made. A thread that the kernel has put to
//! sleep in one call for longer than [`IN_PLACE_MAX`] hangs: its file system is marked as slow, and the
//! [`StallHandler`]s learn how many threads hang, so that others take over. A thread that only waits for a
//! processor does not hang. While no call is made the watchdog sleeps.

use std::collections::HashMap;
use std::sync::{Arc, Once, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::thread::Pid;

use super::health::{self, CallKind, Health, PublishedCall};

/// How often the calls are looked at.
const TICK: Duration = Duration::from_millis(5);
/// How long a call may hold a thread that serves others.
const IN_PLACE_MAX: Duration = Duration::from_millis(20);
/// How long a call may wait for the disk before its file system is slow.
const WAITING_MAX: Duration = Duration::from_secs(1);
/// The watchdog sleeps when so many looks in a row found no call.
const QUIET_LOOKS_MAX: u32 = 200;
/// It looks at least so often, in case it missed the call that was to wake it.
const SLEEP_MAX: Duration = Duration::from_secs(1);

/// Replaces threads that hang in a call of a file system.
pub trait StallHandler: Send + Sync {
    /// Called when the number of threads changes that serve others and hang. Returns whether calls may
    /// still be made in place: false when too few threads are left to take over from those.
    fn set_stalled(&self, threads: usize) -> bool;
}

static START: Once = Once::new();
static HANDLERS: Mutex<Vec<Weak<dyn StallHandler>>> = Mutex::new(Vec::new());

/// Has `handler` told of threads that hang, for as long as it lives.
pub fn handle_stalls(handler: &Arc<dyn StallHandler>) {
    HANDLERS.lock().push(Arc::downgrade(handler));
}

/// Starts the watchdog, once for the process.
pub(super) fn start() {
    START.call_once(|| {
        let thread = std::thread::Builder::new().name("vfs-watchdog".into());
        // Without a thread for it nothing is detected, and everything else works.
        let _ = thread.spawn(|| Watchdog::default().run());
    });
}

#[derive(Default)]
struct Watchdog {
    /// The calls of the last look, and when they were first seen.
    seen: HashMap<Pid, Observed>,
    stalled: usize,
}

struct Observed {
    call: PublishedCall,
    since: Instant,
    hangs: bool,
}

impl Watchdog {
    fn run(mut self) {
        let mut quiet_looks = 0;
        loop {
            let has_calls = self.look(Instant::now(), is_asleep);
            quiet_looks = if has_calls { 0 } else { (quiet_looks + 1).min(QUIET_LOOKS_MAX + 1) };
            if quiet_looks <= QUIET_LOOKS_MAX {
                std::thread::sleep(TICK);
            } else if health::sleep_until_call(SLEEP_MAX) {
                quiet_looks = 0;
            }
        }
    }

    /// Looks at all calls. True when there are any, or a file system is slow.
    fn look(&mut self, now: Instant, is_asleep: impl Fn(Pid) -> bool) -> bool {
        let file_systems = health::file_systems();
        let (mut seen, mut stalled) = (HashMap::new(), 0);
        for slot in health::slots() {
            let Some(call) = slot.call() else { continue };
            let before = self.seen.remove(&slot.thread).filter(|before| before.call == call);
            let mut observed = before.unwrap_or(Observed { call, since: now, hangs: false });
            let limit = if call.kind() == CallKind::Waiting { WAITING_MAX } else { IN_PLACE_MAX };
            observed.hangs = now - observed.since >= limit && (observed.hangs || is_asleep(slot.thread));
            if observed.hangs {
                if let Some(health) = file_systems.iter().find(|health| call.is_on(health)) {
                    health.note_hang(now);
                }
                stalled += usize::from(call.kind() == CallKind::InPlace);
            }
            seen.insert(slot.thread, observed);
        }
        self.seen = seen;
        file_systems.iter().for_each(|health| health.recover(now));
        if self.stalled != stalled {
            self.stalled = stalled;
            tell_handlers(stalled);
        }
        !self.seen.is_empty() || file_systems.iter().any(|health: &Arc<Health>| health.is_slow())
    }
}

fn tell_handlers(stalled: usize) {
    let handlers: Vec<_> = {
        let mut handlers = HANDLERS.lock();
        handlers.retain(|handler| handler.strong_count() > 0);
        handlers.iter().filter_map(Weak::upgrade).collect()
    };
    // Each is informed, whatever the others return.
    let refusals = handlers.iter().filter(|handler| !handler.set_stalled(stalled)).count();
    health::allow_in_place(refusals == 0);
}

/// True when the kernel has put the thread to sleep, and not another thread of this processor.
fn is_asleep(thread: Pid) -> bool {
    let path = format!("/proc/self/task/{}/stat", thread.as_raw_nonzero());
    let Ok(line) = std::fs::read_to_string(path) else { return false };
    // The name in brackets may hold anything.
    line.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['D', 'S']))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DeviceNumber;

    #[test]
    fn call_that_sleeps_too_long_marks_its_file_system_until_it_recovers() {
        let health = Health::of(DeviceNumber { major: 7, minor: u32::MAX });
        let own = rustix::thread::gettid();
        let mut watchdog = Watchdog::default();
        let (is_asleep, is_awake) = (|thread| thread == own, |_| false);
        let begin = Instant::now();
        let call = health.begin_call();
        assert!(watchdog.look(begin, is_asleep) && !health.is_slow());
        watchdog.look(begin + IN_PLACE_MAX, is_awake);
        assert!(!health.is_slow(), "it waits for a processor");
        watchdog.look(begin + IN_PLACE_MAX, is_asleep);
        assert!(health.is_slow());
        drop(call);
        let end = begin + IN_PLACE_MAX + Duration::from_secs(1);
        watchdog.look(end, is_asleep);
        assert!(!health.is_slow());
    }

    #[test]
    fn call_that_may_wait_for_the_disk_has_a_second() {
        let health = Health::of(DeviceNumber { major: 8, minor: u32::MAX });
        let own = rustix::thread::gettid();
        let mut watchdog = Watchdog::default();
        let begin = Instant::now();
        let _call = health.begin_wait();
        watchdog.look(begin, |thread| thread == own);
        watchdog.look(begin + IN_PLACE_MAX, |thread| thread == own);
        assert!(!health.is_slow());
        watchdog.look(begin + WAITING_MAX, |thread| thread == own);
        assert!(health.is_slow());
    }

    #[test]
    fn thread_that_waits_is_asleep_and_one_that_runs_is_not() {
        assert!(!is_asleep(rustix::thread::gettid()));
        let (tell, told) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            tell.send(rustix::thread::gettid()).unwrap();
            ended.recv()
        });
        let waiting = told.recv().unwrap();
        while !is_asleep(waiting) {
            std::thread::yield_now();
        }
        drop(end);
        assert!(thread.join().unwrap().is_err());
    }
}

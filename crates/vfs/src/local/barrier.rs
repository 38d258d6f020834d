//! One barrier for the changes of many objects.
//!
//! Without a journal that puts changes in order, each object that was changed has an `fsync` of its own, and of many small files it is the
//! disk's handling of each that takes the time. Whoever asks while several of these run waits for one `syncfs(2)` instead, which brings
//! all of them to the disk at once. It brings what others have left to write, too, which may be much. So it is not begun when much
//! is waiting, nobody joins one that takes long, and one that took longer than it was worth is not followed by another for a while.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::Export;
use super::object::Object;
use super::pool::{Answer, Task, channel};
use super::sync::Depth;

/// So many `fsync` calls at the same time are worth a barrier.
const TOGETHER_MIN: usize = 4;
/// What may wait to be written, whoever has left it, in bytes.
const DIRTY_BYTES_MAX: u64 = 16 << 20;
/// How long there are no barriers where much waits to be written.
const DIRTY_PAUSE: Duration = Duration::from_millis(20);
/// Nobody joins a barrier that has run for longer.
const JOIN_MAX: Duration = Duration::from_millis(20);
/// As long after a barrier those who come count as many as those whom it served.
const MEMORY: Duration = Duration::from_millis(2);
/// A barrier that was not worth its time is followed by a pause of so many times that.
const PAUSE_FACTOR: u32 = 16;

/// Those who wait for the next barrier of a file system.
#[derive(Default)]
pub(super) struct Barrier(Mutex<State>);

#[derive(Default)]
struct State {
    waiting: Vec<(Arc<Object>, Answer<()>)>,
    pace: Pace,
}

/// When barriers are worth their time.
#[derive(Debug, Default)]
struct Pace {
    begun: Option<Instant>,
    /// The last one: its end, and how many it served.
    last: Option<(Instant, usize)>,
    pause_until: Option<Instant>,
}

/// What to do for who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// An `fsync` of the object alone.
    Alone,
    /// Wait for a barrier that will come.
    Wait,
    /// Wait, and begin it.
    Begin,
}

impl Pace {
    /// What to do where `running` calls of `fsync` are under way.
    fn ask(&mut self, now: Instant, running: usize) -> Turn {
        if let Some(begun) = self.begun {
            return if now.duration_since(begun) > JOIN_MAX { Turn::Alone } else { Turn::Wait };
        }
        if self.pause_until.is_some_and(|until| now < until) {
            return Turn::Alone;
        }
        let lately = self.last.filter(|(end, _)| now.duration_since(*end) <= MEMORY);
        let together = (running + 1).max(lately.map_or(0, |(_, served)| served));
        if together < TOGETHER_MIN {
            return Turn::Alone;
        }
        self.begun = Some(now);
        Turn::Begin
    }

    /// Notes the end of a barrier for `served` objects, each of which would have taken `alone` by itself, and two of them at a time.
    fn ended(&mut self, begun: Instant, now: Instant, served: usize, alone: Duration) {
        let took = now.duration_since(begun);
        let worth = alone * (TOGETHER_MIN + served / 2) as u32;
        self.last = Some((now, served));
        if !alone.is_zero() && took > worth {
            self.pause_until = Some(now + took * PAUSE_FACTOR);
        }
    }
}

impl Export {
    /// Puts a change of the names or the attributes of `object` on disk; begins at once, whether the task is polled or not.
    pub(super) fn sync_change(self: &Arc<Self>, object: &Arc<Object>) -> Task<()> {
        let Some(barrier) = &self.barrier else { return self.sync(object, Depth::All) };
        let mut state = barrier.0.lock();
        let turn = state.pace.ask(Instant::now(), self.syncs_running.load(Relaxed));
        if turn == Turn::Alone {
            drop(state);
            return self.sync(object, Depth::All);
        }
        let (answer, task) = channel();
        state.waiting.push((object.clone(), answer));
        drop(state);
        if turn == Turn::Begin {
            let export = self.clone();
            self.pool.execute(move || export.run_barriers());
        }
        task
    }

    /// One barrier after the other until nobody waits.
    fn run_barriers(self: &Arc<Self>) {
        let Some(barrier) = &self.barrier else { return };
        loop {
            let begun = Instant::now();
            let waiting = {
                let mut state = barrier.0.lock();
                let waiting = std::mem::take(&mut state.waiting);
                state.pace.begun = (!waiting.is_empty()).then_some(begun);
                waiting
            };
            if waiting.is_empty() {
                return;
            }
            if dirty_bytes().is_none_or(|bytes| bytes > DIRTY_BYTES_MAX) {
                barrier.0.lock().pace.pause_until = Some(begun + DIRTY_PAUSE);
                waiting.into_iter().for_each(|(object, answer)| self.sync_for(&object, Depth::All, answer));
                continue;
            }
            let result = self.sync_everything();
            if result.is_err() {
                self.renew_verifier();
            }
            let served = count_objects(&waiting);
            let alone = Duration::from_nanos(self.sync_ns.load(Relaxed));
            barrier.0.lock().pace.ended(begun, Instant::now(), served, alone);
            for (_, answer) in waiting {
                answer.send(result.map_err(Into::into));
            }
        }
    }
}

fn count_objects(waiting: &[(Arc<Object>, Answer<()>)]) -> usize {
    let mut objects: Vec<_> = waiting.iter().map(|(object, _)| Arc::as_ptr(object)).collect();
    objects.sort_unstable();
    objects.dedup();
    objects.len()
}

/// What waits to be written, or is being written, on all file systems of the machine.
fn dirty_bytes() -> Option<u64> {
    parse_dirty(&std::fs::read_to_string("/proc/meminfo").ok()?)
}

fn parse_dirty(meminfo: &str) -> Option<u64> {
    let kilobytes = |name: &str| {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix(" kB")?.parse::<u64>().ok()
    };
    Some((kilobytes("Dirty:")? + kilobytes("Writeback:")?) * 1024)
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;

    use pollster::block_on;

    use super::*;
    use crate::local::object::Purpose;
    use crate::local::{Local, LocalOptions, restore_thread_identity};
    use crate::{CreateMode, FileSystem, Identity, Name, SetAttributes};

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_barrier_begins_when_several_are_under_way_and_others_join_it() {
        let (mut pace, now) = (Pace::default(), Instant::now());
        assert_eq!(pace.ask(now, TOGETHER_MIN - 2), Turn::Alone);
        assert_eq!(pace.ask(now, TOGETHER_MIN - 1), Turn::Begin);
        assert_eq!(pace.ask(now + MS, 0), Turn::Wait);
        assert_eq!(pace.ask(now + JOIN_MAX + MS, 9), Turn::Alone, "it takes long");
    }

    #[test]
    fn who_comes_right_behind_a_barrier_of_many_begins_the_next() {
        let (mut pace, now) = (Pace::default(), Instant::now());
        assert_eq!(pace.ask(now, 9), Turn::Begin);
        pace.begun = None;
        pace.ended(now, now + MS, 40, MS);
        assert_eq!(pace.ask(now + 9 * MS, 0), Turn::Alone, "later");
        assert_eq!(pace.ask(now + 2 * MS, 0), Turn::Begin);
    }

    #[test]
    fn a_barrier_that_took_longer_than_it_was_worth_is_followed_by_a_pause() {
        let (mut pace, now) = (Pace::default(), Instant::now());
        pace.ended(now, now + 20 * MS, 40, MS);
        assert_eq!(pace.ask(now + 20 * MS, 40), Turn::Begin, "as long as 20 by themselves");
        pace.begun = None;
        let end = now + 30 * MS;
        pace.ended(now, end, 40, MS);
        assert_eq!(pace.ask(end + 480 * MS - MS, 40), Turn::Alone);
        assert_eq!(pace.ask(end + 480 * MS, 40), Turn::Begin);
    }

    #[test]
    fn what_waits_to_be_written_is_read() {
        let text = "MemTotal:       1000 kB\nDirty:             12 kB\nWriteback:          3 kB\nWritebackTmp: 7 kB\n";
        assert_eq!(parse_dirty(text), Some(15 << 10));
        assert_eq!(parse_dirty("Dirty: 12 kB\n"), None);
        assert!(dirty_bytes().is_some(), "the kernel tells");
    }

    /// A file system that has barriers, whatever it is on.
    fn local(dir: &std::path::Path) -> Local {
        let mut local = Local::open(dir, &LocalOptions::default()).expect("opens");
        Arc::get_mut(&mut local.export).expect("nobody else has it").barrier = Some(Barrier::default());
        local
    }

    fn create(local: &Local, name: &str) -> Arc<Object> {
        let mode = CreateMode::Guarded(SetAttributes { mode: Some(0o600), ..Default::default() });
        let name = Name::new(name.as_bytes()).expect("a name");
        let (who, root) = (Identity::root(), local.root());
        block_on(local.create(&who, &root, name, &mode)).expect("creates").node.0
    }

    #[test]
    fn all_who_wait_for_a_barrier_are_answered_by_it() {
        let dir = tempfile::tempdir().unwrap();
        let local = local(dir.path());
        let file = create(&local, "file");
        let export = &local.export;
        // As if several were under way.
        export.syncs_running.store(TOGETHER_MIN, Relaxed);
        let tasks: Vec<_> = (0..100).map(|_| export.sync_change(&file)).collect();
        assert!(tasks.into_iter().all(|task| block_on(task).is_ok()));
        let state = export.barrier.as_ref().unwrap().0.lock();
        assert!(state.waiting.is_empty());
        assert!(state.pace.last.is_some() || state.pace.pause_until.is_some(), "it was tried");
        drop(state);
        restore_thread_identity().unwrap();
    }

    #[test]
    fn a_barrier_that_fails_fails_for_all_and_renews_the_verifier() {
        let dir = tempfile::tempdir().unwrap();
        let local = local(dir.path());
        let file = create(&local, "file");
        let export = &local.export;
        let before = local.write_verifier();
        // Without a descriptor of its root it cannot be synchronised.
        let kept: Vec<Arc<OwnedFd>> = export.root.descriptor(Purpose::Read).into_iter().collect();
        drop(export.root.take_descriptors());
        export.syncs_running.store(TOGETHER_MIN, Relaxed);
        let outcome = block_on(export.sync_change(&file));
        let tried = export.barrier.as_ref().unwrap().0.lock().pace.last.is_some();
        // Where much waits to be written there was no barrier.
        assert_eq!(outcome.is_err(), tried);
        assert_eq!(local.write_verifier() != before, tried);
        drop(kept);
        restore_thread_identity().unwrap();
    }
}

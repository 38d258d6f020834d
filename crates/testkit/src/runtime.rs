//! A clock that a test sets, tasks that a test polls, and numbers that are the same in each run.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use futures_util::FutureExt;
use parking_lot::Mutex;
use rpc::BoxFuture;

/// How often [`ManualRuntime::run`] polls each task: tasks wake each other in chains that are shorter.
const ROUNDS: usize = 10;

/// When sleeps end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SleepEnd {
    /// When the clock has been set to their end or later.
    #[default]
    ByClock,
    /// At their first poll.
    AtOnce,
    /// Never.
    Never,
}

/// A runtime in which nothing happens between the steps of a test.
#[derive(Default)]
pub struct ManualRuntime {
    now_ms: Arc<AtomicU64>,
    wall_seconds: AtomicI64,
    ms_per_read: AtomicU64,
    sleep_end: Mutex<SleepEnd>,
    slept: Mutex<Vec<Duration>>,
    tasks: Mutex<Vec<BoxFuture<()>>>,
    draws: AtomicU64,
}

impl ManualRuntime {
    /// Returns a runtime at 0 ms whose sleeps end as said.
    #[must_use]
    pub fn new(sleep_end: SleepEnd) -> Self {
        Self { sleep_end: Mutex::new(sleep_end), ..Self::default() }
    }

    /// Makes the first draw of random bytes the one with this number. Draws with different numbers differ in
    /// their first eight bytes.
    #[must_use]
    pub fn with_first_draw(self, number: u64) -> Self {
        Self { draws: AtomicU64::new(number), ..self }
    }

    /// Moves the clock forward.
    pub fn advance(&self, ms: u64) {
        self.now_ms.fetch_add(ms, Ordering::SeqCst);
    }

    /// Sets the clock.
    pub fn set_now(&self, now_ms: u64) {
        self.now_ms.store(now_ms, Ordering::SeqCst);
    }

    /// Moves the clock forward by so much with each read.
    pub fn set_ms_per_read(&self, ms: u64) {
        self.ms_per_read.store(ms, Ordering::SeqCst);
    }

    /// Sets the time of day, in seconds since 1970.
    pub fn set_wall_seconds(&self, seconds: i64) {
        self.wall_seconds.store(seconds, Ordering::SeqCst);
    }

    /// Sets when sleeps end that begin from now on.
    pub fn set_sleep_end(&self, sleep_end: SleepEnd) {
        *self.sleep_end.lock() = sleep_end;
    }

    /// The durations of all sleeps so far.
    #[must_use]
    pub fn slept(&self) -> Vec<Duration> {
        self.slept.lock().clone()
    }

    /// Polls the spawned tasks, and those that they spawn, until they have ended or wait.
    pub fn run(&self) {
        for _ in 0..ROUNDS {
            let tasks = std::mem::take(&mut *self.tasks.lock());
            for mut task in tasks {
                if (&mut task).now_or_never().is_none() {
                    self.tasks.lock().push(task);
                }
            }
        }
    }

    /// The clock, in milliseconds.
    pub fn now_ms(&self) -> u64 {
        self.now_ms.fetch_add(self.ms_per_read.load(Ordering::SeqCst), Ordering::SeqCst)
    }

    /// The time of day, in seconds since 1970.
    pub fn wall_seconds(&self) -> i64 {
        self.wall_seconds.load(Ordering::SeqCst)
    }

    /// Begins a sleep. A test polls it again after it has set the clock: nothing wakes it.
    pub fn sleep(&self, duration: Duration) -> BoxFuture<()> {
        self.slept.lock().push(duration);
        match *self.sleep_end.lock() {
            SleepEnd::AtOnce => Box::pin(std::future::ready(())),
            SleepEnd::Never => Box::pin(std::future::pending()),
            SleepEnd::ByClock => {
                let clock = Arc::clone(&self.now_ms);
                let end_ms = clock.load(Ordering::SeqCst) + duration.as_millis() as u64;
                let has_ended = move || clock.load(Ordering::SeqCst) >= end_ms;
                Box::pin(poll_fn(move |_| if has_ended() { Poll::Ready(()) } else { Poll::Pending }))
            }
        }
    }

    /// Keeps a task for [`ManualRuntime::run`].
    pub fn spawn(&self, task: BoxFuture<()>) {
        self.tasks.lock().push(task);
    }

    /// Fills `bytes` with the next draw.
    pub fn random(&self, bytes: &mut [u8]) {
        let draw = self.draws.fetch_add(1, Ordering::SeqCst);
        for (word, part) in (0..).zip(bytes.chunks_mut(8)) {
            part.copy_from_slice(&mix(draw.wrapping_add(word << 48)).to_le_bytes()[..part.len()]);
        }
    }
}

/// The output function of SplitMix64, a permutation of the 64-bit numbers.
fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(feature = "server")]
impl server::runtime::Runtime for ManualRuntime {
    fn now_ms(&self) -> u64 {
        self.now_ms()
    }

    fn wall_clock(&self) -> vfs::Timestamp {
        vfs::Timestamp { seconds: self.wall_seconds(), nanoseconds: 0 }
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<()> {
        self.sleep(duration)
    }

    fn spawn(&self, task: BoxFuture<()>) {
        self.spawn(task);
    }

    fn random(&self, bytes: &mut [u8]) {
        self.random(bytes);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn sleeps_end_by_the_clock_at_once_or_never() {
        let runtime = ManualRuntime::default();
        let mut sleep = runtime.sleep(Duration::from_millis(10));
        runtime.advance(9);
        assert!((&mut sleep).now_or_never().is_none());
        runtime.advance(1);
        assert!(sleep.now_or_never().is_some());
        runtime.set_sleep_end(SleepEnd::AtOnce);
        assert!(runtime.sleep(Duration::from_secs(1)).now_or_never().is_some());
        runtime.set_sleep_end(SleepEnd::Never);
        let sleep = runtime.sleep(Duration::ZERO);
        runtime.set_now(u64::MAX);
        assert!(sleep.now_or_never().is_none());
        assert_eq!(runtime.slept(), [10, 1000, 0].map(Duration::from_millis));
    }

    #[test]
    fn tasks_run_only_when_a_test_says_so() {
        let (runtime, ended) = (Arc::new(ManualRuntime::default()), Arc::new(AtomicBool::new(false)));
        let task = {
            let (runtime, ended) = (Arc::clone(&runtime), Arc::clone(&ended));
            async move {
                let sleep = runtime.sleep(Duration::from_millis(1));
                runtime.spawn(Box::pin(async move {
                    sleep.await;
                    ended.store(true, Ordering::SeqCst);
                }));
            }
        };
        runtime.spawn(Box::pin(task));
        runtime.run();
        assert!(!ended.load(Ordering::SeqCst));
        runtime.advance(1);
        assert!(!ended.load(Ordering::SeqCst));
        runtime.run();
        assert!(ended.load(Ordering::SeqCst));
    }

    #[test]
    fn clock_moves_with_each_read_if_told_to() {
        let runtime = ManualRuntime::default();
        runtime.set_ms_per_read(2);
        assert_eq!([runtime.now_ms(), runtime.now_ms(), runtime.now_ms()], [0, 2, 4]);
    }

    #[test]
    fn draws_differ_and_repeat_with_their_numbers() {
        let draw = |runtime: &ManualRuntime| {
            let mut bytes = [0; 20];
            runtime.random(&mut bytes);
            bytes
        };
        let first = ManualRuntime::default();
        let (zero, one) = (draw(&first), draw(&first));
        assert_ne!(zero[..8], one[..8]);
        assert_ne!(zero[..8], zero[8..16]);
        assert_eq!(draw(&ManualRuntime::default().with_first_draw(1)), one);
    }
}

//! The runtime of one incarnation of the server: its tasks, its timers and its random numbers.
//!
//! The double of the test kit would not do: a seed decides the order of woken tasks, the simulation asks for
//! the next timer, and a crash drops all tasks.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use parking_lot::Mutex;
use rpc::BoxFuture;
use server::runtime::Runtime;

use crate::promise::Promise;
use crate::random::Random;

/// Polls after which tasks that wake each other are taken for a livelock.
const POLLS_MAX: u32 = 100_000;

/// The simulation's time, and the server's clock, which may be ahead of it.
#[derive(Debug, Default)]
pub struct Clock {
    now_ms: AtomicU64,
    ahead_ms: AtomicU64,
}

impl Clock {
    /// The simulation's time.
    pub fn now(&self) -> u64 {
        self.now_ms.load(Ordering::Relaxed)
    }

    /// What the server's clock shows.
    pub fn server(&self) -> u64 {
        self.now() + self.ahead_ms.load(Ordering::Relaxed)
    }

    pub fn set(&self, now_ms: u64) {
        assert!(now_ms >= self.now(), "time goes back");
        self.now_ms.store(now_ms, Ordering::Relaxed);
    }

    /// Puts the server's clock forward.
    pub fn jump(&self, by_ms: u64) {
        self.ahead_ms.fetch_add(by_ms, Ordering::Relaxed);
    }
}

pub struct World {
    clock: Arc<Clock>,
    inner: Mutex<Inner>,
}

struct Inner {
    tasks: Vec<Task>,
    timers: BTreeMap<(u64, u64), Arc<Promise<()>>>,
    timers_made: u64,
    random: Random,
    stopped: bool,
}

struct Task {
    future: BoxFuture<()>,
    ready: Arc<Ready>,
}

struct Ready(AtomicBool);

impl Wake for Ready {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl World {
    pub fn new(clock: Arc<Clock>, random: Random) -> Arc<Self> {
        let inner =
            Inner { tasks: Vec::new(), timers: BTreeMap::new(), timers_made: 0, random, stopped: false };
        Arc::new(Self { clock, inner: Mutex::new(inner) })
    }

    /// Polls tasks that were woken, in an order that chance gives, until all wait.
    pub fn run(&self) {
        self.fire_timers();
        for _ in 0..POLLS_MAX {
            let Some(mut task) = self.take_ready() else { return };
            let waker = Waker::from(Arc::clone(&task.ready));
            if task.future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
                self.inner.lock().tasks.push(task);
            }
        }
        panic!("the server's tasks do not come to rest");
    }

    fn take_ready(&self) -> Option<Task> {
        let mut inner = self.inner.lock();
        let is_ready = |task: &Task| task.ready.0.load(Ordering::Relaxed);
        let ready: Vec<usize> = (0..inner.tasks.len()).filter(|i| is_ready(&inner.tasks[*i])).collect();
        if ready.is_empty() {
            return None;
        }
        let chosen = ready[inner.random.below(ready.len() as u64) as usize];
        let task = inner.tasks.swap_remove(chosen);
        task.ready.0.store(false, Ordering::Relaxed);
        Some(task)
    }

    fn fire_timers(&self) {
        let now = self.clock.now();
        let mut inner = self.inner.lock();
        while let Some(first) = inner.timers.first_entry().filter(|first| first.key().0 <= now) {
            first.remove().fulfil(());
        }
    }

    /// When the next timer ends that somebody waits for.
    pub fn next_timer(&self) -> Option<u64> {
        let mut inner = self.inner.lock();
        inner.timers.retain(|_, timer| Arc::strong_count(timer) > 1);
        inner.timers.keys().next().map(|key| key.0)
    }

    /// The server is gone: nothing of it goes on.
    pub fn stop(&self) {
        let mut inner = self.inner.lock();
        inner.stopped = true;
        let (tasks, timers) = (std::mem::take(&mut inner.tasks), std::mem::take(&mut inner.timers));
        drop(inner);
        drop((tasks, timers));
    }
}

impl Runtime for World {
    fn now_ms(&self) -> u64 {
        self.clock.server()
    }

    fn wall_clock(&self) -> vfs::Timestamp {
        vfs::Timestamp { seconds: (self.now_ms() / 1000) as i64, nanoseconds: 0 }
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<()> {
        let timer = Promise::new();
        let mut inner = self.inner.lock();
        inner.timers_made += 1;
        let key = (self.clock.now() + duration.as_millis() as u64, inner.timers_made);
        inner.timers.insert(key, Arc::clone(&timer));
        timer.wait()
    }

    fn spawn(&self, future: BoxFuture<()>) {
        let mut inner = self.inner.lock();
        if !inner.stopped {
            inner.tasks.push(Task { future, ready: Arc::new(Ready(AtomicBool::new(true))) });
        }
    }

    fn random(&self, bytes: &mut [u8]) {
        let mut inner = self.inner.lock();
        bytes.fill_with(|| inner.random.next() as u8);
    }
}

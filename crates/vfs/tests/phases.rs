//! The phases of a future in the pool, in every order that the memory model allows (`loom`).

#![allow(missing_docs, unreachable_pub)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use loom::thread;

#[path = "../src/local/pool/phase.rs"]
mod phase;

use phase::Phase;

/// A future that is ready once each waker has set its flag.
struct Future {
    phase: Phase,
    flags: Vec<AtomicBool>,
    is_polled: AtomicBool,
    is_ready: AtomicBool,
}

impl Future {
    fn new(wakers: usize) -> Arc<Self> {
        let flag = || AtomicBool::new(false);
        let flags = (0..wakers).map(|_| flag()).collect();
        Arc::new(Self { phase: Phase::queued(), flags, is_polled: flag(), is_ready: flag() })
    }

    /// A job of the pool, and those that it queues.
    fn run(&self) {
        loop {
            self.phase.begin();
            if self.poll() || !self.phase.end() {
                return;
            }
        }
    }

    /// Nothing here orders the accesses of threads: that is the phase's work.
    fn poll(&self) -> bool {
        assert!(!self.is_polled.swap(true, Ordering::Relaxed), "two threads poll at the same time");
        let is_ready = self.flags.iter().all(|flag| flag.load(Ordering::Relaxed));
        self.is_ready.store(is_ready, Ordering::Relaxed);
        self.is_polled.swap(false, Ordering::Relaxed);
        is_ready
    }

    /// Sets a flag, and wakes. Where a job is to be queued, this thread runs it as one of the pool does.
    fn set_and_wake(&self, number: usize) {
        self.flags[number].store(true, Ordering::Relaxed);
        if self.phase.wake() {
            self.run();
        }
    }
}

/// The most switches of threads, beyond those that waits force, in the model with two wakers.
const PREEMPTIONS_MAX: usize = 2;

fn assert_no_wake_is_lost(wakers: usize) {
    let future = Future::new(wakers);
    let wakers: Vec<_> = (0..wakers)
        .map(|number| {
            let future = Arc::clone(&future);
            thread::spawn(move || future.set_and_wake(number))
        })
        .collect();
    future.run();
    wakers.into_iter().for_each(|waker| waker.join().expect("the waker ends"));
    assert!(future.is_ready.load(Ordering::Relaxed), "a wake was lost");
}

#[test]
fn wake_while_polled_is_never_lost() {
    loom::model(|| assert_no_wake_is_lost(1));
}

#[test]
fn two_wakes_are_never_lost_and_one_thread_polls_at_a_time() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(PREEMPTIONS_MAX);
    model.check(|| assert_no_wake_is_lost(2));
}

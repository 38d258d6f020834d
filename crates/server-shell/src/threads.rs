//! The runtime that serves, with spare threads that take over from those that hang in a call of a file
//! system.
//!
//! tokio cannot replace a worker that does not return from a poll. The runtime therefore has more workers
//! than serve: each spare one is held by a task that blocks its thread. When the watchdog finds workers
//! that hang, as many spares are let go, which then run what the others have queued; when those return, as
//! many are held again.

use std::future::Future;
use std::io;
use std::num::NonZero;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tokio::runtime::{Builder, Handle, Runtime};
use vfs::local::{StallHandler, handle_stalls};

/// Spare threads for each that serves: two file systems may hang before calls are no longer made in place.
const SPARES_PER_THREAD: usize = 2;
/// How long the end of the runtime waits for threads that hang.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// A tokio runtime whose workers are replaced while they hang.
pub struct ServingRuntime {
    runtime: Option<Runtime>,
    spares: Arc<Spares>,
    threads: usize,
}

impl ServingRuntime {
    /// Starts a thread for each processor, and the spare ones. They look for events after so many polls of
    /// tasks.
    ///
    /// # Errors
    /// When threads cannot be started.
    pub fn new(event_interval: u32) -> io::Result<Self> {
        let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
        let spares_max = threads * SPARES_PER_THREAD;
        let runtime = Builder::new_multi_thread()
            .worker_threads(threads + spares_max)
            .enable_all()
            .event_interval(event_interval)
            .thread_name("serve")
            .build()?;
        let spares = Spares::new(runtime.handle().clone(), threads, spares_max);
        spares.set_stalled(0);
        let handler: Arc<dyn StallHandler> = Arc::clone(&spares) as _;
        handle_stalls(&handler);
        Ok(Self { runtime: Some(runtime), spares, threads })
    }

    /// How many threads serve, spare ones not counted.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Runs `future` on this thread, and what it spawns on those of the runtime.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.runtime.as_ref().expect("it is taken when this is dropped").block_on(future)
    }
}

impl std::fmt::Debug for ServingRuntime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServingRuntime").field("threads", &self.threads).finish_non_exhaustive()
    }
}

impl Drop for ServingRuntime {
    fn drop(&mut self) {
        self.spares.close();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
        }
    }
}

/// Holds spare workers until they are needed.
struct Spares {
    this: Weak<Self>,
    runtime: Handle,
    threads: usize,
    spares_max: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// How many workers are to be held.
    wanted: usize,
    held: usize,
    /// Tasks that are to hold a worker and do not yet.
    coming: usize,
    is_closed: bool,
}

impl Spares {
    fn new(runtime: Handle, threads: usize, spares_max: usize) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            this: this.clone(),
            runtime,
            threads,
            spares_max,
            state: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    /// Holds the worker that polls this for as long as it is wanted.
    fn hold(&self) {
        let mut state = self.state.lock();
        state.coming -= 1;
        if state.held >= state.wanted {
            return;
        }
        state.held += 1;
        while state.held <= state.wanted {
            self.changed.wait(&mut state);
        }
        state.held -= 1;
    }

    /// Lets all of them go, for good.
    fn close(&self) {
        let mut state = self.state.lock();
        (state.wanted, state.is_closed) = (0, true);
        self.changed.notify_all();
    }
}

impl StallHandler for Spares {
    fn set_stalled(&self, threads: usize) -> bool {
        let spares = self.spares_max.saturating_sub(threads);
        let mut state = self.state.lock();
        if !state.is_closed {
            state.wanted = spares;
            self.changed.notify_all();
            for _ in state.held + state.coming..spares {
                state.coming += 1;
                let this = self.this.clone();
                self.runtime.spawn(async move {
                    // Takes the place of the task that this worker would run next, which no other worker
                    // can take from it.
                    tokio::spawn(async {});
                    if let Some(spares) = this.upgrade() {
                        spares.hold();
                    }
                });
            }
        }
        // As many as serve may hang before the next file system is marked.
        spares >= self.threads
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    use super::*;

    fn held(spares: &Spares) -> usize {
        spares.state.lock().held
    }

    fn wait_for_held(spares: &Spares, count: usize) {
        for _ in 0..10_000 {
            if held(spares) == count {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("{} workers are held instead of {count}", held(spares));
    }

    #[test]
    fn spare_workers_are_held_but_for_as_many_as_hang() {
        let runtime = ServingRuntime::new(61).unwrap();
        let (spares, all) = (&runtime.spares, runtime.threads * SPARES_PER_THREAD);
        wait_for_held(spares, all);
        assert!(spares.set_stalled(1));
        wait_for_held(spares, all - 1);
        assert!(!spares.set_stalled(all));
        wait_for_held(spares, 0);
        assert!(spares.set_stalled(0));
        wait_for_held(spares, all);
    }

    #[test]
    fn tasks_run_while_every_serving_thread_hangs() {
        let runtime = ServingRuntime::new(61).unwrap();
        let threads = runtime.threads;
        wait_for_held(&runtime.spares, threads * SPARES_PER_THREAD);
        let (begun, end) = (Arc::new(Barrier::new(threads + 1)), Arc::new(Barrier::new(threads + 1)));
        runtime.block_on(async {
            for _ in 0..threads {
                let (begun, end) = (Arc::clone(&begun), Arc::clone(&end));
                tokio::spawn(async move {
                    begun.wait();
                    end.wait();
                });
            }
        });
        begun.wait();
        let ran = Arc::new(AtomicUsize::new(0));
        runtime.spares.set_stalled(threads);
        runtime.block_on(async {
            for _ in 0..100 {
                let ran = Arc::clone(&ran);
                tokio::spawn(async move { ran.fetch_add(1, SeqCst) }).await.unwrap();
            }
        });
        assert_eq!(ran.load(SeqCst), 100);
        end.wait();
        runtime.spares.set_stalled(0);
        wait_for_held(&runtime.spares, threads * SPARES_PER_THREAD);
    }
}

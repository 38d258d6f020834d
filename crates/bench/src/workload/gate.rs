//! The moment when all threads of all clients begin, and the moment when all have done their work.
//!
//! Owns the order of a run: every thread gets ready, the runner looks at the counters, all begin, all finish,
//! the runner looks again. A thread that fails never arrives; the runner then gives up the whole run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Barrier;

/// Shared by the threads of a run and the runner.
#[derive(Debug, Clone)]
pub(crate) struct Gate {
    barrier: Arc<Barrier>,
}

impl Gate {
    /// For `threads` threads and the runner.
    pub(crate) fn new(threads: usize) -> Self {
        Self { barrier: Arc::new(Barrier::new(threads + 1)) }
    }

    /// A thread is ready; resolves to the start when all others are ready too.
    pub(crate) async fn start(&self) -> Instant {
        self.barrier.wait().await;
        self.barrier.wait().await;
        let start = Instant::now();
        // Where operations need no network, the first thread would otherwise work before the last one wakes.
        tokio::task::yield_now().await;
        start
    }

    /// A thread has done its work; what it does after this is not counted.
    pub(crate) async fn finish(&self) {
        self.barrier.wait().await;
        self.barrier.wait().await;
    }

    /// The runner's side: all threads are ready and stand still while `look` runs and until `ready` is, which
    /// is told what was seen; then they begin. The same when they have finished.
    pub(crate) async fn pass_when<T>(&self, look: impl FnOnce() -> T, ready: impl AsyncFnOnce(&T)) -> T {
        self.barrier.wait().await;
        let seen = look();
        ready(&seen).await;
        self.barrier.wait().await;
        seen
    }
}

/// When a thread begins nothing new any more.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    deadline: Option<Instant>,
}

impl Limit {
    /// `seconds` after `start`; none for no limit.
    pub(crate) fn new(start: Instant, seconds: Option<f64>) -> Self {
        // What is too large for a duration is no limit.
        let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        Self { deadline: duration.and_then(|duration| start.checked_add(duration)) }
    }

    /// Whether the time is over at `now`.
    pub(crate) fn is_over(self, now: Instant) -> bool {
        self.deadline.is_some_and(|deadline| now >= deadline)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test]
    async fn workers_pause_while_the_runner_samples() {
        let gate = Gate::new(3);
        let done = Arc::new(AtomicU32::new(0));
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let (gate, done) = (gate.clone(), done.clone());
                tokio::spawn(async move {
                    gate.start().await;
                    done.fetch_add(1, Ordering::SeqCst);
                    gate.finish().await;
                    done.fetch_add(100, Ordering::SeqCst);
                })
            })
            .collect();
        assert_eq!(gate.pass_when(|| done.load(Ordering::SeqCst), async |_| {}).await, 0);
        assert_eq!(gate.pass_when(|| done.load(Ordering::SeqCst), async |_| {}).await, 3);
        for thread in threads {
            thread.await.unwrap();
        }
        assert_eq!(done.load(Ordering::SeqCst), 303);
    }

    #[test]
    fn without_seconds_there_is_no_limit() {
        let start = Instant::now();
        assert!(!Limit::new(start, None).is_over(start + Duration::from_secs(1 << 40)));
        assert!(!Limit::new(start, Some(1.0)).is_over(start));
        assert!(Limit::new(start, Some(1.0)).is_over(start + Duration::from_secs(1)));
    }
}

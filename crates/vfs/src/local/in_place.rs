//! Waits for the disk on the caller's own thread, where the request is the only one of its line
//! ([`crate::begin_alone`]).
//!
//! It saves the way to a thread of the pool and back: two threads to be woken, which on idle cores takes
//! longer than a read from a fast disk.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::WaitInPlace;
use crate::alone;

/// Who may wait.
pub(super) struct InPlace {
    wait: Option<WaitInPlace>,
    waiting: AtomicUsize,
    waiting_max: usize,
}

impl InPlace {
    /// At most `waiting_max` callers wait at the same time, by `wait`
    /// ([`LocalOptions::wait_in_place`](super::LocalOptions)).
    pub(super) fn new(wait: Option<WaitInPlace>, waiting_max: usize) -> Self {
        Self { wait, waiting: AtomicUsize::new(0), waiting_max }
    }

    /// Runs `job` here if the caller may wait; what it gives, or the job again.
    pub(super) fn run<T, J: FnOnce() -> T>(&self, job: J) -> std::result::Result<T, J> {
        let Some(wait) = self.wait.filter(|_| alone::is_alone()) else { return Err(job) };
        let _waiting = Waiting(&self.waiting);
        if self.waiting.fetch_add(1, Relaxed) >= self.waiting_max {
            return Err(job);
        }
        let (mut job, mut given) = (Some(job), None);
        wait(&mut || given = job.take().map(|job| job()));
        match given {
            Some(given) => {
                alone::note_wait();
                Ok(given)
            }
            None => Err(job.expect("it has not run")),
        }
    }
}

/// Counted among those who wait, until it is dropped.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(job: &mut dyn FnMut()) -> bool {
        job();
        true
    }

    fn refuse(_: &mut dyn FnMut()) -> bool {
        false
    }

    #[test]
    fn a_job_runs_here_only_for_who_is_alone_and_may() {
        let in_place = InPlace::new(Some(wait), 1);
        assert!(in_place.run(|| 5).is_err());
        alone::begin_alone();
        assert_eq!(in_place.run(|| 5).ok(), Some(5));
        assert_eq!(in_place.run(|| 6).ok(), Some(6), "again for the same request");
        assert!(InPlace::new(Some(refuse), 1).run(|| 5).is_err());
        assert!(InPlace::new(None, 1).run(|| 5).is_err());
        assert!(alone::end_alone(), "somebody has waited");
        assert!(in_place.run(|| 5).is_err() && !alone::end_alone());
    }

    #[test]
    fn no_more_than_the_most_wait() {
        let in_place = InPlace::new(Some(wait), 1);
        alone::begin_alone();
        let inner = in_place.run(|| in_place.run(|| 5).is_err());
        assert_eq!(inner.ok(), Some(true));
        assert_eq!(in_place.run(|| 5).ok(), Some(5), "the place is free again");
        let thrown = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _ = in_place.run(|| -> u32 { panic!("expected by the test") });
        }));
        assert!(thrown.is_err());
        assert_eq!(in_place.run(|| 5).ok(), Some(5), "and after a panic");
        alone::end_alone();
    }
}

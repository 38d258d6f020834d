//! Waits for the disk on the caller's own thread, where the request is the only one of its line
//! ([`crate::OnlyRequest`]).
//!
//! It saves the way to a thread of the pool and back: two threads to be woken, which on idle cores takes
//! longer than a read from a fast disk.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::WaitInPlace;
use crate::Line;

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

    /// Runs `job` here if the request may wait. Returns what it gives, or the job again.
    pub(super) fn run<T, J: FnOnce() -> T>(&self, line: Line<'_>, job: J) -> std::result::Result<T, J> {
        let (Some(wait), Some(only)) = (self.wait, line.only) else { return Err(job) };
        if !only.is_only() {
            return Err(job);
        }
        let _waiting = Waiting(&self.waiting);
        if self.waiting.fetch_add(1, Relaxed) >= self.waiting_max {
            return Err(job);
        }
        let (mut job, mut given) = (Some(job), None);
        wait(&mut || given = job.take().map(|job| job()));
        match given {
            Some(given) => {
                only.note_wait();
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
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::OnlyRequest;

    fn wait(job: &mut dyn FnMut()) -> bool {
        job();
        true
    }

    fn refuse(_: &mut dyn FnMut()) -> bool {
        false
    }

    #[derive(Default)]
    struct Only {
        is_only: AtomicBool,
        has_waited: AtomicBool,
    }

    impl OnlyRequest for Only {
        fn is_only(&self) -> bool {
            self.is_only.load(Relaxed)
        }

        fn note_wait(&self) {
            self.has_waited.store(true, Relaxed);
        }
    }

    #[test]
    fn job_runs_here_for_the_only_request_of_a_line_that_may_wait() {
        let in_place = InPlace::new(Some(wait), 1);
        let only = Only::default();
        let line = Line { number: 1, only: Some(&only) };
        assert!(in_place.run(line, || 5).is_err());
        only.is_only.store(true, Relaxed);
        assert!(InPlace::new(Some(refuse), 1).run(line, || 5).is_err());
        assert!(InPlace::new(None, 1).run(line, || 5).is_err());
        assert!(in_place.run(Line::numbered(1), || 5).is_err());
        assert!(!only.has_waited.load(Relaxed));
        assert_eq!(in_place.run(line, || 5).ok(), Some(5));
        assert!(only.has_waited.load(Relaxed));
        assert_eq!(in_place.run(line, || 6).ok(), Some(6), "again for the same request");
    }

    #[test]
    fn no_more_than_the_most_wait() {
        let in_place = InPlace::new(Some(wait), 1);
        let only = Only { is_only: true.into(), ..Only::default() };
        let line = Line { number: 1, only: Some(&only) };
        let inner = in_place.run(line, || in_place.run(line, || 5).is_err());
        assert_eq!(inner.ok(), Some(true));
        assert_eq!(in_place.run(line, || 5).ok(), Some(5), "the place is free again");
        let thrown = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _ = in_place.run(line, || -> u32 { panic!("expected by the test") });
        }));
        assert!(thrown.is_err());
        assert_eq!(in_place.run(line, || 5).ok(), Some(5), "and after a panic");
    }
}

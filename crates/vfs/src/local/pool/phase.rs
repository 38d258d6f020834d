//! The phase of a future that the threads of a pool poll.
//!
//! ```text
//!   QUEUED ──begin──▶ POLLED ──end──▶ IDLE ──wake──▶ QUEUED
//!                       └──wake──▶ WOKEN ──end──▶ QUEUED
//! ```
//! A wake may find the future QUEUED or WOKEN already. It writes all the same, and [`Phase::begin`] and
//! [`Phase::end`] read what they replace: so the poll that follows sees all that happened before the wake.
//! A mere load and a mere store would pass each other, and the poll could miss the reason of the wake.

use super::AtomicU8;
use super::Ordering::{AcqRel, Acquire};

/// Nothing is to be done until it is woken.
const IDLE: u8 = 0;
/// A job of the pool is to poll it.
const QUEUED: u8 = 1;
/// A thread polls it.
const POLLED: u8 = 2;
/// A thread polls it, and it was woken meanwhile.
const WOKEN: u8 = 3;

/// See the module.
#[derive(Debug)]
pub(super) struct Phase(AtomicU8);

impl Phase {
    /// The phase of a future for which a job is queued.
    pub(super) fn queued() -> Self {
        Self(AtomicU8::new(QUEUED))
    }

    /// Begins a poll.
    pub(super) fn begin(&self) {
        self.0.swap(POLLED, AcqRel);
    }

    /// Ends a poll that was pending. Returns true when the caller is to queue another.
    #[must_use]
    pub(super) fn end(&self) -> bool {
        if self.0.compare_exchange(POLLED, IDLE, AcqRel, Acquire).is_ok() {
            return false;
        }
        self.0.swap(QUEUED, AcqRel);
        true
    }

    /// Notes a wake. Returns true when the caller is to queue a poll.
    #[must_use]
    pub(super) fn wake(&self) -> bool {
        let next = |phase| match phase {
            IDLE => QUEUED,
            POLLED => WOKEN,
            other => other,
        };
        self.0.fetch_update(AcqRel, Acquire, |phase| Some(next(phase))) == Ok(IDLE)
    }
}

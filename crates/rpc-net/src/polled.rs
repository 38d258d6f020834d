//! The call that is polled: what its handler says about it, for the driver of its connection.
//!
//! A connection has one task, so one call of it is polled at a time, and all accesses are of one thread. What
//! a handler says is read only when it has to wait: a call that is answered at once pays for a few stores.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};

/// The handler has not said whether the call may be cancelled.
const UNSAID: u8 = 0;
const KEPT: u8 = 1;
const CANCELLABLE: u8 = 2;

/// The call of a connection that is polled.
#[derive(Debug, Default)]
pub(crate) struct Polled {
    is_only: AtomicBool,
    has_waited: AtomicBool,
    /// Bytes that the reply may have, beyond what a small reply has.
    reply_bytes: AtomicU64,
    cancellable: AtomicU8,
}

/// What a handler has said in one poll.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Said {
    /// Bytes that the reply may have, beyond what a small reply has.
    pub(crate) reply_bytes: u64,
    /// Whether the call may be cancelled, where that was said.
    pub(crate) is_cancellable: Option<bool>,
}

impl Polled {
    /// A poll begins. With `is_only` the call is the only one of the connection, as those before it were.
    pub(crate) fn begin(&self, is_only: bool) {
        self.is_only.store(is_only, Relaxed);
        self.reply_bytes.store(0, Relaxed);
        self.cancellable.store(UNSAID, Relaxed);
    }

    /// The poll of the only call has ended. Returns true when the thread has waited in it.
    pub(crate) fn end_only(&self) -> bool {
        self.is_only.store(false, Relaxed);
        // Most have not: a look costs less than a swap.
        self.has_waited.load(Relaxed) && self.has_waited.swap(false, Relaxed)
    }

    pub(crate) fn is_only(&self) -> bool {
        self.is_only.load(Relaxed)
    }

    pub(crate) fn note_wait(&self) {
        self.has_waited.store(true, Relaxed);
    }

    pub(crate) fn expect_reply(&self, bytes: usize) {
        let known = self.reply_bytes.load(Relaxed);
        self.reply_bytes.store(known.saturating_add(bytes as u64), Relaxed);
    }

    pub(crate) fn set_cancellable(&self, is_cancellable: bool) {
        self.cancellable.store(if is_cancellable { CANCELLABLE } else { KEPT }, Relaxed);
    }

    /// What the handler has said since the poll began.
    pub(crate) fn said(&self) -> Said {
        let is_cancellable = match self.cancellable.load(Relaxed) {
            UNSAID => None,
            said => Some(said == CANCELLABLE),
        };
        Said { reply_bytes: self.reply_bytes.load(Relaxed), is_cancellable }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expected_bytes_add_up_until_the_next_poll_begins() {
        let polled = Polled::default();
        polled.expect_reply(10);
        polled.expect_reply(20);
        polled.set_cancellable(true);
        assert_eq!(polled.said(), Said { reply_bytes: 30, is_cancellable: Some(true) });
        polled.set_cancellable(false);
        assert_eq!(polled.said().is_cancellable, Some(false));
        polled.begin(false);
        assert_eq!(polled.said(), Said::default());
    }

    #[test]
    fn wait_is_reported_once_and_ends_the_only_call() {
        let polled = Polled::default();
        polled.begin(true);
        assert!(polled.is_only());
        polled.note_wait();
        assert!(polled.end_only() && !polled.is_only() && !polled.end_only());
    }
}

//! An established context of a client, which its calls share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;

use crate::auth::gss::SEQUENCE_MAX;
use crate::auth::gss::mechanism::SecurityContext;

/// An established context.
pub(super) struct ClientContext {
    pub(super) security: Box<dyn SecurityContext>,
    pub(super) handle: Bytes,
    /// The requests that may be under way: the server drops others without an answer.
    window: u32,
    next_sequence: AtomicU32,
    under_way: AtomicU32,
}

/// The sequence number of a request, which counts as under way until this is dropped.
pub(super) struct Request {
    pub(super) context: Arc<ClientContext>,
    pub(super) sequence: u32,
}

/// The reason why a context has no number for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoSequence {
    /// The numbers are used up (RFC 2203 §5.3.3.3). Another context is needed.
    UsedUp,
    /// As many requests are under way as the window of the server takes.
    WindowFull,
}

impl ClientContext {
    pub(super) fn new(security: Box<dyn SecurityContext>, handle: Bytes, window: u32) -> Self {
        Self { security, handle, window, next_sequence: AtomicU32::new(1), under_way: AtomicU32::new(0) }
    }

    /// Takes the next number.
    pub(super) fn begin(self: &Arc<Self>) -> Result<Request, NoSequence> {
        let add = |limit: u32| move |count: u32| (count < limit).then(|| count + 1);
        let count = self.under_way.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add(self.window));
        if count.is_err() {
            return Err(NoSequence::WindowFull);
        }
        let next = self.next_sequence.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add(SEQUENCE_MAX));
        match next {
            Ok(sequence) => Ok(Request { context: Arc::clone(self), sequence }),
            Err(_) => {
                self.under_way.fetch_sub(1, Ordering::Relaxed);
                Err(NoSequence::UsedUp)
            }
        }
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        self.context.under_way.fetch_sub(1, Ordering::Relaxed);
    }
}

//! Whether the connections of a client are read, and the connections that wait until they are.

use std::task::Waker;

use super::Ordering::{AcqRel, Relaxed};
use super::{AtomicBool, Mutex};

/// See the module. Open at first.
#[derive(Debug)]
pub(super) struct Gate {
    is_closed: AtomicBool,
    waiting: Mutex<Vec<Waker>>,
}

impl Gate {
    pub(super) fn new() -> Self {
        Self { is_closed: AtomicBool::new(false), waiting: Mutex::default() }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Relaxed)
    }

    /// Closes or opens the gate as `is_to_close` says, and wakes the connections when it opens. A thread that
    /// changes what `is_to_close` reads calls this afterwards.
    pub(super) fn review(&self, is_to_close: impl Fn() -> bool) {
        loop {
            let is_closed = is_to_close();
            if self.is_closed.swap(is_closed, AcqRel) && !is_closed {
                self.wake();
            }
            // The swap may have replaced the newer decision of another thread. It has acquired what that one
            // had read: the last thread to swap decides with all changes.
            if is_to_close() == is_closed {
                return;
            }
        }
    }

    /// Wakes the connections that wait.
    pub(super) fn wake(&self) {
        let waiting = std::mem::take(&mut *self.waiting.lock());
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Has `waker` woken when the gate opens. The caller then reads [`Gate::is_closed`]: the lock orders that
    /// behind an opening that did not find the waker.
    pub(super) fn wait(&self, waker: &Waker) {
        let mut waiting = self.waiting.lock();
        if !waiting.iter().any(|known| known.will_wake(waker)) {
            waiting.push(waker.clone());
        }
    }
}

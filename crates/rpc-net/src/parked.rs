//! Calls that have to wait, and what they hold meanwhile.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};

use futures_util::stream::{FuturesUnordered, StreamExt};
use rpc::Chunk;

use crate::memory::{Account, Charge, Ledger};
use crate::polled::{Polled, Said};

/// The memory of a parked call beside its handler and its request, in bytes: its place in the set, a small
/// reply, and what the file system needs for it.
const PARKED_BYTES: u64 = 4 << 10;

/// A call that has to wait.
struct ParkedCall<H> {
    handler: Pin<Box<H>>,
    held: CallMemory,
    is_cancellable: bool,
    polled: Arc<Polled>,
    /// The memory of the calls beyond that of the moment in which they were parked, which was not
    /// counted yet.
    late_bytes: Arc<AtomicU64>,
}

/// The memory of one call.
#[derive(Debug, Clone, Copy)]
struct CallMemory {
    bytes: u64,
    /// The [`Chunk`] that its request lies in.
    chunk: u64,
}

impl<H: Future> ParkedCall<H> {
    fn note(&mut self, said: Said) {
        self.held.bytes += said.reply_bytes;
        self.is_cancellable = said.is_cancellable.unwrap_or(self.is_cancellable);
    }
}

impl<H: Future> Future for ParkedCall<H> {
    type Output = (H::Output, CallMemory);

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let call = self.get_mut();
        call.polled.begin(false);
        match call.handler.as_mut().poll(context) {
            Poll::Ready(outcome) => Poll::Ready((outcome, call.held)),
            Poll::Pending => {
                let said = call.polled.said();
                if said.reply_bytes > 0 {
                    call.late_bytes.fetch_add(said.reply_bytes, Relaxed);
                }
                call.note(said);
                Poll::Pending
            }
        }
    }
}

/// The use of a [`Chunk`] by parked calls.
#[derive(Debug, Default)]
struct ChunkUse {
    calls: usize,
    /// The length of the chunk.
    bytes: u64,
}

/// The parked calls of a connection.
pub(crate) struct Parked<H: Future> {
    calls: FuturesUnordered<ParkedCall<H>>,
    call_bytes: u64,
    /// By the id of the [`Chunk`] that requests of parked calls lie in.
    chunks: BTreeMap<u64, ChunkUse>,
    request_bytes: u64,
    late_bytes: Arc<AtomicU64>,
    polled: Arc<Polled>,
}

impl<H: Future> Parked<H> {
    pub(crate) fn new(polled: Arc<Polled>) -> Self {
        Self {
            calls: FuturesUnordered::new(),
            call_bytes: 0,
            chunks: BTreeMap::new(),
            request_bytes: 0,
            late_bytes: Arc::default(),
            polled,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.calls.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// The memory of the calls with the replies that they may need, in bytes.
    pub(crate) fn call_bytes(&self) -> u64 {
        self.call_bytes
    }

    /// The memory of the buffers of their requests, in bytes.
    pub(crate) fn request_bytes(&self) -> u64 {
        self.request_bytes
    }

    /// Adds a call whose first poll was pending, with the notes that it made in that poll. Its request lies
    /// in `chunk`.
    pub(crate) fn push(&mut self, handler: Pin<Box<H>>, chunk: Chunk) {
        let held = CallMemory { bytes: PARKED_BYTES + size_of::<H>() as u64, chunk: chunk.id };
        let (late_bytes, polled) = (Arc::clone(&self.late_bytes), Arc::clone(&self.polled));
        let mut call = ParkedCall { handler, held, is_cancellable: false, polled, late_bytes };
        call.note(self.polled.said());
        self.call_bytes += call.held.bytes;
        let known = self.chunks.entry(chunk.id).or_default();
        known.calls += 1;
        // A buffer may have grown since its first call.
        self.request_bytes += chunk.bytes.saturating_sub(known.bytes);
        known.bytes = chunk.bytes.max(known.bytes);
        self.calls.push(call);
    }

    /// The outcome of a call that has ended; `Pending` when none has.
    pub(crate) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<H::Output>> {
        let ended = self.calls.poll_next_unpin(context);
        // Only this task adds to it.
        if self.late_bytes.load(Relaxed) > 0 {
            self.call_bytes += self.late_bytes.swap(0, Relaxed);
        }
        ended.map(|ended| {
            ended.map(|(outcome, held)| {
                self.forget(held);
                outcome
            })
        })
    }

    fn forget(&mut self, held: CallMemory) {
        self.call_bytes = self.call_bytes.saturating_sub(held.bytes);
        if let Some(known) = self.chunks.get_mut(&held.chunk) {
            known.calls -= 1;
            if known.calls == 0 {
                self.request_bytes -= known.bytes;
                self.chunks.remove(&held.chunk);
            }
        }
    }

    /// Cancels the calls that may be.
    pub(crate) fn cancel(&mut self) {
        let (cancelled, rest): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.calls).into_iter().partition(|call| call.is_cancellable);
        self.calls.extend(rest);
        for call in cancelled {
            let held = call.held;
            drop(call);
            self.forget(held);
        }
    }

    /// Runs the calls to their ends without their connection; the ledger is charged for them until then.
    pub(crate) async fn finish(mut self, mut ledger: Ledger) {
        let mut orphans = Orphans { account: Arc::clone(ledger.account()), calls: self.len() };
        orphans.account.add_orphans(orphans.calls);
        loop {
            ledger.set(Charge::Calls, self.call_bytes);
            ledger.set(Charge::Requests, self.request_bytes);
            ledger.settle();
            if poll_fn(|context| self.poll_next(context)).await.is_none() {
                return;
            }
            orphans.end_one();
        }
    }
}

/// Counts calls without a connection, also when their task is dropped.
struct Orphans {
    account: Arc<Account>,
    calls: usize,
}

impl Orphans {
    fn end_one(&mut self) {
        self.calls -= 1;
        self.account.end_orphan();
    }
}

impl Drop for Orphans {
    fn drop(&mut self) {
        while self.calls > 0 {
            self.end_one();
        }
    }
}

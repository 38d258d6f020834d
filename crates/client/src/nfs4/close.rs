//! CLOSE (RFC 8881 §18.2): kept for later while a delegation lasts, and never waited for. It rides on
//! whatever request comes next, in front of it, and goes by itself only when none comes for a while.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use proto::nfs4::{CloseArgs, Operation, StateId};

use super::Mount;
use super::closes::Closing;
use super::compound::{Operations, Results, is_state_lost, status_of};
use super::core::Core;
use super::send::Kind;
use super::state::{LOST, ServerOpen};
use crate::error::{Error, Result};
use crate::file::OpenFile;
use crate::node::Handle;

/// The most closes that ride on one request.
const RIDERS_MAX: usize = 2;
/// A server that takes fewer operations in one COMPOUND gets no riders: requests of ours may fill it by
/// themselves.
const RIDDEN_OPERATIONS_MIN: u32 = 32;
/// The most closes in a request of their own.
const BATCH_MAX: usize = 7;

impl Mount {
    /// A file is closed; everything written is at the server and no lock is held.
    pub(crate) async fn close(&self, file: &OpenFile) {
        let returning = file.node.state.lock().delegation.is_some_and(|delegation| delegation.returning);
        // While a delegation is given back, an open at the server may just be made for this file.
        let _gate = if returning { Some(file.node.gate.lock().await) } else { None };
        let open = {
            let mut state = file.node.state.lock();
            let open = file.v4.lock().open.take();
            let keeps = state.is_delegated() && state.parked.is_none();
            match open {
                Some(open) if keeps && (!open.write || state.is_write_delegated()) => {
                    state.parked = Some(open);
                    None
                }
                open => open,
            }
        };
        if let Some(open) = open {
            self.close_later(Some(&file.node.handle), open).await;
        }
    }

    /// Leaves CLOSE to ride on the next request; waits only when too many wait already.
    pub(super) async fn close_later(&self, object: Option<&Handle>, open: ServerOpen) {
        if open.epoch == LOST {
            self.core.owners.lock().give_back(open.owner);
            return;
        }
        // CLOSE needs the object; without it only the lease can end the open.
        let Some(object) = object.cloned() else { return };
        let closing = Closing { object, open, due: Instant::now() + self.core.options.waits.close };
        let (unwatched, full) = {
            let mut closes = self.core.closes.lock();
            (closes.push(closing), closes.is_full())
        };
        if unwatched {
            tokio::spawn(Arc::clone(&self.core).see_to_closes());
        }
        if full {
            self.core.send_waiting_closes().await;
        }
    }

    /// A request is about to be sent that what is still open of `object` could be in the way of: CLOSE goes
    /// with it, in front.
    pub(super) async fn close_before(&self, object: &Handle) {
        let promoted = self.core.closes.lock().promote(object);
        if promoted && !self.core.takes_riders() {
            self.core.send_waiting_closes().await;
        }
    }
}

impl Core {
    /// Closes an open that nobody wants any more.
    pub(super) fn spawn_close(self: &Arc<Self>, object: &Handle, open: ServerOpen) {
        let (core, object) = (Arc::clone(self), object.clone());
        tokio::spawn(async move {
            let mount = Mount { core };
            mount.close_later(Some(&object), open).await;
        });
    }

    /// Takes closes along on a request.
    pub(super) fn take_riders(self: &Arc<Self>) -> Riders<'_> {
        let count = if self.takes_riders() { RIDERS_MAX } else { 0 };
        let epoch = self.epoch();
        Riders {
            core: self,
            riding: self.closes.lock().take(count, epoch),
            epoch,
            on_board: AtomicBool::new(false),
        }
    }

    /// Sends all that wait, and waits for those that are under way.
    pub(super) async fn send_waiting_closes(self: &Arc<Self>) {
        loop {
            let epoch = self.epoch();
            let batch = self.closes.lock().take(BATCH_MAX, epoch);
            if batch.is_empty() {
                break;
            }
            self.send_closes(batch, epoch).await;
        }
    }

    /// Sends what no request came for in time, until nothing waits.
    async fn see_to_closes(self: Arc<Self>) {
        loop {
            let Some(due) = self.closes.lock().next_due() else { return };
            tokio::time::sleep_until(due.into()).await;
            let epoch = self.epoch();
            let batch = self.closes.lock().take_due(Instant::now(), BATCH_MAX, epoch);
            if !batch.is_empty() {
                let _under_way = self.closing.acquire().await;
                self.send_closes(batch, epoch).await;
            }
        }
    }

    async fn send_closes(self: &Arc<Self>, batch: VecDeque<Closing>, epoch: u64) {
        let mut riders = Riders { core: self, riding: batch, epoch, on_board: AtomicBool::new(false) };
        while !riders.riding.is_empty() && self.epoch() == epoch {
            let kind = Kind::repeatable(Operation::Close);
            let outcome = self.carry_out(kind, |operations| riders.board(operations)).await;
            let outcome = outcome.and_then(|mut results| riders.alight(&mut results));
            if let Err(error) = outcome {
                tracing::debug!(%error, "closing files");
                break;
            }
        }
        // What could not be closed, the end of the lease closes.
        riders.riding.clear();
    }

    fn takes_riders(&self) -> bool {
        let channel = self.fore_channel.lock();
        channel.as_ref().is_some_and(|channel| channel.operations_max >= RIDDEN_OPERATIONS_MIN)
    }
}

/// Closes on a request. When it is given up, they wait for the next one.
pub(super) struct Riders<'a> {
    core: &'a Arc<Core>,
    riding: VecDeque<Closing>,
    epoch: u64,
    /// They were put on the request as it was last sent.
    on_board: AtomicBool,
}

impl Riders<'_> {
    /// Puts their operations on a request, before any other.
    pub(super) fn board(&self, operations: &mut Operations<'_, '_>) {
        let on_board = self.core.epoch() == self.epoch;
        self.on_board.store(on_board, Ordering::Relaxed);
        if on_board {
            for closing in &self.riding {
                let args = CloseArgs { sequence: 0, state_id: closing.open.state_id };
                operations.put_fh(&closing.object).put(Operation::Close, &args);
            }
        }
    }

    /// Reads their results. False when one of them failed: then the rest of the request was not looked at,
    /// and is to be sent again, without the one that failed.
    pub(super) fn alight(&mut self, results: &mut Results) -> Result<bool> {
        if !self.on_board.load(Ordering::Relaxed) {
            self.riding.clear();
        }
        while let Some(closing) = self.riding.pop_front() {
            let closed =
                results.done(Operation::PutFh).and_then(|()| results.get::<StateId>(Operation::Close));
            match closed {
                Ok(_) => self.give_back(&closing),
                Err(error @ Error::Server { .. }) => {
                    tracing::debug!(%error, "closing a file");
                    if status_of(&error).is_some_and(is_state_lost) {
                        self.give_back(&closing);
                    }
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    fn give_back(&self, closing: &Closing) {
        if self.core.epoch() == self.epoch {
            self.core.owners.lock().give_back(closing.open.owner);
        }
    }
}

impl Drop for Riders<'_> {
    fn drop(&mut self) {
        if !self.riding.is_empty() {
            self.core.closes.lock().put_back(self.riding.drain(..));
        }
    }
}

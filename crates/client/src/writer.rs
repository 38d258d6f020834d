//! The data of one file on their way to the server, through whichever of its open files they were written:
//! what is to be sent is decided by [`Writeback`], and sent here.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Instant;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::budget::{BUDGET_UNIT_BYTES, Pressure};
use crate::error::{Error, Result};
use crate::file::OpenFile;
use crate::node::Node;
use crate::shared::Shared;
use crate::writeback::{Commit, Urge, Write, Writeback};

/// The most WRITEs of one file under way.
const IN_FLIGHT_MAX: usize = 32;
/// The most COMMITs of one file under way.
const COMMITS_MAX: usize = 8;

/// There is one for a file while it is open for writing; all its open files share it.
pub(crate) struct Writer {
    shared: Arc<Shared>,
    node: Arc<Node>,
    state: Mutex<State>,
    /// Something came to its end.
    progress: Notify,
    /// How many wait for everything to be sent.
    flushing: AtomicUsize,
    /// How many wait for everything to be stable.
    settling: AtomicUsize,
    /// Data were taken since the last look at files whose data wait for too long.
    grown: AtomicBool,
    /// A lock was given up that nobody else knows of, and what was written under it may not be at the server
    /// yet.
    unlocked: AtomicBool,
    /// How often the delegation was lost then: what was on its way is not sent again.
    losses: AtomicU64,
}

#[derive(Debug)]
struct State {
    writeback: Writeback,
    /// Permits of the budget that the data hold.
    units: usize,
}

impl Writer {
    pub(crate) fn new(shared: Arc<Shared>, node: Arc<Node>) -> Self {
        let writeback = Writeback::new(shared.limits().write_bytes_max, IN_FLIGHT_MAX);
        Self {
            shared,
            node,
            state: Mutex::new(State { writeback, units: 0 }),
            progress: Notify::new(),
            flushing: AtomicUsize::new(0),
            settling: AtomicUsize::new(0),
            grown: AtomicBool::new(false),
            unlocked: AtomicBool::new(false),
            losses: AtomicU64::new(0),
        }
    }

    /// Of which file of this client it is.
    pub(crate) fn key(&self) -> u64 {
        self.node.key
    }

    /// True when something is not on stable storage yet.
    pub(crate) fn has_pending(&self) -> bool {
        !self.state.lock().writeback.is_clean()
    }

    /// True when something is not at the server yet.
    pub(crate) fn has_unwritten(&self) -> bool {
        self.state.lock().writeback.has_unwritten()
    }

    /// True when data of `range` are not at the server yet.
    pub(crate) fn is_pending(&self, range: &Range<u64>) -> bool {
        self.state.lock().writeback.is_pending(range)
    }

    /// The data of `range`, when none of it is at the server yet.
    pub(crate) fn read(&self, range: &Range<u64>) -> Option<Bytes> {
        self.state.lock().writeback.read(range)
    }

    /// A lock was given up under a delegation, and what was written under it is left to be sent later.
    pub(crate) fn note_unlocked(&self) {
        let writeback = &self.state.lock().writeback;
        self.unlocked.store(writeback.has_unwritten(), Ordering::SeqCst);
    }

    /// The delegation is lost. Others may have had the locks since that were given up under it, so what was
    /// written under them must not come after what they wrote.
    pub(crate) fn lose_delegation(&self) {
        if self.unlocked.swap(false, Ordering::SeqCst) {
            self.losses.fetch_add(1, Ordering::SeqCst);
            self.update(|writeback| writeback.lose_unsent(&Error::Revoked));
        }
    }

    /// How often data were lost so.
    pub(crate) fn losses(&self) -> u64 {
        self.losses.load(Ordering::SeqCst)
    }

    /// The end of the data that are not at the server yet.
    pub(crate) fn unwritten_end(&self) -> Option<u64> {
        self.state.lock().writeback.unwritten_end()
    }

    /// True when there is something to tell to that open file.
    pub(crate) fn has_error(&self, file: u64) -> bool {
        self.state.lock().writeback.has_error(file)
    }

    /// What went wrong with data of that open file, once.
    pub(crate) fn told(&self, file: u64) -> Result<()> {
        self.state.lock().writeback.take_error(file).map_or(Ok(()), Err)
    }

    /// What went wrong with data of any open file, once.
    pub(crate) fn told_any(&self) -> Result<()> {
        self.state.lock().writeback.take_any_error().map_or(Ok(()), Err)
    }

    /// Takes data that hold so many permits of the budget.
    pub(crate) fn take(self: &Arc<Self>, file: u64, offset: u64, data: Bytes, units: usize) {
        self.update_with(units, |writeback| writeback.push(file, offset, data));
        self.grown.store(true, Ordering::Relaxed);
        self.shared.note_dirty(self);
        self.send_waiting();
        self.relieve();
    }

    /// True when data were taken since the last time it was asked.
    pub(crate) fn has_grown(&self) -> bool {
        self.grown.swap(false, Ordering::Relaxed)
    }

    /// Sends what waits, all of it, without waiting for it.
    pub(crate) fn send_all(self: &Arc<Self>) {
        let _flushing = Counted::one(&self.flushing);
        self.send_waiting();
    }

    /// Sends what is to be sent now, without waiting for it.
    pub(crate) fn send_waiting(self: &Arc<Self>) {
        if let Some(write) = self.pump() {
            self.spawn_send(write);
        }
    }

    /// Waits until everything taken so far is on stable storage; what went wrong is left for those who ask
    /// for it.
    pub(crate) async fn settle(self: &Arc<Self>) {
        let Some(mark) = self.mark() else { return };
        let settling = Settling::begin(self, mark);
        self.work_until(
            |writeback| writeback.is_stable_to(mark),
            |writeback| writeback.begin_commit_to(mark),
        )
        .await;
        drop(settling);
        // What was to wait for that.
        self.send_waiting();
    }

    /// Waits until everything taken so far is at the server, stable or not. What goes wrong, sync and close
    /// tell.
    pub(crate) async fn write_out(self: &Arc<Self>) {
        let Some(mark) = self.mark() else { return };
        self.work_until(|writeback| writeback.is_written_to(mark), |_| None).await;
    }

    /// What was taken so far; `None` when all of it is stable.
    fn mark(&self) -> Option<u64> {
        let writeback = &self.state.lock().writeback;
        if writeback.is_clean() { None } else { Some(writeback.mark()) }
    }

    /// Sends until it is `done`, with the COMMITs that `commit` makes for it.
    async fn work_until(
        self: &Arc<Self>,
        done: impl Fn(&Writeback) -> bool,
        commit: impl Fn(&mut Writeback) -> Option<Commit>,
    ) {
        let _flushing = Counted::one(&self.flushing);
        loop {
            let progress = self.progress.notified();
            let mut progress = std::pin::pin!(progress);
            progress.as_mut().enable();
            if done(&self.state.lock().writeback) {
                return;
            }
            if let Some(write) = self.pump() {
                // The last of it: no task is needed.
                self.send(write).await;
                continue;
            }
            let commit = commit(&mut self.state.lock().writeback);
            match commit {
                Some(commit) => self.send_commit(commit).await,
                None => progress.await,
            }
        }
    }

    /// Sends what is to be sent now, in tasks; returns the last one for the caller to send if it is the only
    /// one.
    fn pump(self: &Arc<Self>) -> Option<Write> {
        let mut last: Option<Write> = None;
        loop {
            let urge = self.urge();
            let next = self.state.lock().writeback.next_write(urge);
            match (next, last.take()) {
                (Some(next), Some(before)) => {
                    self.spawn_send(before);
                    last = Some(next);
                }
                (Some(next), None) => last = Some(next),
                (None, last) => return last,
            }
        }
    }

    fn urge(&self) -> Urge {
        if self.flushing.load(Ordering::SeqCst) > 0 {
            return Urge::All;
        }
        if self.shared.is_starving() {
            // What is on its way will free the budget: a writer that waits for it goes on with its last WRITE
            // then.
            let is_moving = self.state.lock().writeback.is_moving();
            return if is_moving { Urge::Settled } else { Urge::All };
        }
        if self.node.state.lock().is_write_delegated() { Urge::Held } else { Urge::Settled }
    }

    fn spawn_send(self: &Arc<Self>, write: Write) {
        let writer = Arc::clone(self);
        tokio::spawn(async move {
            let mut next = Some(write);
            while let Some(write) = next {
                writer.send(write).await;
                next = writer.pump();
            }
        });
    }

    async fn send(self: &Arc<Self>, write: Write) {
        let asked = Instant::now();
        let (alone, place) = {
            let state = self.node.state.lock();
            (state.held_for_writing(), state.data_key(self.node.key))
        };
        let outcome = match self.file(write.writer) {
            Some(file) => self.shared.protocol().write(&file, &write.chunk, write.stable).await,
            None => Err(Error::Usage("the file was dropped with data that were not sent")),
        };
        let outcome = outcome.and_then(|reply| match reply.count {
            0 => Err(Error::misbehaved("WRITE", "no data were written")),
            count if count > write.chunk.length => {
                Err(Error::misbehaved("WRITE", "more data were written than were sent"))
            }
            _ => Ok(reply),
        });
        match outcome {
            Ok(reply) => {
                let arrived = write.chunk.first(reply.count);
                if alone.is_some() && self.node.state.lock().held_for_writing() == alone {
                    self.shared.learn_lone_write(&self.node, reply.effect, asked);
                    self.shared.keep_written(&self.node, place, &write.chunk, arrived.as_ref());
                } else {
                    self.shared.learn_effect(&self.node, reply.effect, asked);
                    self.shared.forget_data(&self.node, write.chunk.range());
                }
                self.update(|writeback| {
                    writeback.written(write.id, reply.count, reply.committed, reply.verifier);
                });
            }
            Err(error) => self.update(|writeback| writeback.failed(write.id, error)),
        }
        self.relieve();
    }

    /// The open file of that number: those whose data are pending are open until they are not.
    fn file(&self, id: u64) -> Option<Arc<OpenFile>> {
        let state = self.node.state.lock();
        state.opens.iter().filter_map(Weak::upgrade).find(|file| file.id == id)
    }

    async fn send_commit(self: &Arc<Self>, commit: Commit) {
        let outcome = self.shared.protocol().commit(&self.node.handle, &commit.range).await;
        self.update(|writeback| match outcome {
            Ok(verifier) => writeback.committed(commit.id, verifier),
            Err(error) => writeback.commit_failed(commit.id, &error),
        });
        self.relieve();
    }

    /// Makes what has arrived stable in the background, as the budget wants it.
    pub(crate) fn relieve(self: &Arc<Self>) {
        let pressure = self.shared.pressure();
        while let Some(commit) = self.next_commit(pressure) {
            let writer = Arc::clone(self);
            tokio::spawn(async move { writer.send_commit(commit).await });
        }
    }

    fn next_commit(&self, pressure: Pressure) -> Option<Commit> {
        let writeback = &mut self.state.lock().writeback;
        let enough = writeback.uncommitted_bytes() >= self.shared.budget_part_bytes();
        let commits_max = match pressure {
            Pressure::Slight => 0,
            Pressure::Moderate => usize::from(enough),
            Pressure::High if enough => COMMITS_MAX,
            Pressure::High => 0,
            Pressure::Starving => {
                if enough {
                    COMMITS_MAX
                } else {
                    1
                }
            }
        };
        if writeback.commits() < commits_max { writeback.begin_commit() } else { None }
    }

    /// Changes the state, gives back what it frees of the budget, and wakes who waits.
    fn update(&self, change: impl FnOnce(&mut Writeback)) {
        self.update_with(0, change);
    }

    /// As [`Writer::update`], with permits of the budget for what the change adds.
    fn update_with(&self, units: usize, change: impl FnOnce(&mut Writeback)) {
        let (freed, has_unwritten) = {
            let mut state = self.state.lock();
            state.units += units;
            change(&mut state.writeback);
            let needed = state.writeback.bytes().div_ceil(BUDGET_UNIT_BYTES);
            let freed = state.units.saturating_sub(needed);
            state.units -= freed;
            (freed, state.writeback.has_unwritten())
        };
        if !has_unwritten {
            self.unlocked.store(false, Ordering::SeqCst);
        }
        self.shared.dirty_budget.add_permits(freed);
        self.progress.notify_waiters();
    }
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer")
            .field("file", &self.node.key)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

/// Counts as one more, until it is dropped.
pub(crate) struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    pub(crate) fn one(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Somebody waits until what was taken before a mark is stable, until this is dropped.
struct Settling<'a>(&'a Writer);

impl<'a> Settling<'a> {
    fn begin(writer: &'a Writer, mark: u64) -> Self {
        let writeback = &mut writer.state.lock().writeback;
        writer.settling.fetch_add(1, Ordering::SeqCst);
        writeback.set_awaited(writeback.awaited().max(mark));
        Self(writer)
    }
}

impl Drop for Settling<'_> {
    fn drop(&mut self) {
        let writeback = &mut self.0.state.lock().writeback;
        if self.0.settling.fetch_sub(1, Ordering::SeqCst) == 1 {
            writeback.set_awaited(0);
        }
    }
}

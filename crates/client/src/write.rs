//! Writing files: data are taken at once up to a budget, sent in large pieces, and made stable by sync and close.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::stream::{FuturesUnordered, TryStreamExt};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::error::{Error, Result};
use crate::file::OpenFile;
use crate::shared::Shared;
use crate::writeback::{Chunk, Commit, Urge, Write, Writeback};

/// What a permit of the budget stands for.
const BUDGET_UNIT_BYTES: usize = 4096;
/// The most WRITEs of one file under way.
const IN_FLIGHT_MAX: usize = 32;
/// The most COMMITs of one file under way.
const COMMITS_MAX: usize = 8;
/// In how many COMMITs the data are made stable that fill the budget, so that it comes free bit by bit.
const COMMITS_PER_BUDGET: usize = 16;

/// The permits that the budget for dirty data has.
pub(crate) fn budget_units(dirty_bytes_max: usize) -> usize {
    (dirty_bytes_max / BUDGET_UNIT_BYTES).clamp(1, tokio::sync::Semaphore::MAX_PERMITS)
}

/// The data of one open file on their way.
#[derive(Debug)]
pub(crate) struct Writer {
    state: Mutex<State>,
    /// Something came to its end.
    progress: Notify,
    /// How many wait for everything to be sent.
    flushing: AtomicUsize,
    /// Data were taken since the last look at files whose data wait for too long.
    grown: AtomicBool,
    /// Another open file wrote over data that were not on stable storage: they are when the other's are.
    overtaken: AtomicBool,
}

#[derive(Debug)]
struct State {
    writeback: Writeback,
    /// Permits of the budget that the data hold.
    units: usize,
}

/// How much of the budget is in use, and so how soon what has arrived at the server is made stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pressure {
    /// Less than a quarter: whoever syncs or closes sees to it.
    Slight,
    /// One COMMIT of a file at a time.
    Moderate,
    /// More than half: COMMITs overlap, so that writers go on as fast as the server takes data.
    High,
    /// Somebody waits for the budget.
    Starving,
}

impl Writer {
    pub(crate) fn new(write_bytes_max: u32) -> Self {
        let writeback = Writeback::new(write_bytes_max, IN_FLIGHT_MAX);
        Self {
            state: Mutex::new(State { writeback, units: 0 }),
            progress: Notify::new(),
            flushing: AtomicUsize::new(0),
            grown: AtomicBool::new(false),
            overtaken: AtomicBool::new(false),
        }
    }

    /// True when something is not on stable storage yet, or an error was not told yet.
    pub(crate) fn has_pending(&self) -> bool {
        let state = self.state.lock();
        !state.writeback.is_clean() || state.writeback.has_error()
    }

    /// True when something is not at the server yet.
    pub(crate) fn has_unwritten(&self) -> bool {
        self.state.lock().writeback.has_unwritten()
    }

    /// The end of the data that are not at the server yet.
    pub(crate) fn unwritten_end(&self) -> Option<u64> {
        self.state.lock().writeback.unwritten_end()
    }

    fn is_pending(&self, range: &Range<u64>) -> bool {
        self.state.lock().writeback.is_pending(range)
    }

    /// Drops what is there of `range`, and waits for what is under way.
    async fn give_way(&self, range: &Range<u64>) {
        loop {
            let progress = self.progress.notified();
            let mut progress = std::pin::pin!(progress);
            progress.as_mut().enable();
            let in_flight = {
                let writeback = &mut self.state.lock().writeback;
                if writeback.supersede(range) {
                    self.overtaken.store(true, Ordering::SeqCst);
                }
                writeback.is_in_flight(range)
            };
            if !in_flight {
                return;
            }
            progress.await;
        }
    }
}

/// Counts as one who waits for everything to be sent, until it is dropped.
struct Flushing<'a>(&'a Writer);

impl<'a> Flushing<'a> {
    fn begin(writer: &'a Writer) -> Self {
        writer.flushing.fetch_add(1, Ordering::SeqCst);
        Self(writer)
    }
}

impl Drop for Flushing<'_> {
    fn drop(&mut self) {
        self.0.flushing.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Counts as one who waits for the budget, until it is dropped.
struct Starving<'a>(&'a AtomicUsize);

impl<'a> Starving<'a> {
    fn begin(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for Starving<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl OpenFile {
    /// Takes `data`, or writes them through when the file is open for that.
    pub(crate) async fn write(self: &Arc<Self>, offset: u64, data: Bytes) -> Result<()> {
        if offset.checked_add(data.len() as u64).is_none() {
            return Err(Error::Usage("the range ends beyond 2^64"));
        }
        if data.is_empty() {
            return Ok(());
        }
        self.check_not_lost()?;
        self.note_use(None);
        let range = offset..offset + data.len() as u64;
        // Whoever waits for what is overtaken here waits for these data instead, and must find them.
        let _overtaking = self.node.overtaking.read().await;
        self.overtake_others(&range).await;
        self.shared.forget_data(&self.node, range);
        if self.sync {
            return self.write_through(offset, &data).await;
        }
        let mut rest = data;
        let mut at = offset;
        // In parts: one large write goes on as the budget comes free, bit by bit.
        let part_bytes = self.shared.budget_part_bytes();
        while !rest.is_empty() {
            let part = rest.split_to(rest.len().min(part_bytes));
            let length = part.len() as u64;
            self.take(at, part).await;
            at += length;
        }
        Ok(())
    }

    /// Writes `data` at the end of the file and returns where that is.
    pub(crate) async fn append(self: &Arc<Self>, data: Bytes) -> Result<u64> {
        let _one_at_a_time = self.node.appending.lock().await;
        let end = self.end().await?;
        self.write(end, data).await?;
        Ok(end)
    }

    /// Where the file ends, with what is not at the server yet.
    async fn end(self: &Arc<Self>) -> Result<u64> {
        // In this order: what is no longer unwritten has been learned of before.
        let unwritten = self.unwritten_end();
        let size = match self.shared.known_attributes(&self.node) {
            Some(attributes) => attributes.size,
            None => self.shared.revalidate(&self.node).await?.size,
        };
        Ok(size.max(unwritten.unwrap_or(0)))
    }

    /// The end of the data that the server does not have yet, of whichever open file of ours.
    pub(crate) fn unwritten_end(&self) -> Option<u64> {
        let files = self.node.state.lock().open_files();
        files.iter().filter_map(|file| file.writer.unwritten_end()).max()
    }

    /// Waits until everything is on stable storage; tells what went wrong.
    pub(crate) async fn flush(self: &Arc<Self>) -> Result<()> {
        self.settle().await;
        if self.writer.overtaken.swap(false, Ordering::SeqCst) {
            drop(self.node.overtaking.write().await);
            self.shared.settle(&self.node).await;
        }
        self.writer.state.lock().writeback.take_error().map_or(Ok(()), Err)
    }

    /// Waits until everything taken so far is on stable storage; what went wrong is left for those who ask for it.
    pub(crate) async fn settle(self: &Arc<Self>) {
        self.work_until(Writeback::is_stable_to, Writeback::begin_commit_to).await;
    }

    /// Waits until everything taken so far is at the server, stable or not. What goes wrong, sync and close tell.
    pub(crate) async fn write_out(self: &Arc<Self>) {
        self.work_until(Writeback::is_written_to, |_, _| None).await;
    }

    /// Sends until it is `done` for all that was taken before now, with the COMMITs that `commit` makes for it.
    async fn work_until(
        self: &Arc<Self>,
        done: impl Fn(&Writeback, u64) -> bool,
        commit: impl Fn(&mut Writeback, u64) -> Option<Commit>,
    ) {
        let mark = {
            let writeback = &self.writer.state.lock().writeback;
            if writeback.is_clean() {
                return;
            }
            writeback.mark()
        };
        let _flushing = Flushing::begin(&self.writer);
        loop {
            let progress = self.writer.progress.notified();
            let mut progress = std::pin::pin!(progress);
            progress.as_mut().enable();
            if done(&self.writer.state.lock().writeback, mark) {
                return;
            }
            if let Some(write) = self.pump() {
                // The last of it: no task is needed.
                self.send(write).await;
                continue;
            }
            let commit = commit(&mut self.writer.state.lock().writeback, mark);
            match commit {
                Some(commit) => self.send_commit(commit).await,
                None => progress.await,
            }
        }
    }

    /// A reader must find at the server what was written before, by whichever open file of ours.
    pub(crate) async fn write_out_overlapping(self: &Arc<Self>, range: &Range<u64>) {
        if self.writable && self.writer.is_pending(range) {
            self.write_out().await;
        }
        self.write_out_of_others(range).await;
    }

    async fn write_out_of_others(self: &Arc<Self>, range: &Range<u64>) {
        for other in self.other_writers() {
            if other.writer.is_pending(range) {
                other.write_out().await;
            }
        }
    }

    /// What other open files took of `range` is older than what is written now: when this is over they neither send it nor,
    /// when the server has lost it, send it again.
    async fn overtake_others(self: &Arc<Self>, range: &Range<u64>) {
        for other in self.other_writers() {
            other.writer.give_way(range).await;
            other.update(|_| ());
        }
    }

    fn other_writers(&self) -> Vec<Arc<Self>> {
        let state = self.node.state.lock();
        if state.opens.len() < 2 {
            return Vec::new();
        }
        state.open_files().into_iter().filter(|other| other.id != self.id && other.writable).collect()
    }

    async fn take(self: &Arc<Self>, offset: u64, data: Bytes) {
        let units =
            data.len().div_ceil(BUDGET_UNIT_BYTES).min(budget_units(self.shared.options.dirty_bytes_max));
        let budget = &self.shared.dirty_budget;
        let permit = match budget.try_acquire_many(units as u32) {
            Ok(permit) => Some(permit),
            Err(_) => {
                let _starving = Starving::begin(&self.shared.starving);
                self.shared.send_all_dirty(true);
                budget.acquire_many(units as u32).await.ok()
            }
        };
        let units = permit.map_or(0, |permit| {
            permit.forget();
            units
        });
        self.update_with(units, |writeback| writeback.push(offset, data));
        self.writer.grown.store(true, Ordering::Relaxed);
        if self.shared.dirty_files.lock().insert(self.id, Arc::downgrade(self)).is_none() {
            self.shared.dirty_notice.notify_one();
        }
        if let Some(write) = self.pump() {
            self.spawn_send(write);
        }
        self.relieve();
    }

    async fn write_through(self: &Arc<Self>, offset: u64, data: &Bytes) -> Result<()> {
        let piece_bytes = self.shared.limits().write_bytes_max as usize;
        let mut writes: FuturesUnordered<_> = (0..data.len())
            .step_by(piece_bytes)
            .map(|at| {
                let piece = data.slice(at..data.len().min(at + piece_bytes));
                self.write_piece_through(offset + at as u64, piece)
            })
            .collect();
        while writes.try_next().await?.is_some() {}
        Ok(())
    }

    async fn write_piece_through(self: &Arc<Self>, mut offset: u64, mut data: Bytes) -> Result<()> {
        while !data.is_empty() {
            let asked = Instant::now();
            let chunk = Chunk { offset, length: data.len() as u32, pieces: vec![data.clone()] };
            let reply = self.shared.protocol().write(self, &chunk, true).await?;
            if reply.count == 0 || reply.count > chunk.length || !reply.committed {
                return Err(Error::misbehaved("WRITE", "the data are not written as was asked"));
            }
            self.shared.learn_effect(&self.node, reply.effect, asked);
            self.shared.forget_data(&self.node, offset..offset + data.len() as u64);
            offset += u64::from(reply.count);
            data = data.slice(reply.count as usize..);
        }
        Ok(())
    }

    /// Sends what is to be sent now, in tasks; returns the last one for the caller to send if it is the only one.
    fn pump(self: &Arc<Self>) -> Option<Write> {
        let mut last: Option<Write> = None;
        loop {
            let urge = self.urge();
            let next = self.writer.state.lock().writeback.next_write(urge);
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
        if self.writer.flushing.load(Ordering::SeqCst) > 0 {
            return Urge::All;
        }
        if self.shared.is_starving() {
            // What is on its way will free the budget: a writer that waits for it goes on with its last WRITE then.
            let is_moving = self.writer.state.lock().writeback.is_moving();
            return if is_moving { Urge::Settled } else { Urge::All };
        }
        if self.node.state.lock().is_write_delegated() { Urge::Held } else { Urge::Settled }
    }

    fn spawn_send(self: &Arc<Self>, write: Write) {
        let file = Arc::clone(self);
        tokio::spawn(async move {
            let mut next = Some(write);
            while let Some(write) = next {
                file.send(write).await;
                next = file.pump();
            }
        });
    }

    async fn send(self: &Arc<Self>, write: Write) {
        let asked = Instant::now();
        let outcome = self.shared.protocol().write(self, &write.chunk, write.stable).await;
        let range = write.chunk.range();
        let outcome = outcome.and_then(|reply| match reply.count {
            0 => Err(Error::misbehaved("WRITE", "no data were written")),
            _ => Ok(reply),
        });
        match outcome {
            Ok(reply) => {
                self.shared.learn_effect(&self.node, reply.effect, asked);
                self.shared.forget_data(&self.node, range);
                self.update(|writeback| {
                    writeback.written(write.id, reply.count, reply.committed, reply.verifier);
                });
            }
            Err(error) => self.update(|writeback| writeback.failed(write.id, error)),
        }
        self.relieve();
    }

    async fn send_commit(self: &Arc<Self>, commit: Commit) {
        let outcome = self.shared.protocol().commit(self, &commit.range).await;
        self.update(|writeback| match outcome {
            Ok(verifier) => writeback.committed(commit.id, verifier),
            Err(error) => writeback.commit_failed(commit.id, error),
        });
        self.relieve();
    }

    /// Makes what has arrived stable in the background, as the budget wants it.
    fn relieve(self: &Arc<Self>) {
        let pressure = self.shared.pressure();
        while let Some(commit) = self.next_commit(pressure) {
            let file = Arc::clone(self);
            tokio::spawn(async move { file.send_commit(commit).await });
        }
    }

    fn next_commit(&self, pressure: Pressure) -> Option<Commit> {
        let writeback = &mut self.writer.state.lock().writeback;
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

    /// As [`OpenFile::update`], with permits of the budget for what the change adds.
    fn update_with(&self, units: usize, change: impl FnOnce(&mut Writeback)) {
        let freed = {
            let mut state = self.writer.state.lock();
            state.units += units;
            change(&mut state.writeback);
            let needed = state.writeback.bytes().div_ceil(BUDGET_UNIT_BYTES);
            let freed = state.units.saturating_sub(needed);
            state.units -= freed;
            freed
        };
        self.shared.dirty_budget.add_permits(freed);
        self.writer.progress.notify_waiters();
    }
}

impl Shared {
    fn is_starving(&self) -> bool {
        self.starving.load(Ordering::SeqCst) > 0
    }

    fn pressure(&self) -> Pressure {
        let all = budget_units(self.options.dirty_bytes_max);
        let used = all.saturating_sub(self.dirty_budget.available_permits());
        match used * 4 / all {
            _ if self.is_starving() => Pressure::Starving,
            0 => Pressure::Slight,
            1 => Pressure::Moderate,
            _ => Pressure::High,
        }
    }

    /// What is taken from the budget and made stable at a time, in bytes.
    fn budget_part_bytes(&self) -> usize {
        let budget_bytes = budget_units(self.options.dirty_bytes_max) * BUDGET_UNIT_BYTES;
        let write_bytes = self.limits().write_bytes_max as usize;
        (budget_bytes / COMMITS_PER_BUDGET).max(write_bytes).clamp(BUDGET_UNIT_BYTES, budget_bytes)
    }

    /// Sends what waits in all files. Without need files whose data still grow are left alone, so that what follows goes
    /// out together; with it everything is also made stable, to free the budget.
    fn send_all_dirty(&self, needed: bool) {
        for file in self.dirty() {
            if file.writer.grown.swap(false, Ordering::Relaxed) && !needed {
                continue;
            }
            // Who starves is served by what is under way anyway, where there is any.
            let flushing = (!needed).then(|| Flushing::begin(&file.writer));
            if let Some(write) = file.pump() {
                file.spawn_send(write);
            }
            drop(flushing);
            if needed {
                file.relieve();
            }
            if !file.writer.has_pending() {
                self.dirty_files.lock().remove(&file.id);
            }
        }
    }
}

/// Sends data that wait for more to follow for too long, as long as the client lives.
pub(crate) fn spawn_flusher(shared: &Arc<Shared>) {
    let wait = shared.options.waits.data;
    let shared = Arc::downgrade(shared);
    tokio::spawn(async move {
        while let Some(shared) = shared.upgrade().filter(|shared| !shared.is_shut_down()) {
            let idle = shared.dirty_files.lock().is_empty();
            shared.send_all_dirty(false);
            let notice = async {
                if idle {
                    shared.dirty_notice.notified().await;
                }
            };
            // Looked at again now and then: the client may have been dropped meanwhile.
            let _ = tokio::time::timeout(Duration::from_secs(1), notice).await;
            drop(shared);
            tokio::time::sleep(wait).await;
        }
    });
}

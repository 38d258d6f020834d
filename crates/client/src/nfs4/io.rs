//! READ, WRITE, COMMIT (RFC 8881 §18.22, §18.32, §18.3).

use std::time::Instant;

use proto::nfs4::{
    CommitArgs, CommitResult, Operation, ReadArgs, ReadResult, StableHow, StateId, WriteResult,
};
use xdr::{Encode, Encoder};

use super::Mount;
use super::compound::{is_state_lost, status_of};
use super::loss::ATTEMPTS_MAX;
use super::send::Kind;
use super::state::newest;
use crate::error::{Error, Result};
use crate::file::OpenFile;
use crate::node::Handle;
use crate::protocol::{Effect, ReadReply, WriteReply};
use crate::writeback::{Chunk, Verifier};

/// WRITE's arguments with the data in the pieces in which they came.
pub(super) struct WriteChunk<'a> {
    pub(super) state_id: StateId,
    pub(super) stable: StableHow,
    pub(super) chunk: &'a Chunk,
}

impl Encode for WriteChunk<'_> {
    fn encode(&self, to: &mut Encoder) {
        to.put(&self.state_id);
        to.u64(self.chunk.offset);
        to.put(&self.stable);
        to.opaque_with(|buffer| {
            self.chunk.pieces.iter().for_each(|piece| buffer.extend_from_slice(piece));
        });
    }
}

impl Mount {
    pub(crate) async fn read(&self, file: &OpenFile, offset: u64, count: u32) -> Result<ReadReply> {
        // What is known is as good as the open or lock made it; once that is too old, it comes with the data.
        let describe = {
            let state = file.node.state.lock();
            state.believed(Instant::now()).is_none()
        };
        let mut attempts = 0;
        loop {
            let used = self.io_state(file).await?;
            match self.read_with(file, used, offset, count, describe).await {
                Err(error) => self.after_state_error(file, used, error, &mut attempts)?,
                done => return done,
            }
        }
    }

    pub(crate) async fn write(&self, file: &OpenFile, chunk: &Chunk, stable: bool) -> Result<WriteReply> {
        let stable = if stable { StableHow::FileSync } else { StableHow::Unstable };
        let losses = file.losses();
        let mut attempts = 0;
        loop {
            let used = self.write_state(file).await?;
            if file.losses() != losses {
                return Err(Error::Revoked);
            }
            let args = WriteChunk { state_id: used.0, stable, chunk };
            match self.write_with(file, &args, used.1).await {
                Err(error) => self.after_state_error(file, used, error, &mut attempts)?,
                done => return done,
            }
        }
    }

    /// As [`Mount::io_state`], or the delegation for writing: when the server has taken that away, data are
    /// not written that were to be written under it.
    async fn write_state(&self, file: &OpenFile) -> Result<(StateId, u64)> {
        let (state_id, epoch) = self.io_state(file).await?;
        let state = file.node.state.lock();
        let delegation = state.delegation.filter(|held| held.epoch == epoch && state.is_write_delegated());
        match delegation {
            Some(held) if file.v4.lock().lock.is_none() => Ok((newest(held.state_id), epoch)),
            _ => Ok((state_id, epoch)),
        }
    }

    pub(crate) async fn commit(&self, file: &Handle, offset: u64, count: u32) -> Result<Verifier> {
        let mut results = self
            .core
            .compound(Kind::repeatable(Operation::Commit), |operations| {
                operations.put_fh(file).put(Operation::Commit, &CommitArgs { offset, count });
            })
            .await?;
        results.done(Operation::PutFh)?;
        Ok(results.get::<CommitResult>(Operation::Commit)?.verifier.0)
    }

    /// What a file is read and written with, and the incarnation of the client that it is of: its locks, its
    /// open, or the delegation (RFC 8881 §9.1.2). An open that was lost is made anew.
    pub(super) async fn io_state(&self, file: &OpenFile) -> Result<(StateId, u64)> {
        loop {
            let epoch = self.core.session().await?.epoch();
            if file.locks_are_in_doubt() {
                self.core.ensure_lease().await?;
                continue;
            }
            {
                let state = file.node.state.lock();
                let v4 = file.v4.lock();
                if v4.lost_locks {
                    return Err(Error::Revoked);
                }
                let open = v4.open.filter(|open| open.epoch == epoch);
                let delegation = state.delegation.filter(|delegation| delegation.epoch == epoch);
                match (v4.lock, open, delegation) {
                    (Some(lock), Some(_), _) => return Ok((lock, epoch)),
                    (None, Some(open), _) => return Ok((open.state_id, epoch)),
                    (None, None, Some(delegation)) if v4.open.is_none() => {
                        return Ok((newest(delegation.state_id), epoch));
                    }
                    _ => {}
                }
            }
            self.reopen(file, epoch).await?;
        }
    }

    /// Sends what needs the state of a file, again when that was replaced meanwhile.
    pub(super) async fn with_state<T, F: Future<Output = Result<T>>>(
        &self,
        file: &OpenFile,
        send: impl Fn(StateId) -> F,
    ) -> Result<T> {
        let mut attempts = 0;
        loop {
            let used = self.io_state(file).await?;
            match send(used.0).await {
                Err(error) => self.after_state_error(file, used, error, &mut attempts)?,
                done => return done,
            }
        }
    }

    /// As [`Mount::with_state`], for two files.
    pub(super) async fn with_states<T, F: Future<Output = Result<T>>>(
        &self,
        source: &OpenFile,
        target: &OpenFile,
        send: impl Fn(StateId, StateId) -> F,
    ) -> Result<T> {
        let mut attempts = 0;
        loop {
            let used = (self.io_state(source).await?, self.io_state(target).await?);
            match send(used.0.0, used.1.0).await {
                // The server does not say which of the two it is.
                Err(error) if status_of(&error).is_some_and(is_state_lost) && attempts < ATTEMPTS_MAX => {
                    attempts += 1;
                    self.core.check_states().await?;
                }
                done => return done,
            }
        }
    }

    async fn read_with(
        &self,
        file: &OpenFile,
        (state_id, epoch): (StateId, u64),
        offset: u64,
        count: u32,
        describe: bool,
    ) -> Result<ReadReply> {
        let args = ReadArgs { state_id, offset, count };
        let mut results = self
            .core
            .compound(Kind::repeatable(Operation::Read).in_epoch(epoch), |operations| {
                operations.put_fh(&file.node.handle);
                // In this order: others may change the file between the two, and what is cached as of a state
                // must not be older.
                if describe {
                    operations.get_attr();
                }
                operations.put(Operation::Read, &args);
            })
            .await?;
        results.done(Operation::PutFh)?;
        let attributes = if describe { Some(results.attributes()?) } else { None };
        let read: ReadResult = results.get(Operation::Read)?;
        Ok(ReadReply { data: read.data, eof: read.eof, attributes, described_first: true })
    }

    async fn write_with(&self, file: &OpenFile, args: &WriteChunk<'_>, epoch: u64) -> Result<WriteReply> {
        let mut results = self
            .core
            .compound(Kind::repeatable(Operation::Write).in_epoch(epoch), |operations| {
                operations.put_fh(&file.node.handle).put(Operation::Write, args).get_attr();
            })
            .await?;
        results.done(Operation::PutFh)?;
        let written: WriteResult = results.get(Operation::Write)?;
        Ok(WriteReply {
            count: written.count,
            committed: written.committed == StableHow::FileSync,
            verifier: written.verifier.0,
            effect: Effect::Around { before: None, after: results.attributes().ok() },
        })
    }
}

//! READ, WRITE, COMMIT (RFC 8881 §18.22, §18.32, §18.3).

use std::time::Instant;

use proto::nfs4::{
    CommitArgs, CommitResult, Operation, ReadArgs, ReadResult, StableHow, StateId, WriteResult,
};
use xdr::{Encode, Encoder};

use super::Mount;
use super::compound::{is_state_lost, status_of};
use super::send::Kind;
use super::state::newest;
use crate::error::{Error, Result};
use crate::file::OpenFile;
use crate::protocol::{Effect, ReadReply, WriteReply};
use crate::writeback::{Chunk, Verifier};

/// WRITE's arguments with the data in the pieces in which they came.
struct WriteChunk<'a> {
    state_id: StateId,
    stable: StableHow,
    chunk: &'a Chunk,
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
            !state.is_delegated() && state.known.believed(Instant::now()).is_none()
        };
        loop {
            let state_id = self.io_state(file)?;
            match self.read_with(file, state_id, offset, count, describe).await {
                Err(error) => self.check_state(file, state_id, error)?,
                done => return done,
            }
        }
    }

    pub(crate) async fn write(&self, file: &OpenFile, chunk: &Chunk, stable: bool) -> Result<WriteReply> {
        let stable = if stable { StableHow::FileSync } else { StableHow::Unstable };
        loop {
            let state_id = self.io_state(file)?;
            match self.write_with(file, &WriteChunk { state_id, stable, chunk }).await {
                Err(error) => self.check_state(file, state_id, error)?,
                done => return done,
            }
        }
    }

    pub(crate) async fn commit(&self, file: &OpenFile) -> Result<Verifier> {
        let mut results = self
            .core
            .compound(Kind::repeatable(Operation::Commit), |operations| {
                operations
                    .put_fh(&file.node.handle)
                    .put(Operation::Commit, &CommitArgs { offset: 0, count: 0 });
            })
            .await?;
        results.done(Operation::PutFh)?;
        Ok(results.get::<CommitResult>(Operation::Commit)?.verifier.0)
    }

    /// What a file is read and written with: its locks, its open, or the delegation (RFC 8881 §9.1.2).
    pub(super) fn io_state(&self, file: &OpenFile) -> Result<StateId> {
        let epoch = self.core.epoch();
        let state = file.node.state.lock();
        let v4 = file.v4.lock();
        let open = v4.open.filter(|open| open.epoch == epoch);
        match (v4.lock, open, state.delegation.filter(|delegation| delegation.epoch == epoch)) {
            (Some(lock), Some(_), _) => Ok(lock),
            (None, Some(open), _) => Ok(open.state_id),
            (_, None, Some(delegation)) => Ok(newest(delegation.state_id)),
            (_, None, None) => Err(Error::Revoked),
        }
    }

    /// Sends what needs the state of a file, again when that was replaced meanwhile.
    pub(super) async fn with_state<T, F: Future<Output = Result<T>>>(
        &self,
        file: &OpenFile,
        send: impl Fn(StateId) -> F,
    ) -> Result<T> {
        loop {
            let state_id = self.io_state(file)?;
            match send(state_id).await {
                Err(error) => self.check_state(file, state_id, error)?,
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
        loop {
            let used = (self.io_state(source)?, self.io_state(target)?);
            match send(used.0, used.1).await {
                Err(error) if self.io_state(source)? == used.0 => self.check_state(target, used.1, error)?,
                Err(error) => self.check_state(source, used.0, error)?,
                done => return done,
            }
        }
    }

    /// After an error: `Ok` when it is because the state was replaced meanwhile, and the request is to be made again.
    fn check_state(&self, file: &OpenFile, used: StateId, error: Error) -> Result<()> {
        if !status_of(&error).is_some_and(is_state_lost) {
            return Err(error);
        }
        if self.io_state(file)? != used {
            return Ok(());
        }
        Err(Error::Revoked)
    }

    async fn read_with(
        &self,
        file: &OpenFile,
        state_id: StateId,
        offset: u64,
        count: u32,
        describe: bool,
    ) -> Result<ReadReply> {
        let args = ReadArgs { state_id, offset, count };
        let mut results = self
            .core
            .compound(Kind::repeatable(Operation::Read), |operations| {
                operations.put_fh(&file.node.handle).put(Operation::Read, &args);
                if describe {
                    operations.get_attr();
                }
            })
            .await?;
        results.done(Operation::PutFh)?;
        let read: ReadResult = results.get(Operation::Read)?;
        let attributes = if describe { Some(results.attributes()?) } else { None };
        Ok(ReadReply { data: read.data, eof: read.eof, attributes })
    }

    async fn write_with(&self, file: &OpenFile, args: &WriteChunk<'_>) -> Result<WriteReply> {
        let mut results = self
            .core
            .compound(Kind::repeatable(Operation::Write), |operations| {
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

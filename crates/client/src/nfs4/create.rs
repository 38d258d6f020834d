//! Makes empty files: OPEN and CLOSE in one COMPOUND, and in the same one the files that other tasks want to make at the
//! same moment (see [`super::gather`]).

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use proto::nfs4::attributes::AttributeValues;
use proto::nfs4::{CloseArgs, CreateHow, OpenArgs, OpenClaim, OpenResult, Operation, StateId, Status, share};

use super::Mount;
use super::compound::{Operations, Results, status_of};
use super::convert::effect;
use super::core::Core;
use super::gather::{Gathered, Turn};
use super::open::read_open;
use super::send::Kind;
use super::state::{ServerOpen, newest};
use crate::error::{Error, Result};
use crate::node::{Handle, Node};
use crate::protocol::Found;
use crate::shared::Shared;

/// Operations that one file takes.
const OPERATIONS: u32 = 5;
/// The most that the results for one file take of a reply, with owners of usual length, in bytes. The reply must fit what the
/// server keeps for a retry.
const RESULT_BYTES: u32 = 512;

/// A file to be made.
#[derive(Debug, Clone)]
pub(super) struct Creation {
    directory: Handle,
    name: Bytes,
    mode: u32,
    owner: u64,
}

/// A file that was made.
#[derive(Debug)]
pub(super) struct Made {
    opened: OpenResult,
    described: Result<Found>,
    closed: bool,
}

/// Makes an empty file, which must not exist.
pub(crate) async fn create_file(
    shared: &Arc<Shared>,
    mount: &Mount,
    dir: &Arc<Node>,
    name: &Bytes,
    mode: u32,
) -> Result<()> {
    let core = &mount.core;
    let owner = core.owners.lock().take();
    let creation = Creation { directory: dir.handle.clone(), name: name.clone(), mode, owner };
    let (asked, epoch) = (Instant::now(), core.epoch());
    let Made { opened, described, closed } = match shared.or_forget(dir, name, core.create(creation).await) {
        Ok(made) => made,
        Err(error) => {
            core.owners.lock().give_back(owner);
            return Err(error);
        }
    };
    shared.learn_effect(dir, effect(&opened.change), asked);
    if closed {
        core.owners.lock().give_back(owner);
    } else {
        let handle = described.as_ref().ok().map(|found| &found.handle);
        let open = ServerOpen { owner, state_id: newest(opened.state_id), write: true, epoch };
        mount.close_in_background(handle, open).await;
    }
    shared.learn_opened(dir, name, &described?, asked);
    Ok(())
}

impl Core {
    async fn create(self: &Arc<Self>, creation: Creation) -> Result<Made> {
        let answer = match self.creations.enter() {
            Turn::Alone(_under_way) => return self.create_alone(&creation).await,
            Turn::Together(turn) => {
                let (answer, is_first) = turn.join(creation.clone());
                if is_first {
                    tokio::spawn(Arc::clone(self).create_gathered());
                }
                answer.await
            }
        };
        match answer {
            Ok(Some(made)) => made,
            Ok(None) => self.create_alone(&creation).await,
            Err(_) => Err(Error::UncertainOutcome { operation: Operation::Open.name() }),
        }
    }

    async fn create_alone(self: &Arc<Self>, creation: &Creation) -> Result<Made> {
        let mut results = self.send_creations(&[creation]).await?;
        take(&mut results)
    }

    /// Makes what has been gathered, when everybody who is ready to run has had the chance to add to it.
    async fn create_gathered(self: Arc<Self>) {
        tokio::task::yield_now().await;
        let together_max = self.creations_max();
        loop {
            let (batch, is_last) = self.creations.take(together_max);
            if is_last {
                return self.create_together(batch).await;
            }
            tokio::spawn(Arc::clone(&self).create_together(batch));
        }
    }

    async fn create_together(self: Arc<Self>, batch: Vec<Gathered<Creation, Result<Made>>>) {
        let creations: Vec<_> = batch.iter().map(|gathered| &gathered.wanted).collect();
        let mut results = match self.send_creations(&creations).await {
            Ok(results) => results,
            Err(error) => return batch.into_iter().for_each(|gathered| gathered.answer(Err(error.clone()))),
        };
        // Whatever comes after an operation that failed was not looked at (RFC 8881 §16.2.3): it is made on its own.
        let mut is_cut = false;
        for gathered in batch {
            if is_cut {
                gathered.leave();
                continue;
            }
            let made = take(&mut results);
            is_cut = !matches!(&made, Ok(Made { described: Ok(_), closed: true, .. }));
            match made {
                Err(error) if status_of(&error).is_some_and(is_for_later) => gathered.leave(),
                made => gathered.answer(made),
            }
        }
    }

    /// The slot's reply cache knows a repetition; only a server that has lost the session does not, and then the outcome is
    /// uncertain. A verifier would cost the server a change of the times.
    async fn send_creations(self: &Arc<Self>, creations: &[&Creation]) -> Result<Results> {
        self.compound(Kind::once(Operation::Open), |operations| {
            creations.iter().for_each(|creation| put(operations, creation));
        })
        .await
    }

    /// How many files may be made in one COMPOUND of this session.
    fn creations_max(&self) -> usize {
        self.fore_channel.lock().as_ref().map_or(1, |channel| {
            let by_operations = channel.operations_max.saturating_sub(1) / OPERATIONS;
            let by_reply = channel.cached_response_bytes_max / RESULT_BYTES;
            by_operations.min(by_reply).max(1) as usize
        })
    }
}

fn put(operations: &mut Operations<'_, '_>, creation: &Creation) {
    let set = AttributeValues { mode: Some(creation.mode), ..AttributeValues::default() };
    let open = OpenArgs {
        sequence: 0,
        share_access: share::WRITE | share::WANT_NO_DELEGATION,
        share_deny: 0,
        owner: Mount::owner(creation.owner),
        create: Some(CreateHow::Guarded(set)),
        claim: OpenClaim::Null(creation.name.clone()),
    };
    operations
        .put_fh(&creation.directory)
        .put(Operation::Open, &open)
        .describe()
        .put(Operation::Close, &CloseArgs { sequence: 0, state_id: StateId::CURRENT });
}

/// Reads what became of the next file.
fn take(results: &mut Results) -> Result<Made> {
    let opened = read_open(results)?;
    let described = results.found();
    let closed = described.is_ok() && results.get::<StateId>(Operation::Close).is_ok();
    Ok(Made { opened, described, closed })
}

/// True when the server did not make the file, and will when it is asked again by itself.
fn is_for_later(status: Status) -> bool {
    matches!(status, Status::Delay | Status::Grace | Status::ReplyTooBig | Status::ReplyTooBigToCache)
}

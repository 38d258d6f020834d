//! Taking back what we held from a server that has restarted (RFC 8881 §8.4.2, §10.2.1): opens with their
//! delegations, many in one request and many requests at once, then locks, then RECLAIM_COMPLETE. What cannot
//! be had again is lost, alone.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use proto::nfs4::{
    DelegationType, ExistingLockOwner, LockArgs, LockResult, LockType, Locker, NewLockOwner, OpenArgs,
    OpenClaim, OpenResult, Operation, ReclaimCompleteArgs, Status,
};

use super::claims::{Claim, Holder, LockClaim};
use super::compound::status_of;
use super::core::Core;
use super::gate::Session;
use super::open::{granted_delegation, owner_of};
use super::send::Kind;
use super::state::{Delegation, LOST, ServerOpen, newest};
use crate::error::Result;
use crate::node::Node;

/// Requests under way while state is taken back; the session's slots bound them too.
const REQUESTS_MAX: usize = 64;
/// Opens or locks in one request, where the server takes that many operations.
const CLAIMS_PER_REQUEST_MAX: usize = 15;

impl Core {
    /// Takes back everything in a session that nobody else uses yet, and says so to the server.
    ///
    /// An error means that the session or the server is lost again: then all of it is to be done again.
    pub(super) async fn reclaim(self: &Arc<Self>, session: &Arc<Session>) -> Result<()> {
        let claims = self.claims(session.epoch());
        if !claims.is_empty() {
            tracing::info!(
                opens = claims.len(),
                "taking back from the server what was held before its restart"
            );
        }
        let pass = Pass { core: self, session, grace_is_over: AtomicBool::new(false) };
        let batch_len = self.claims_per_request();
        let mut locks = Vec::new();
        let mut batches = stream::iter(in_batches(claims, batch_len))
            .map(|batch| pass.open_all(batch))
            .buffer_unordered(REQUESTS_MAX);
        while let Some(done) = batches.try_next().await? {
            locks.extend(done.into_iter().filter_map(|(claim, outcome)| pass.settle(claim, outcome)));
        }
        drop(batches);
        stream::iter(in_batches(locks, batch_len))
            .map(|batch| pass.lock_all(batch))
            .buffer_unordered(REQUESTS_MAX)
            .try_collect::<()>()
            .await?;
        pass.complete().await
    }

    fn claims_per_request(&self) -> usize {
        let operations_max = self.fore_channel.lock().as_ref().map_or(0, |channel| channel.operations_max);
        // Two for each, behind SEQUENCE.
        (operations_max.saturating_sub(1) as usize / 2).clamp(1, CLAIMS_PER_REQUEST_MAX)
    }
}

/// What the server says to one of many in a request.
type Answer<T> = std::result::Result<T, Status>;

/// One attempt to take everything back.
struct Pass<'a> {
    core: &'a Arc<Core>,
    session: &'a Arc<Session>,
    /// The server has said so: nothing more is to be had.
    grace_is_over: AtomicBool,
}

impl Pass<'_> {
    /// Opens, one after the other in one request; those behind one that fails go into the next request.
    async fn open_all(&self, batch: Vec<Claim>) -> Result<Vec<(Claim, Answer<OpenResult>)>> {
        let mut waiting = VecDeque::from(batch);
        let mut done = Vec::with_capacity(waiting.len());
        while !waiting.is_empty() {
            if self.grace_is_over.load(Ordering::Relaxed) {
                done.extend(waiting.drain(..).map(|claim| (claim, Err(Status::NoGrace))));
                break;
            }
            let kind = Kind::repeatable(Operation::Open);
            let sent = self.core.compound_in_session(self.session, kind, |operations| {
                for claim in &waiting {
                    operations.put_fh(&claim.node.handle).put(Operation::Open, &open_args(claim));
                }
            });
            let mut results = sent.await?;
            while let Some(claim) = waiting.pop_front() {
                let opened =
                    results.done(Operation::PutFh).and_then(|()| results.get::<OpenResult>(Operation::Open));
                let refused = match self.refusal(opened) {
                    Ok(Ok(opened)) => {
                        done.push((claim, Ok(opened)));
                        continue;
                    }
                    Ok(Err(refused)) => refused,
                    Err(error) => return Err(error),
                };
                done.push((claim, Err(refused)));
                break;
            }
        }
        Ok(done)
    }

    /// Notes what became of an open. Returns the locks that hang on it, if it is ours again.
    fn settle(&self, claim: Claim, outcome: Answer<OpenResult>) -> Option<LockClaim> {
        let core = self.core;
        let epoch = self.session.epoch();
        match outcome {
            Ok(opened) => {
                if claim.delegation != DelegationType::None {
                    self.settle_delegation(&claim.node, &opened, epoch);
                }
                let open = ServerOpen { state_id: newest(opened.state_id), epoch, ..claim.open };
                if !claim.holder.take(&claim.node, open) {
                    // It was closed meanwhile, which the server could not be told.
                    core.spawn_close(&claim.node.handle, open);
                    return None;
                }
                let Holder::File(file) = claim.holder else { return None };
                LockClaim::of(file, open.state_id)
            }
            Err(status) => {
                tracing::warn!(%status, "an open was lost with the restart of the server");
                if claim.delegation != DelegationType::None {
                    core.lose_delegation(&claim.node);
                }
                match &claim.holder {
                    Holder::File(file) => {
                        if let Some(open) = &mut file.v4.lock().open {
                            open.epoch = LOST;
                        }
                        if file.v4.lock().lock.is_some() {
                            core.lose_locks(file);
                        }
                    }
                    Holder::Parked => {
                        claim.node.state.lock().parked.take_if(|parked| parked.owner == claim.open.owner);
                        core.owners.lock().give_back(claim.open.owner);
                    }
                    Holder::Nobody => core.owners.lock().give_back(claim.open.owner),
                }
                None
            }
        }
    }

    fn settle_delegation(&self, node: &Arc<Node>, opened: &OpenResult, epoch: u64) {
        let Some((state_id, write, recalled)) = granted_delegation(&opened.delegation) else {
            return self.core.lose_delegation(node);
        };
        let mut state = node.state.lock();
        match &mut state.delegation {
            Some(held) => {
                let again = held.returning;
                let returning = again || recalled;
                *held = Delegation { state_id, write, returning, ending: false, epoch, ..*held };
                drop(state);
                if recalled && !again {
                    self.core.spawn_give_back(Arc::clone(node));
                }
            }
            None => {
                drop(state);
                let granted = Instant::now();
                let unused = Delegation { state_id, write, returning: true, ending: true, epoch, granted };
                self.core.spawn_return_unused(node, unused);
            }
        }
    }

    /// Takes locks back, one of each file in one request, until there are no more.
    async fn lock_all(&self, mut files: Vec<LockClaim>) -> Result<()> {
        loop {
            files.retain(|file| !file.ranges.is_empty());
            if files.is_empty() {
                return Ok(());
            }
            let kind = Kind::repeatable(Operation::Lock);
            let sent = self.core.compound_in_session(self.session, kind, |operations| {
                for claim in &files {
                    if let Some(args) = lock_args(claim) {
                        operations.put_fh(&claim.file.node.handle).put(Operation::Lock, &args);
                    }
                }
            });
            let mut results = sent.await?;
            for claim in &mut files {
                let locked =
                    results.done(Operation::PutFh).and_then(|()| results.get::<LockResult>(Operation::Lock));
                match self.refusal(locked)? {
                    Ok(locked) => claim.granted(newest(locked.state_id)),
                    Err(status) => {
                        tracing::warn!(%status, "a lock was lost with the restart of the server");
                        claim.refused();
                        self.core.lose_locks(&claim.file);
                        break;
                    }
                }
            }
        }
    }

    /// Tells what the server refuses from what breaks the whole attempt.
    fn refusal<T>(&self, outcome: Result<T>) -> Result<Answer<T>> {
        match outcome {
            Ok(value) => Ok(Ok(value)),
            Err(error) => match status_of(&error) {
                Some(status) => {
                    if status == Status::NoGrace {
                        self.grace_is_over.store(true, Ordering::Relaxed);
                    }
                    Ok(Err(status))
                }
                None => Err(error),
            },
        }
    }

    /// Nothing is left to be reclaimed: from here on the server grants new state (RFC 8881 §18.51.3).
    async fn complete(&self) -> Result<()> {
        let kind = Kind::repeatable(Operation::ReclaimComplete);
        let args = ReclaimCompleteArgs { one_fs: false };
        let sent = self.core.compound_in_session(self.session, kind, |operations| {
            operations.put(Operation::ReclaimComplete, &args);
        });
        match sent.await?.done(Operation::ReclaimComplete) {
            Err(error) if status_of(&error) == Some(Status::CompleteAlready) => Ok(()),
            other => other,
        }
    }
}

fn open_args(claim: &Claim) -> OpenArgs {
    OpenArgs {
        sequence: 0,
        share_access: claim.open.access(),
        share_deny: 0,
        owner: owner_of(claim.open.owner),
        create: None,
        claim: OpenClaim::Previous(claim.delegation),
    }
}

fn lock_args(claim: &LockClaim) -> Option<LockArgs> {
    let held = claim.ranges.front()?;
    let locker = match claim.lock {
        Some(state_id) => Locker::Existing(ExistingLockOwner { state_id, sequence: 0 }),
        None => Locker::New(NewLockOwner {
            open_sequence: 0,
            open_state_id: claim.open,
            lock_sequence: 0,
            owner: owner_of(claim.file.id),
        }),
    };
    Some(LockArgs {
        kind: if held.exclusive { LockType::Write } else { LockType::Read },
        reclaim: true,
        offset: held.range.start,
        length: held.length(),
        locker,
    })
}

pub(super) fn in_batches<T>(all: Vec<T>, len_max: usize) -> Vec<Vec<T>> {
    let mut batches = Vec::with_capacity(all.len().div_ceil(len_max));
    let mut all = all.into_iter().peekable();
    while all.peek().is_some() {
        batches.push(all.by_ref().take(len_max).collect());
    }
    batches
}

//! The server says that it has revoked something (RFC 8881 §8.3, §8.5, §18.48): finds out what, and lets go
//! of it.

use std::sync::Arc;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use proto::nfs4::{Operation, StateId, Status, TestStateIdArgs, TestStateIdResult};

use super::compound::status_of;
use super::core::Core;
use super::reclaim::in_batches;
use super::send::Kind;
use super::state::{LOST, newest};
use crate::error::{Error, Result};
use crate::file::OpenFile;
use crate::node::Node;

/// Stateids that one request asks about.
const TESTED_PER_REQUEST_MAX: usize = 256;
/// Requests under way.
const REQUESTS_MAX: usize = 16;

/// Something that we hold.
#[derive(Debug)]
enum HeldState {
    Open(Arc<OpenFile>),
    Locks(Arc<OpenFile>),
    Parked(Arc<Node>),
    Delegation(Arc<Node>),
}

impl Core {
    /// Asks about everything that we hold, and gives up what is gone.
    pub(super) async fn check_states(self: &Arc<Self>) -> Result<()> {
        let epoch = self.session().await?.epoch();
        let held = self.all_held(epoch);
        let checked = stream::iter(in_batches(held, TESTED_PER_REQUEST_MAX))
            .map(|part| Arc::clone(self).check_part(part, epoch))
            .buffer_unordered(REQUESTS_MAX)
            .try_collect::<()>();
        match checked.await {
            // The server has restarted meanwhile: all of it was taken back or lost.
            Err(error) if status_of(&error) == Some(Status::StaleStateId) => {}
            other => other?,
        }
        self.lease.set_doubted(false);
        Ok(())
    }

    fn all_held(&self, epoch: u64) -> Vec<(StateId, HeldState)> {
        let Some(shared) = self.shared() else { return Vec::new() };
        let mut all = Vec::new();
        for node in shared.nodes.all() {
            let state = node.state.lock();
            for file in state.open_files() {
                let (open, lock) = {
                    let v4 = file.v4.lock();
                    (v4.open.filter(|open| open.epoch == epoch), v4.lock)
                };
                let Some(open) = open else { continue };
                all.extend(lock.map(|state_id| (state_id, HeldState::Locks(Arc::clone(&file)))));
                all.push((open.state_id, HeldState::Open(file)));
            }
            let parked = state.parked.filter(|open| open.epoch == epoch);
            all.extend(parked.map(|open| (open.state_id, HeldState::Parked(Arc::clone(&node)))));
            let delegation = state.delegation.filter(|delegation| delegation.epoch == epoch);
            all.extend(
                delegation.map(|held| (newest(held.state_id), HeldState::Delegation(Arc::clone(&node)))),
            );
        }
        all
    }

    async fn check_part(self: Arc<Self>, part: Vec<(StateId, HeldState)>, epoch: u64) -> Result<()> {
        let args = TestStateIdArgs { state_ids: part.iter().map(|(state_id, _)| *state_id).collect() };
        let kind = Kind::repeatable(Operation::TestStateId).in_epoch(epoch);
        let sent = self.compound(kind, |operations| {
            operations.put(Operation::TestStateId, &args);
        });
        let tested: TestStateIdResult = sent.await?.get(Operation::TestStateId)?;
        if tested.statuses.len() != part.len() {
            return Err(Error::misbehaved("TEST_STATEID", "not one status for each stateid"));
        }
        for ((state_id, held), status) in part.into_iter().zip(tested.statuses) {
            if status != Status::Ok {
                self.give_up(state_id, &held, status);
                self.free_state(state_id, epoch).await?;
            }
        }
        Ok(())
    }

    fn give_up(&self, state_id: StateId, held: &HeldState, status: Status) {
        tracing::warn!(%status, "the server has taken an open, a lock or a delegation away");
        match held {
            HeldState::Open(file) => {
                let mut v4 = file.v4.lock();
                if let Some(open) = v4.open.as_mut().filter(|open| open.state_id == state_id) {
                    open.epoch = LOST;
                }
            }
            HeldState::Locks(file) => {
                let lost = file.v4.lock().lock.take_if(|lock| *lock == state_id).is_some();
                if lost {
                    self.lose_locks(file);
                }
            }
            HeldState::Parked(node) => {
                let lost = node.state.lock().parked.take_if(|parked| parked.state_id == state_id);
                if let Some(lost) = lost {
                    self.owners.lock().give_back(lost.owner);
                }
            }
            HeldState::Delegation(node) => {
                let is_same = |held: &super::state::Delegation| held.state_id.other == state_id.other;
                let lost = node.state.lock().delegation.as_ref().is_some_and(is_same);
                if lost {
                    self.lose_delegation(node);
                }
            }
        }
    }
}

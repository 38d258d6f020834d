//! The grant of recallable state, and its reclaim after a restart of the server.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use proto::nfs4::{StateId, Status};

use super::grant::Grant;
use super::{FileUses, Kind};
use crate::client::StateKind;
use crate::file::FileState;
use crate::files::Shard;
use crate::{Client, FileId, Now, Range, ShareReservation, State};

/// A grant that a client asks for.
#[derive(Debug, Clone, Copy)]
pub struct GrantRequest {
    /// The file or directory.
    pub file: FileId,
    /// The kind.
    pub kind: &'static Kind,
    /// The range of the file; [`Range::ALL`] for a delegation.
    pub range: Range,
}

impl State {
    /// Grants recallable state to a client, or lets it reclaim what it held before a restart. `None` when
    /// the client has a grant of this class already, a use excludes it, the file was recalled within
    /// [`Limits::recall_pause_ms`](crate::Limits::recall_pause_ms), or a bound is reached.
    ///
    /// # Errors
    /// GRACE, NO_GRACE, RECLAIM_BAD and RECLAIM_CONFLICT around a restart.
    pub fn grant(
        &self,
        client: &Arc<Client>,
        request: &GrantRequest,
        reclaim: bool,
        now: Now,
    ) -> Result<Option<StateId>, Status> {
        let GrantRequest { file, kind, range } = *request;
        if !reclaim {
            self.check_new_state(client)?;
        } else if kind.is_reclaimable {
            self.begin_reclaim(client, file, now)?;
        } else {
            return Err(Status::NoGrace);
        }
        if !client.has_room(&self.limits) {
            return Ok(None);
        }
        self.files.with(file, |state, shard| {
            // Others may not deny what the holder may open without asking.
            let opens = ShareReservation::of_access(kind.opens);
            let is_denied = kind.opens != 0 && self.check_shares(state, opens, None, now).is_err();
            if reclaim && (is_denied || (kind.is_excluded)(&FileUses::new(state, range), client.id())) {
                return Err(Status::ReclaimConflict);
            }
            if is_denied { Ok(None) } else { Ok(self.grant_in(state, shard, client, request, now)) }
        })
    }

    /// Grants if no use excludes it, no change is under way, no recall was recent and no bound is reached.
    /// The caller has checked the grace period, the room and share reservations.
    pub(crate) fn grant_in(
        &self,
        state: &mut FileState,
        shard: &Shard,
        client: &Arc<Client>,
        request: &GrantRequest,
        now: Now,
    ) -> Option<StateId> {
        let GrantRequest { file, kind, range } = *request;
        let contended = state.recalled.is_some_and(|at| now.since_ms(at) <= self.limits.recall_pause_ms);
        let has_one = state.grants.of_holder((kind.class, client.id())).is_some();
        let full = self.files.grants.load(Ordering::Relaxed) >= self.limits.delegations_max;
        if contended || has_one || full || (kind.is_excluded)(&FileUses::new(state, range), client.id()) {
            return None;
        }
        shard.granted.fetch_add(1, Ordering::SeqCst);
        let other = self.files.next_other();
        let granted = shard.changing.load(Ordering::SeqCst) == 0
            && client.add_state(other, file, StateKind::Grant(kind.class)).is_ok();
        if !granted {
            shard.granted.fetch_sub(1, Ordering::SeqCst);
            return None;
        }
        self.files.grants.fetch_add(1, Ordering::Relaxed);
        let grant =
            Grant { other, client: Arc::clone(client), kind, range, recall: None, uses: Arc::default() };
        let state_id = grant.state_id();
        state.grants.insert(grant);
        Some(state_id)
    }
}

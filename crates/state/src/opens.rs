//! OPEN, OPEN_DOWNGRADE and CLOSE (RFC 8881 §9.7–9.9, §18.2, §18.16, §18.18).

use std::sync::Arc;

use bytes::Bytes;
use proto::nfs4::{StateId, Status, share};

use crate::client::{Client, StateKind, check_sequence, next_sequence};
use crate::file::FileState;
use crate::kept::own;
use crate::open_table::OpenState;
use crate::recallable::{GrantRequest, Usage};
use crate::{Blocked, DelegationKind, FileId, Now, Range, ShareReservation, State};

/// By what right a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenClaim {
    /// For the first time.
    New,
    /// It was open before the server restarted, with a delegation or without (CLAIM_PREVIOUS).
    Reclaim(Option<DelegationKind>),
}

/// What OPEN asks for, once the file is known.
#[derive(Debug, Clone)]
pub struct Open {
    /// The file.
    pub file: FileId,
    /// The open-owner.
    pub owner: Bytes,
    /// By what right.
    pub claim: OpenClaim,
    /// Bits of [`share`], without the delegation wanted.
    pub access: u32,
    /// Bits of [`share`].
    pub deny: u32,
    /// The delegation that may come with it: the callback path works and the client did not decline.
    pub delegate: Option<DelegationKind>,
    /// The client would keep the times as well under a write delegation (RFC 9754).
    pub timestamps: bool,
    /// Where a delegation is granted no open is needed (RFC 9754).
    pub delegation_alone: bool,
}

impl Open {
    fn shares(&self) -> ShareReservation {
        ShareReservation { access: self.access, deny: self.deny }
    }
}

/// A delegation that an OPEN has granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GrantedDelegation {
    /// Its stateid.
    pub state_id: StateId,
    /// Its kind.
    pub kind: DelegationKind,
}

/// The results of OPEN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opened {
    /// The open; the anonymous stateid where there is only a delegation.
    pub state_id: StateId,
    /// The delegation that comes with it.
    pub delegation: Option<GrantedDelegation>,
    /// Under the delegation the client keeps the times.
    pub timestamps: bool,
}

/// A place for an open that is about to be made: as long as it lives its client is neither at its bound nor
/// idle.
#[derive(Debug)]
pub struct Reservation(Arc<Client>);

impl Drop for Reservation {
    fn drop(&mut self) {
        self.0.unreserve();
    }
}

impl State {
    /// Makes sure that there will be room for an open, before something is done for it that cannot be undone.
    ///
    /// # Errors
    /// DELAY when the client has too much state.
    pub fn reserve(&self, client: &Arc<Client>) -> Result<Reservation, Status> {
        if client.reserve(&self.limits) { Ok(Reservation(Arc::clone(client))) } else { Err(Status::Delay) }
    }

    /// Opens a file, or adds to what the owner has opened of it.
    ///
    /// # Errors
    /// INVAL, SHARE_DENIED; GRACE, NO_GRACE, RECLAIM_BAD and RECLAIM_CONFLICT around a restart; DELAY when
    /// the client has too much state; delegations and lapsed clients in the way.
    pub fn open(&self, client: &Arc<Client>, open: &Open, now: Now) -> Result<Opened, Blocked> {
        if !client.has_room(&self.limits) {
            return Err(Status::Delay.into());
        }
        self.open_with_room(client, open, now)
    }

    /// As [`State::open`], in the place that was reserved.
    ///
    /// # Errors
    /// As [`State::open`]; there is room.
    pub fn open_reserved(&self, place: &Reservation, open: &Open, now: Now) -> Result<Opened, Blocked> {
        self.open_with_room(&place.0, open, now)
    }

    fn open_with_room(&self, client: &Arc<Client>, open: &Open, now: Now) -> Result<Opened, Blocked> {
        check_share(open.access, open.deny)?;
        match open.claim {
            OpenClaim::New => self.check_new_state(client)?,
            OpenClaim::Reclaim(_) => self.begin_reclaim(client, open.file, now)?,
        }
        let wanted = match open.claim {
            OpenClaim::New => open.delegate,
            OpenClaim::Reclaim(kind) => kind,
        };
        self.files.with(open.file, |state, shard| {
            // A reclaim of what its owner has reclaimed already is a repetition, by a client that lost its
            // session meanwhile.
            let repeated = match open.claim {
                OpenClaim::New => None,
                OpenClaim::Reclaim(_) => state.opens.of_owner(client.id(), &open.owner),
            };
            self.check_shares(state, open.shares(), repeated, now).map_err(|b| of_claim(b, open.claim))?;
            let usage = Usage::of_all(open.shares().is_exclusive());
            let obstacles = self.conflicts_in(open.file, state, Some(client.id()), &usage, now);
            if !obstacles.is_empty() {
                return Err(Blocked::By(obstacles));
            }
            let delegate = |state: &mut FileState| {
                let kind = wanted?;
                let timestamps = open.timestamps && kind == DelegationKind::Write;
                let granted = kind.of_file(timestamps);
                let request = GrantRequest { file: open.file, kind: granted, range: Range::ALL };
                let state_id = self.grant_in(state, shard, client, &request, now)?;
                let delegation = Some(GrantedDelegation { state_id, kind });
                Some(Opened { state_id: StateId::ANONYMOUS, delegation, timestamps })
            };
            if stands_alone(state, client, open)
                && let Some(delegated) = delegate(state)
            {
                return Ok(delegated);
            }
            let state_id = self.add_open(state, client, open)?;
            let delegated = delegate(state).map(|delegated| Opened { state_id, ..delegated });
            Ok(delegated.unwrap_or(Opened { state_id, delegation: None, timestamps: false }))
        })
    }

    fn add_open(&self, state: &mut FileState, client: &Arc<Client>, open: &Open) -> Result<StateId, Status> {
        if let Some(other) = state.opens.of_owner(client.id(), &open.owner) {
            let sequence = state.opens.change(&other, |mine| {
                mine.access |= open.access;
                mine.deny |= open.deny;
                if !mine.history.contains(&open.shares()) {
                    mine.history.push(open.shares());
                }
                mine.sequence = next_sequence(mine.sequence);
                Ok(mine.sequence)
            })?;
            return Ok(StateId { sequence, other });
        }
        let other = self.files.next_other();
        client.add_state(other, open.file, StateKind::Open)?;
        state.opens.insert(OpenState {
            other,
            sequence: 1,
            client: Arc::clone(client),
            owner: own(&open.owner),
            access: open.access,
            deny: open.deny,
            history: vec![open.shares()],
        });
        Ok(StateId { sequence: 1, other })
    }

    /// Gives up part of an open's access or denial.
    ///
    /// # Errors
    /// BAD_STATEID and its kin; INVAL for more than is held, or for what was never opened so (RFC 8881
    /// §18.18.3).
    pub fn open_downgrade(
        &self,
        client: &Client,
        id: &StateId,
        access: u32,
        deny: u32,
    ) -> Result<StateId, Status> {
        check_share(access, deny)?;
        let wanted = ShareReservation { access, deny };
        self.with_open(client, id, |open, _| {
            if !wanted.is_within(open.shares()) || !is_union(&open.history, wanted) {
                return Err(Status::Invalid);
            }
            open.access = access;
            open.deny = deny;
            open.history.retain(|opened| opened.is_within(wanted));
            open.sequence = next_sequence(open.sequence);
            Ok(StateId { sequence: open.sequence, other: open.other })
        })
    }

    /// Ends an open. Its owner's locks go with it when nobody else relies on them.
    ///
    /// # Errors
    /// BAD_STATEID and its kin; LOCKS_HELD while ranges are locked under it (RFC 8881 §18.2.3 lets the server
    /// choose).
    pub fn close(&self, client: &Client, id: &StateId) -> Result<(), Status> {
        let (file, kind) = client.find(id)?;
        self.close_found(client, file, kind, id)
    }

    /// As [`State::close`], of an open of this file.
    ///
    /// # Errors
    /// As [`State::close`]; BAD_STATEID for one of another file.
    pub fn close_of(&self, client: &Client, file: FileId, id: &StateId) -> Result<(), Status> {
        let (found, kind) = client.find(id)?;
        if found != file {
            return Err(Status::BadStateId);
        }
        self.close_found(client, file, kind, id)
    }

    fn close_found(
        &self,
        client: &Client,
        file: FileId,
        kind: StateKind,
        id: &StateId,
    ) -> Result<(), Status> {
        if kind != StateKind::Open {
            return Err(Status::BadStateId);
        }
        self.files.with(file, |state, _| {
            let open = state.opens.get(&id.other).ok_or(Status::BadStateId)?;
            check_sequence(id.sequence, open.sequence)?;
            if state.locks.is_pinned(&id.other) {
                return Err(Status::LocksHeld);
            }
            state.opens.remove(&id.other);
            client.remove_state(&id.other);
            for lock in state.locks.remove_of_open(&id.other) {
                client.remove_state(&lock);
            }
            Ok(())
        })
    }

    pub(crate) fn with_open<R>(
        &self,
        client: &Client,
        id: &StateId,
        work: impl FnOnce(&mut OpenState, FileId) -> Result<R, Status>,
    ) -> Result<R, Status> {
        let (file, kind) = client.find(id)?;
        if kind != StateKind::Open {
            return Err(Status::BadStateId);
        }
        self.files.with(file, |state, _| {
            state.opens.change(&id.other, |open| {
                check_sequence(id.sequence, open.sequence)?;
                work(open, file)
            })
        })
    }
}

/// True when a delegation may take the place of the open. One that denies others something would deny nobody
/// anything, and an open-owner's stateid that is there already has to be told (RFC 9754).
fn stands_alone(state: &FileState, client: &Client, open: &Open) -> bool {
    let is_open = state.opens.of_owner(client.id(), &open.owner).is_some();
    open.delegation_alone && open.claim == OpenClaim::New && open.deny == 0 && !is_open
}

/// RFC 8881 §18.16.3: some access, and no unknown bits.
fn check_share(access: u32, deny: u32) -> Result<(), Status> {
    if access == 0 || access & !share::BOTH != 0 || deny & !share::BOTH != 0 {
        return Err(Status::Invalid);
    }
    Ok(())
}

/// True when `wanted` is the union of some of the earlier opens.
fn is_union(history: &[ShareReservation], wanted: ShareReservation) -> bool {
    let within = history.iter().filter(|opened| opened.is_within(wanted));
    let union = within.fold(ShareReservation::of_access(0), |sum, opened| ShareReservation {
        access: sum.access | opened.access,
        deny: sum.deny | opened.deny,
    });
    union == wanted
}

/// A reclaim that somebody's state is in the way of has a status of its own (RFC 8881 §9.11).
fn of_claim(blocked: Blocked, claim: OpenClaim) -> Blocked {
    match (blocked, claim) {
        (Blocked::Status(Status::ShareDenied), OpenClaim::Reclaim(_)) => Status::ReclaimConflict.into(),
        (blocked, _) => blocked,
    }
}

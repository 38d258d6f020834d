//! What is to be taken back from a server that has restarted, and where it belongs.

use std::collections::VecDeque;
use std::sync::Arc;

use proto::nfs4::{DelegationType, StateId};

use super::core::Core;
use super::state::{LOST, ServerOpen};
use crate::file::OpenFile;
use crate::locks::HeldLock;
use crate::node::Node;

/// An open to be taken back.
#[derive(Debug)]
pub(super) struct Claim {
    pub(super) node: Arc<Node>,
    pub(super) holder: Holder,
    pub(super) open: ServerOpen,
    /// The delegation that comes with it.
    pub(super) delegation: DelegationType,
}

/// Whose open it is.
#[derive(Debug)]
pub(super) enum Holder {
    File(Arc<OpenFile>),
    /// It is kept with the object while a delegation lasts.
    Parked,
    /// There is none: it is needed to take back a delegation (RFC 8881 §10.2.1).
    Nobody,
}

impl Holder {
    /// The open is ours again. False when nobody wants it any more.
    pub(super) fn take(&self, node: &Node, open: ServerOpen) -> bool {
        let mut state = node.state.lock();
        match self {
            Self::File(file) => match &mut file.v4.lock().open {
                Some(held) if held.owner == open.owner => {
                    *held = open;
                    true
                }
                _ => false,
            },
            Self::Parked => match &mut state.parked {
                Some(held) if held.owner == open.owner => {
                    *held = open;
                    true
                }
                _ => false,
            },
            Self::Nobody if state.delegation.is_some() && state.parked.is_none() => {
                state.parked = Some(open);
                true
            }
            Self::Nobody => false,
        }
    }
}

/// Locks of a file to be taken back.
#[derive(Debug)]
pub(super) struct LockClaim {
    pub(super) file: Arc<OpenFile>,
    /// Not yet ours again.
    pub(super) ranges: VecDeque<HeldLock>,
    /// The open that they hang on.
    pub(super) open: StateId,
    /// The set of those that are ours again.
    pub(super) lock: Option<StateId>,
}

impl LockClaim {
    /// The locks that the server knew of before; `None` when it knew of none. That it knew of them stays
    /// noted until they are ours again: an attempt that fails half-way is followed by another.
    pub(super) fn of(file: Arc<OpenFile>, open: StateId) -> Option<Self> {
        let ranges: VecDeque<HeldLock> = {
            let state = file.node.state.lock();
            let mut v4 = file.v4.lock();
            v4.lock?;
            if state.locks.holds_nothing(file.id) {
                v4.lock = None;
            }
            state.locks.of(file.id).cloned().collect()
        };
        (!ranges.is_empty()).then_some(Self { file, ranges, open, lock: None })
    }

    /// The first of the ranges is ours again.
    pub(super) fn granted(&mut self, state_id: StateId) {
        self.ranges.pop_front();
        self.lock = Some(state_id);
        self.file.v4.lock().lock = self.lock;
    }

    /// What is left cannot be had again.
    pub(super) fn refused(&mut self) {
        self.ranges.clear();
        self.file.v4.lock().lock = self.lock;
    }
}

impl Core {
    /// Everything that we hold and the incarnation `epoch` of the client is to hold.
    pub(super) fn claims(&self, epoch: u64) -> Vec<Claim> {
        let Some(shared) = self.shared() else { return Vec::new() };
        shared.nodes.all().iter().flat_map(|node| self.claims_of(node, epoch)).collect()
    }

    fn claims_of(&self, node: &Arc<Node>, epoch: u64) -> Vec<Claim> {
        let state = node.state.lock();
        let claim =
            |holder, open| Claim { node: Arc::clone(node), holder, open, delegation: DelegationType::None };
        let is_held = |open: &ServerOpen| open.epoch != LOST;
        let mut claims = Vec::new();
        for file in state.open_files() {
            let open = file.v4.lock().open.filter(is_held);
            claims.extend(open.map(|open| claim(Holder::File(file), open)));
        }
        claims.extend(state.parked.filter(is_held).map(|open| claim(Holder::Parked, open)));
        // One that an attempt before has taken back is not granted twice.
        let Some(delegation) = state.delegation.filter(|held| held.epoch != epoch) else { return claims };
        let wanted = if delegation.write { DelegationType::Write } else { DelegationType::Read };
        match claims.iter_mut().find(|claim| !delegation.write || claim.open.write) {
            Some(claim) => claim.delegation = wanted,
            None => {
                let owner = self.owners.lock().take();
                let (state_id, write) = (delegation.state_id, delegation.write);
                let open = ServerOpen { owner, state_id, read: true, write, epoch: delegation.epoch };
                claims.push(Claim { delegation: wanted, ..claim(Holder::Nobody, open) });
            }
        }
        claims
    }
}

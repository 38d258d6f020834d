//! What excludes what, and what requests ask for.

use proto::nfs4::{StateId, share};

use crate::action::{Action, CELL_BYTES, Done, Life, Owner};
use crate::history::Holding;
use crate::wire::is_invented;

/// The stateid that a request relies on.
pub fn state_id(action: &Action) -> Option<StateId> {
    match action {
        Action::Close { state_id, .. }
        | Action::Unlock { state_id, .. }
        | Action::Return { state_id, .. }
        | Action::Read { state_id, .. }
        | Action::Write { state_id, .. } => Some(*state_id),
        Action::Lock { open, .. } => Some(*open),
        _ => None,
    }
}

/// The stateid that a request ends when it succeeds.
pub fn ended(action: &Action) -> Option<StateId> {
    match action {
        Action::Close { state_id, .. }
        | Action::Return { state_id, .. }
        | Action::Unlock { state_id, .. } => Some(*state_id),
        _ => None,
    }
}

/// The file that a request wants in a way that delegations are recalled for.
pub fn wants(action: &Action) -> Option<&str> {
    match action {
        Action::Open { file, .. } | Action::ReclaimOpen { file, .. } | Action::SetMode { file, .. } => {
            Some(file)
        }
        Action::Read { cell, state_id, .. } if *state_id == StateId::ANONYMOUS => Some(&cell.file),
        // Without an open, by NLM and NFSv3.
        Action::Lock { file, open, .. } if *open == StateId::ANONYMOUS => Some(file),
        Action::Write { cell, state_id, .. } if is_invented(state_id) => Some(&cell.file),
        _ => None,
    }
}

/// What a request without an open uses while it is carried out.
pub fn uses(action: &Action) -> Option<Holding> {
    match action {
        Action::Read { cell, state_id, .. } if *state_id == StateId::ANONYMOUS => {
            let (file, owner) = (cell.file.clone(), Owner::MAX);
            Some(Holding::Share { file, owner, access: share::READ, deny: 0 })
        }
        Action::SetMode { file, .. } => Some(Holding::Attributes { file: file.clone() }),
        _ => None,
    }
}

/// True for a request that takes back what was held before a restart.
pub fn reclaims(action: &Action) -> bool {
    matches!(action, Action::ReclaimOpen { .. } | Action::Lock { reclaim: true, .. })
}

/// What a success gives, with the stateids.
pub fn gained(action: &Action, done: &Done) -> Vec<(StateId, Holding)> {
    let mut gained = Vec::new();
    match action {
        Action::Open { file, owner, access, deny, .. }
        | Action::ReclaimOpen { file, owner, access, deny, .. } => {
            let share = Holding::Share {
                file: file.clone(),
                owner: *owner,
                access: access & share::BOTH,
                deny: *deny,
            };
            gained.extend(done.state_id.map(|id| (id, share)));
            let delegation = |(id, write)| (id, Holding::Delegation { file: file.clone(), write });
            gained.extend(done.delegation.map(delegation));
        }
        Action::Lock { file, owner, offset, exclusive, .. } => {
            let lock = Holding::Lock {
                file: file.clone(),
                owner: *owner,
                offset: *offset,
                length: CELL_BYTES,
                exclusive: *exclusive,
            };
            gained.extend(done.state_id.map(|id| (id, lock)));
        }
        _ => {}
    }
    gained
}

fn shares_conflict((a_access, a_deny): (u32, u32), (b_access, b_deny): (u32, u32)) -> bool {
    a_access & b_deny != 0 || b_access & a_deny != 0
}

/// RFC 8881 §9.7: a new OPEN is denied by what its own open-owner has open.
pub fn excludes_own((a_life, a): (Life, &Holding), (b_life, b): (Life, &Holding)) -> bool {
    use Holding::Share;
    let (
        Share { file: a_file, owner: a_owner, access: a_access, deny: a_deny },
        Share { file: b_file, owner: b_owner, access: b_access, deny: b_deny },
    ) = (a, b)
    else {
        return false;
    };
    (a_life, a_file, a_owner) == (b_life, b_file, b_owner)
        && shares_conflict((*a_access, *a_deny), (*b_access, *b_deny))
}

/// RFC 8881 §9.1, §9.7 and §10.4: what two cannot have together.
pub fn conflict((a_life, a): (Life, &Holding), (b_life, b): (Life, &Holding)) -> bool {
    use Holding::{Attributes, Delegation, Lock, Share};
    let other_machine = a_life.machine != b_life.machine;
    match (a, b) {
        (
            Share { file: a_file, owner: a_owner, access: a_access, deny: a_deny },
            Share { file: b_file, owner: b_owner, access: b_access, deny: b_deny },
        ) => {
            a_file == b_file
                && (other_machine || a_owner != b_owner)
                && shares_conflict((*a_access, *a_deny), (*b_access, *b_deny))
        }
        (
            Lock { file: a_file, owner: a_owner, offset: a_start, length: a_length, exclusive: a_exclusive },
            Lock { file: b_file, owner: b_owner, offset: b_start, length: b_length, exclusive: b_exclusive },
        ) => {
            a_file == b_file
                && (other_machine || a_owner != b_owner)
                && (*a_exclusive || *b_exclusive)
                && *a_start < b_start + b_length
                && *b_start < a_start + a_length
        }
        (Delegation { file: a_file, write: a_write }, Delegation { file: b_file, write: b_write }) => {
            a_file == b_file && other_machine && (*a_write || *b_write)
        }
        (Delegation { file: a_file, write }, Share { file: b_file, access, deny, .. })
        | (Share { file: b_file, access, deny, .. }, Delegation { file: a_file, write }) => {
            let writes = access & share::WRITE != 0 || deny & share::READ != 0;
            a_file == b_file && other_machine && (*write || writes)
        }
        (Attributes { file: a_file }, Delegation { file: b_file, .. }) => a_file == b_file && other_machine,
        _ => false,
    }
}

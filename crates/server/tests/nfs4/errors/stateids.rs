//! Stateids that are wrong, old or revoked, and those that do not allow what is asked.

use bytes::Bytes;
use proto::nfs4::attributes::AttributeValues;
use proto::nfs4::*;
use state::Limits;

use super::arguments::{lock, put, root, set, test_lock, unlock, write};
use super::lab::{Lab, Options};
use super::ledger::{Ledger, Step, step};
use crate::peer::{Peer, open, size_only};

/// A stateid that nobody was given.
const FOREIGN: StateId = StateId { sequence: 1, other: StateOther([5; 12]) };

pub fn run(ledger: &Ledger) {
    wrong_stateids(ledger);
    old_stateids(ledger);
    revoked_delegations(ledger);
    revoked_by_order(ledger);
    open_modes(ledger);
    shares(ledger);
    locks(ledger);
    too_many_ranges(ledger);
    downgrades(ledger);
}

fn resize(state_id: StateId) -> Step {
    set(state_id, &AttributeValues { size: Some(1), ..Default::default() })
}

fn read(state_id: StateId) -> Step {
    step(Operation::Read, &ReadArgs { state_id, offset: 0, count: 1 })
}

fn downgrade(state_id: StateId, share_access: u32, share_deny: u32) -> Step {
    let arguments = OpenDowngradeArgs { state_id, sequence: 0, share_access, share_deny };
    step(Operation::OpenDowngrade, &arguments)
}

fn open_delegated(state_id: StateId) -> Step {
    let claim = OpenClaim::DelegateCurrentHandle(state_id);
    step(Operation::Open, &OpenArgs { claim, ..open("", share::READ, None) })
}

fn open_delegated_by_name(state_id: StateId) -> Step {
    let claim = OpenClaim::DelegateCurrent(DelegateCurrentClaim { state_id, name: Bytes::from_static(b"g") });
    step(Operation::Open, &OpenArgs { claim, ..open("", share::READ, None) })
}

fn lock_again(state_id: StateId) -> Step {
    let locker = Locker::Existing(ExistingLockOwner { state_id, sequence: 0 });
    step(Operation::Lock, &LockArgs { locker, ..lock(state_id, "", 40, 1) })
}

/// All operations under a stateid of this file.
fn under(object: &FileHandle, id: StateId) -> Vec<Vec<Step>> {
    [
        step(Operation::Close, &CloseArgs { sequence: 0, state_id: id }),
        step(Operation::DelegReturn, &DelegReturnArgs { state_id: id }),
        step(Operation::FreeStateId, &FreeStateIdArgs { state_id: id }),
        step(Operation::Lock, &lock(id, "new", 40, 1)),
        lock_again(id),
        step(Operation::LockU, &unlock(id, 0, 1)),
        open_delegated(id),
        downgrade(id, share::READ, 0),
        read(id),
        step(Operation::Write, &write(id, 0)),
        resize(id),
    ]
    .map(|last| vec![put(object), last])
    .into()
}

fn wrong_stateids(ledger: &Ledger) {
    let mut lab = Lab::new(ledger);
    let scene = lab.scene.clone();
    for id in [FOREIGN, StateId::CURRENT, StateId::INVALID] {
        let looks = step(Operation::GetAttr, &GetAttrArgs { wanted: size_only() });
        let gives_back = step(Operation::DelegReturn, &DelegReturnArgs { state_id: id });
        let results = lab.run(&[put(&scene.file), looks, gives_back]);
        assert_eq!((results.count, results.status), (3, Status::AccessDenied), "GETATTR is refused");
        for steps in under(&scene.file, id) {
            lab.expect(&steps, Status::BadStateId);
        }
    }
    lab.expect(&[root(), open_delegated_by_name(FOREIGN)], Status::BadStateId);
    // A stateid of another file.
    for steps in under(&scene.locked, scene.delegation) {
        lab.run(&steps);
    }
}

/// `id`, with a sequence before that of its newest.
fn older(id: StateId) -> StateId {
    StateId { sequence: id.sequence.wrapping_sub(1), ..id }
}

fn old_stateids(ledger: &Ledger) {
    let mut lab = Lab::new(ledger);
    let scene = lab.scene.clone();
    // The open of `f` is at its second, as is the lock-owner without locks; the other locks once more.
    let again = [put(&scene.locked), lock_again(scene.lock)];
    lab.expect(&again, Status::Ok);
    let old = StateId { sequence: 1, ..scene.open };
    assert_eq!(older(scene.open), old);
    for last in [
        step(Operation::Close, &CloseArgs { sequence: 0, state_id: old }),
        downgrade(old, share::READ, 0),
        step(Operation::Lock, &lock(old, "new", 40, 1)),
        read(old),
        step(Operation::Write, &write(old, 0)),
        resize(old),
    ] {
        lab.expect(&[put(&scene.file), last], Status::OldStateId);
    }
    for last in [lock_again(scene.lock), step(Operation::LockU, &unlock(scene.lock, 0, 1))] {
        lab.expect(&[put(&scene.locked), last], Status::OldStateId);
    }
    let free = step(Operation::FreeStateId, &FreeStateIdArgs { state_id: older(scene.idle_lock) });
    lab.expect(&[free], Status::OldStateId);
    // That of a delegation stays at one; before that, on the circle, is the largest.
    let old = StateId { sequence: u32::MAX, ..scene.delegation };
    for last in [step(Operation::DelegReturn, &DelegReturnArgs { state_id: old }), open_delegated(old)] {
        lab.expect(&[put(&scene.delegated), last], Status::OldStateId);
    }
}

/// A delegation that is not returned in time is revoked.
fn revoked_delegations(ledger: &Ledger) {
    let mut lab = Lab::new(ledger);
    let scene = lab.scene.clone();
    let mut other = lab.client(7, 0);
    let write = open("g", share::WRITE | share::WANT_NO_DELEGATION, None);
    let waiting = other.begin(|c| {
        c.push(Operation::PutRootFh, &()).push(Operation::Open, &write);
    });
    drop(futures_util::FutureExt::now_or_never(waiting));
    lab.server.world.run();
    lab.server.at(89_000);
    lab.expect(&[root()], Status::Ok);
    lab.server.at(120_000);
    for last in [
        step(Operation::DelegReturn, &DelegReturnArgs { state_id: scene.delegation }),
        open_delegated(scene.delegation),
        read(scene.delegation),
        step(Operation::Write, &super::arguments::write(scene.delegation, 0)),
        resize(scene.delegation),
    ] {
        lab.expect(&[put(&scene.delegated), last], Status::DelegationRevoked);
    }
}

/// An administrator revokes everything that the client holds.
fn revoked_by_order(ledger: &Ledger) {
    let mut lab = Lab::new(ledger);
    let scene = lab.scene.clone();
    let held = lab.server.state.files_of(&lab.server.state.client(lab.peer.client).unwrap());
    let revoking = lab.server.recaller.revoke_client(lab.peer.client);
    let revoked = futures_util::FutureExt::now_or_never(revoking).unwrap().unwrap().unwrap();
    assert_eq!((held.len(), revoked.opens, revoked.locks, revoked.delegations), (3, 3, 2, 1));
    for (object, id) in [
        (&scene.file, scene.open),
        (&scene.locked, scene.locked_open),
        (&scene.locked, scene.lock),
        (&scene.delegated, scene.delegation),
    ] {
        for steps in
            under(object, id).into_iter().filter(|steps| steps[1].operation != Operation::FreeStateId)
        {
            lab.expect(&steps, Status::AdminRevoked);
        }
    }
    lab.expect(&[root(), open_delegated_by_name(scene.delegation)], Status::AdminRevoked);
    for id in [scene.open, scene.locked_open, scene.lock, scene.idle_lock, scene.delegation] {
        let free = step(Operation::FreeStateId, &FreeStateIdArgs { state_id: id });
        lab.expect(std::slice::from_ref(&free), Status::Ok);
        lab.expect(&[free], Status::BadStateId);
    }
}

/// Opens a file of the root for a peer.
fn open_file(ledger: &Ledger, peer: &mut Peer, name: &str, access: u32, deny: u32) -> StateId {
    let access = access | share::WANT_NO_DELEGATION;
    let arguments = OpenArgs { share_deny: deny, ..open(name, access, None) };
    let mut results = ledger.run(peer, &[root(), step(Operation::Open, &arguments)]).sequenced();
    results.ok(Operation::PutRootFh);
    results.body::<OpenResult>(Operation::Open).state_id
}

fn open_modes(ledger: &Ledger) {
    let mut lab = Lab::new(ledger);
    let scene = lab.scene.clone();
    let reading = open_file(ledger, &mut lab.peer, "r", share::READ, 0);
    let file = lab.handle("r");
    for last in [
        step(Operation::Write, &write(reading, 0)),
        resize(reading),
        step(Operation::Lock, &lock(reading, "me", 0, 1)),
    ] {
        lab.expect(&[put(&file), last], Status::OpenMode);
    }
    lab.expect(
        &[put(&scene.delegated), step(Operation::Write, &write(scene.delegation, 0))],
        Status::OpenMode,
    );
    let mut lab = Lab::new(ledger);
    let writing = open_file(ledger, &mut lab.peer, "r", share::WRITE, 0);
    lab.run(&[put(&file), read(writing)]);
}

fn shares(ledger: &Ledger) {
    let mut lab = Lab::new(ledger);
    let mut other = lab.client(7, 0);
    open_file(ledger, &mut other, "r", share::READ, share::BOTH);
    let file = lab.handle("r");
    lab.expect(&[root(), step(Operation::Open, &open("r", share::READ, None))], Status::ShareDenied);
    for last in [
        read(StateId::ANONYMOUS),
        step(Operation::Write, &write(StateId::ANONYMOUS, 0)),
        resize(StateId::ANONYMOUS),
    ] {
        lab.expect(&[put(&file), last], Status::Locked);
    }
    for wrong in [open("f", 0, None), open("f", 8, None)] {
        lab.expect(&[root(), step(Operation::Open, &wrong)], Status::Invalid);
    }
}

fn locks(ledger: &Ledger) {
    let mut lab = Lab::new(ledger);
    let scene = lab.scene.clone();
    let file = put(&scene.locked);
    let taken = step(Operation::Lock, &lock(scene.locked_open, "somebody", 5, 1));
    lab.expect(&[file.clone(), taken], Status::Denied);
    lab.expect(&[file.clone(), step(Operation::LockT, &test_lock("somebody", 5, 1))], Status::Denied);
    let close = step(Operation::Close, &CloseArgs { sequence: 0, state_id: scene.locked_open });
    lab.expect(&[file, close], Status::LocksHeld);
    lab.expect(&[step(Operation::FreeStateId, &FreeStateIdArgs { state_id: scene.lock })], Status::LocksHeld);
}

/// A full table has no room for a split lock, but lets go of a whole one.
fn too_many_ranges(ledger: &Ledger) {
    let limits = Limits { ranges_per_file_max: 3, ..Limits::default() };
    let mut lab = Lab::with(ledger, &Options { limits, ..Options::default() });
    let scene = lab.scene.clone();
    let file = put(&scene.locked);
    let another = |offset| step(Operation::Lock, &lock(scene.locked_open, "another", offset, 1));
    for (offset, status) in [(50, Status::Ok), (60, Status::Ok), (70, Status::Delay)] {
        lab.expect(&[file.clone(), another(offset)], status);
    }
    let release = |offset, length| step(Operation::LockU, &unlock(scene.lock, offset, length));
    lab.expect(&[file.clone(), release(5, 1)], Status::Delay);
    lab.expect(&[file, release(0, 10)], Status::Ok);
}

fn downgrades(ledger: &Ledger) {
    let mut lab = Lab::new(ledger);
    let (file, open) = (put(&lab.scene.file), lab.scene.open);
    for (access, deny) in [(0, 0), (8, 0), (share::BOTH, share::READ), (share::WRITE, 0)] {
        lab.expect(&[file.clone(), downgrade(open, access, deny)], Status::Invalid);
    }
}

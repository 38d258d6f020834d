//! The operations of minor version 2 and of RFC 8276: what they refuse.

use proto::nfs4::attributes::AttributeValues;
use proto::nfs4::*;

use super::arguments::{bytes, clone, copy, put, root, set, set_xattr};
use super::lab::{Lab, Options};
use super::ledger::{Ledger, Step, step};
use crate::peer::{Peer, open};

/// A stateid that nobody was given.
const FOREIGN: StateId = StateId { sequence: 1, other: StateOther([5; 12]) };

pub fn run(ledger: &Ledger) {
    kinds_of_objects(ledger);
    stateids(ledger);
    revoked(ledger);
    revoked_by_order(ledger);
    modes_and_shares(ledger);
    grace(ledger);
    ranges(ledger);
    read_only(ledger);
    names(ledger);
    users(ledger);
    no_xattrs(ledger);
    no_room(ledger);
}

fn allocate(operation: Operation, state_id: StateId) -> Step {
    step(operation, &AllocateArgs { state_id, offset: 0, length: 1 })
}

/// All operations that take a stateid, under this one: on the current file, those with two files from `k` to
/// it.
fn under(lab: &Lab<'_>, object: &FileHandle, id: StateId) -> Vec<Vec<Step>> {
    let between = |last: Step| vec![put(&lab.scene.locked), step(Operation::SaveFh, &()), put(object), last];
    let source = lab.scene.locked_open;
    let hints = Default::default();
    vec![
        vec![put(object), allocate(Operation::Allocate, id)],
        vec![put(object), allocate(Operation::Deallocate, id)],
        between(step(Operation::Copy, &copy((source, id), (0, 0, 1)))),
        between(step(Operation::Clone, &clone((source, id), (0, 0, 0)))),
        vec![
            put(object),
            step(Operation::Seek, &SeekArgs { state_id: id, offset: 0, what: DataContent::Data }),
        ],
        vec![put(object), step(Operation::ReadPlus, &ReadPlusArgs { state_id: id, offset: 0, count: 1 })],
        vec![
            put(object),
            step(Operation::IoAdvise, &IoAdviseArgs { state_id: id, offset: 0, count: 0, hints }),
        ],
    ]
}

fn kinds_of_objects(ledger: &Ledger) {
    let mut lab = Lab::new(ledger);
    let scene = lab.scene.clone();
    for (object, status) in [
        (&scene.directory, Status::IsDirectory),
        (&scene.link, Status::Symlink),
        (&scene.pipe, Status::WrongType),
    ] {
        for steps in under(&lab, object, StateId::ANONYMOUS) {
            let any = [Operation::Seek, Operation::ReadPlus, Operation::IoAdvise];
            let is_told = any.contains(&steps.last().unwrap().operation);
            lab.expect(&steps, if is_told { status } else { Status::WrongType });
        }
    }
    let get = step(Operation::GetXattr, &GetXattrArgs { name: bytes("a") });
    let list = step(Operation::ListXattrs, &ListXattrsArgs { cookie: 0, count_max: 100 });
    let remove = step(Operation::RemoveXattr, &RemoveXattrArgs { name: bytes("a") });
    for last in [get, set_xattr("a", 1), list, remove] {
        lab.expect(&[put(&scene.pipe), last], Status::WrongType);
    }
}

fn stateids(ledger: &Ledger) {
    let mut lab = Lab::new(ledger);
    let scene = lab.scene.clone();
    for id in [FOREIGN, StateId::CURRENT, StateId::INVALID] {
        for steps in under(&lab, &scene.file, id) {
            let is_advice = steps.last().unwrap().operation == Operation::IoAdvise;
            // All zeros or ones in it are nobody's, and advice is nobody's business.
            if !(is_advice && id == StateId::INVALID) {
                lab.expect(&steps, Status::BadStateId);
            }
        }
    }
    let old = StateId { sequence: 1, ..scene.open };
    for steps in under(&lab, &scene.file, old) {
        lab.run(&steps);
    }
}

fn revoked(ledger: &Ledger) {
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
    for steps in under(&lab, &scene.delegated, scene.delegation) {
        lab.expect(&steps, Status::DelegationRevoked);
    }
}

fn revoked_by_order(ledger: &Ledger) {
    let mut lab = Lab::new(ledger);
    let scene = lab.scene.clone();
    let revoking = lab.server.recaller.revoke_client(lab.peer.client);
    futures_util::FutureExt::now_or_never(revoking).unwrap().unwrap().unwrap();
    for (object, id) in [(&scene.file, scene.open), (&scene.delegated, scene.delegation)] {
        for steps in under(&lab, object, id) {
            lab.expect(&steps, Status::AdminRevoked);
        }
    }
}

/// Opens a file of the root for a peer.
fn opened(ledger: &Ledger, peer: &mut Peer, access: u32, deny: u32) -> StateId {
    let access = access | share::WANT_NO_DELEGATION;
    let arguments = OpenArgs { share_deny: deny, ..open("r", access, None) };
    let mut results = ledger.run(peer, &[root(), step(Operation::Open, &arguments)]).sequenced();
    results.ok(Operation::PutRootFh);
    results.body::<OpenResult>(Operation::Open).state_id
}

fn modes_and_shares(ledger: &Ledger) {
    let mut lab = Lab::new(ledger);
    let reading = opened(ledger, &mut lab.peer, share::READ, 0);
    let file = lab.handle("r");
    for steps in under(&lab, &file, reading) {
        let writes = [Operation::Allocate, Operation::Deallocate, Operation::Copy, Operation::Clone];
        let is_write = writes.contains(&steps.last().unwrap().operation);
        lab.expect(&steps, if is_write { Status::OpenMode } else { Status::Ok });
    }
    let mut lab = Lab::new(ledger);
    let mut other = lab.client(7, 0);
    opened(ledger, &mut other, share::READ, share::BOTH);
    let file = lab.handle("r");
    for steps in under(&lab, &file, StateId::ANONYMOUS) {
        let is_advice = steps.last().unwrap().operation == Operation::IoAdvise;
        lab.expect(&steps, if is_advice { Status::Ok } else { Status::Locked });
    }
}

fn grace(ledger: &Ledger) {
    let mut lab = Lab::with(ledger, &Options { known: vec!["client 5"], ..Options::default() });
    let file = lab.scene.file.clone();
    for steps in under(&lab, &file, StateId::ANONYMOUS) {
        let is_advice = steps.last().unwrap().operation == Operation::IoAdvise;
        lab.expect(&steps, if is_advice { Status::Ok } else { Status::Grace });
    }
    for last in [set_xattr("a", 1), step(Operation::RemoveXattr, &RemoveXattrArgs { name: bytes("a") })] {
        lab.expect(&[put(&file), last], Status::Delay);
    }
}

fn ranges(ledger: &Ledger) {
    let mut lab = Lab::new(ledger);
    let scene = lab.scene.clone();
    let (file, state_id) = (put(&scene.file), scene.open);
    for (offset, length, status) in
        [(0, 0, Status::Invalid), (u64::MAX, 2, Status::Invalid), (1 << 63, 1, Status::FileTooBig)]
    {
        for operation in [Operation::Allocate, Operation::Deallocate] {
            let range = step(operation, &AllocateArgs { state_id, offset, length });
            lab.expect(&[file.clone(), range], status);
        }
    }
    let beyond = SeekArgs { state_id, offset: 4, what: DataContent::Data };
    lab.expect(&[file.clone(), step(Operation::Seek, &beyond)], Status::NoDevice);
    let save = step(Operation::SaveFh, &());
    let ids = (scene.locked_open, state_id);
    let between = |last: Step| [put(&scene.locked), save.clone(), file.clone(), last];
    lab.expect(&between(step(Operation::Copy, &copy(ids, (0, 0, 5)))), Status::Invalid);
    lab.expect(&between(step(Operation::Copy, &copy(ids, (0, u64::MAX, 4)))), Status::FileTooBig);
    lab.expect(&between(step(Operation::Clone, &clone(ids, (1, 0, 0)))), Status::Invalid);
    lab.expect(&between(step(Operation::Clone, &clone(ids, (0, 1 << 63, 0)))), Status::FileTooBig);
    let location = NetLocation::Name(bytes("elsewhere"));
    let remote = CopyArgs { sources: vec![location], ..copy(ids, (0, 0, 4)) };
    lab.expect(&between(step(Operation::Copy, &remote)), Status::PartnerNotSupported);
    let ids = (scene.locked_open, StateId::ANONYMOUS);
    let elsewhere =
        [put(&scene.locked), save, put(&lab.elsewhere), step(Operation::Clone, &clone(ids, (0, 0, 0)))];
    lab.expect(&elsewhere, Status::CrossDevice);
}

fn read_only(ledger: &Ledger) {
    let mut lab = Lab::with(ledger, &Options { read_only: true, ..Options::default() });
    let file = lab.scene.file.clone();
    for steps in under(&lab, &file, StateId::ANONYMOUS).into_iter().take(4) {
        lab.expect(&steps, Status::ReadOnly);
    }
    for last in [set_xattr("a", 1), step(Operation::RemoveXattr, &RemoveXattrArgs { name: bytes("a") })] {
        lab.expect(&[put(&file), last], Status::ReadOnly);
    }
}

fn names(ledger: &Ledger) {
    let mut lab = Lab::new(ledger);
    let file = put(&lab.scene.file);
    let long = "n".repeat(251);
    for (name, status) in
        [("", Status::Invalid), ("a\0b", Status::BadCharacter), (&long, Status::NameTooLong)]
    {
        let get = step(Operation::GetXattr, &GetXattrArgs { name: bytes(name) });
        let remove = step(Operation::RemoveXattr, &RemoveXattrArgs { name: bytes(name) });
        lab.expect(&[file.clone(), set_xattr(name, 1)], status);
        lab.expect(&[file.clone(), remove], status);
        let of_get = if status == Status::BadCharacter { Status::Invalid } else { status };
        lab.expect(&[file.clone(), get], of_get);
    }
    lab.expect(&[file.clone(), set_xattr("a", 65_537)], Status::XattrTooBig);
    lab.expect(&[file.clone(), set_xattr("a", 1)], Status::Ok);
    let again = SetXattrArgs { option: SetXattrOption::Create, name: bytes("a"), value: bytes("") };
    lab.expect(&[file.clone(), step(Operation::SetXattr, &again)], Status::Exists);
    let other = SetXattrArgs { option: SetXattrOption::Replace, name: bytes("b"), value: bytes("") };
    lab.expect(&[file.clone(), step(Operation::SetXattr, &other)], Status::NoXattr);
    let list = ListXattrsArgs { cookie: 0, count_max: 20 };
    lab.expect(&[file, step(Operation::ListXattrs, &list)], Status::TooSmall);
}

/// Files are those of user 0 alone.
fn users(ledger: &Ledger) {
    let mut lab = Lab::new(ledger);
    let file = lab.scene.file.clone();
    let closed = AttributeValues { mode: Some(0o600), ..Default::default() };
    lab.expect(&[put(&file), set(StateId::ANONYMOUS, &closed)], Status::Ok);
    let mut user = lab.client(7, 1000);
    for steps in under(&lab, &file, StateId::ANONYMOUS) {
        // Of source and target the user is nobody.
        ledger.run(&mut user, &steps);
    }
    for operation in [Operation::GetXattr, Operation::ListXattrs, Operation::RemoveXattr] {
        let last = lab.scene.good(operation).pop().unwrap();
        assert_eq!(ledger.run(&mut user, &[put(&file), last]).status, Status::AccessDenied, "{operation}");
    }
    assert_eq!(ledger.run(&mut user, &[put(&file), set_xattr("a", 1)]).status, Status::AccessDenied);
}

fn no_xattrs(ledger: &Ledger) {
    for operation in [Operation::GetXattr, Operation::SetXattr, Operation::ListXattrs, Operation::RemoveXattr]
    {
        let mut lab = Lab::new(ledger);
        lab.trigger.take_xattrs_away();
        let last = lab.scene.good(operation).pop().unwrap();
        lab.expect(&[put(&lab.scene.file.clone()), last], Status::NotSupported);
    }
}

fn no_room(ledger: &Ledger) {
    let mut lab = Lab::with(ledger, &Options { bytes_max: Some(64 << 10), ..Options::default() });
    let (file, state_id) = (put(&lab.scene.file), lab.scene.open);
    let much = AllocateArgs { state_id, offset: 0, length: 1 << 20 };
    lab.expect(&[file.clone(), step(Operation::Allocate, &much)], Status::NoSpace);
    lab.expect(&[file, set_xattr("a", 60_000)], Status::NoSpace);
}

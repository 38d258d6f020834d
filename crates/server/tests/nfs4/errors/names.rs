//! Bad names, and objects of the wrong kind.

use bytes::Bytes;
use proto::nfs4::attributes::AttributeValues;
use proto::nfs4::*;

use super::arguments::{create, lock, put, read_dir, root, set, test_lock, unlock, write};
use super::lab::Lab;
use super::ledger::{Ledger, Step, step};
use crate::peer::open;

pub fn run(ledger: &Ledger) {
    names(ledger);
    taken_and_missing_names(ledger);
    every_operation_meets_every_kind(ledger);
    opens_by_name_meet_every_kind(ledger);
    another_file_system(ledger);
    handles(ledger);
    ranges_and_counts(ledger);
}

/// The operations that take a name, with this one.
fn naming(name: &[u8]) -> Vec<Vec<Step>> {
    let bytes = Bytes::copy_from_slice(name);
    let values = AttributeValues::default();
    let opening = OpenArgs { claim: OpenClaim::Null(bytes.clone()), ..open("", share::READ, None) };
    let creating =
        OpenArgs { create: Some(Box::new(CreateHow::Unchecked(values.clone()))), ..opening.clone() };
    let save = step(Operation::SaveFh, &());
    let (old_name, new_name) = (Bytes::from_static(b"r"), bytes.clone());
    vec![
        vec![root(), create(CreateType::Directory, name, &values)],
        vec![root(), lookup_bytes(&bytes), save.clone(), root(), step(Operation::GetFh, &())],
        vec![root(), lookup_bytes(&Bytes::from_static(b"f")), save.clone(), root(), link(&bytes)],
        vec![root(), step(Operation::Open, &opening)],
        vec![root(), step(Operation::Open, &creating)],
        vec![root(), step(Operation::Remove, &RemoveArgs { target: bytes.clone() })],
        vec![root(), save.clone(), step(Operation::Rename, &RenameArgs { old_name, new_name })],
        vec![
            root(),
            save,
            step(
                Operation::Rename,
                &RenameArgs { old_name: bytes.clone(), new_name: Bytes::from_static(b"x") },
            ),
        ],
        vec![root(), step(Operation::SecInfo, &SecInfoArgs { name: bytes })],
    ]
}

fn lookup_bytes(name: &Bytes) -> Step {
    step(Operation::Lookup, &LookupArgs { name: name.clone() })
}

fn link(name: &Bytes) -> Step {
    step(Operation::Link, &LinkArgs { new_name: name.clone() })
}

fn names(ledger: &Ledger) {
    let long = vec![b'n'; 256];
    let cases: [(&[u8], Status); 6] = [
        (b"", Status::Invalid),
        (b".", Status::BadName),
        (b"..", Status::BadName),
        (b"a/b", Status::BadName),
        (b"a\0b", Status::BadCharacter),
        (&long, Status::NameTooLong),
    ];
    let mut lab = Lab::new(ledger);
    for (name, status) in cases {
        for steps in naming(name) {
            let results = lab.run(&steps);
            assert_eq!(results.status, status, "{:?}", steps.last().unwrap().operation);
        }
    }
}

fn taken_and_missing_names(ledger: &Ledger) {
    let mut lab = Lab::new(ledger);
    let guarded = open("f", share::READ, Some(CreateHow::Guarded(AttributeValues::default())));
    lab.expect(&[root(), step(Operation::Open, &guarded)], Status::Exists);
    lab.expect(&[root(), create(CreateType::Fifo, b"f", &AttributeValues::default())], Status::Exists);
    lab.expect(&[root(), step(Operation::LookupParent, &())], Status::NoEntry);
    lab.expect(
        &[root(), step(Operation::SecInfoNoName, &SecInfoNoNameArgs { style: SecInfoStyle::Parent })],
        Status::NoEntry,
    );
    for steps in naming(b"nothing") {
        lab.run(&steps);
    }
    for (old, new) in [("f", "d"), ("d", "f")] {
        let [old_name, new_name] = [old, new].map(|name| Bytes::from_static(name.as_bytes()));
        let renamed = step(Operation::Rename, &RenameArgs { old_name, new_name });
        lab.expect(&[root(), step(Operation::SaveFh, &()), renamed], Status::Exists);
    }
    let other = CreateType::Other(1);
    lab.expect(&[root(), create(other, b"x", &AttributeValues::default())], Status::BadType);
    lab.expect(
        &[root(), create(CreateType::Symlink(Bytes::new()), b"x", &AttributeValues::default())],
        Status::Invalid,
    );
}

/// Each file handle that an operation is given is of each kind in turn.
fn every_operation_meets_every_kind(ledger: &Ledger) {
    for operation in ledger.operations().into_iter().filter(|o| *o != Operation::Sequence) {
        for kind in 0..4 {
            for index in 0.. {
                let mut lab = Lab::new(ledger);
                let mut steps = lab.scene.good(operation);
                let scene = &lab.scene;
                let object = [&scene.file, &scene.directory, &scene.link, &scene.pipe][kind];
                let sets = [Operation::PutFh, Operation::PutRootFh];
                let Some(replaced) = steps.iter_mut().filter(|s| sets.contains(&s.operation)).nth(index)
                else {
                    break;
                };
                *replaced = put(object);
                lab.run(&steps);
            }
        }
    }
    let mut lab = Lab::new(ledger);
    let cut = AttributeValues { size: Some(0), ..Default::default() };
    let scene = lab.scene.clone();
    for object in [&scene.directory, &scene.link, &scene.pipe] {
        lab.expect(&[put(object), set(StateId::ANONYMOUS, &cut)], Status::WrongType);
        for state_id in [StateId::ANONYMOUS, StateId::READ_BYPASS] {
            lab.run(&[put(object), step(Operation::Read, &ReadArgs { state_id, offset: 0, count: 1 })]);
            lab.run(&[put(object), step(Operation::Write, &write(state_id, 0))]);
        }
        lab.run(&[put(object), lookup_bytes(&Bytes::from_static(b"x"))]);
        lab.run(&[put(object), step(Operation::LookupParent, &())]);
    }
}

fn opens_by_name_meet_every_kind(ledger: &Ledger) {
    let mut lab = Lab::new(ledger);
    for (name, status) in
        [("d", Status::IsDirectory), ("l", Status::Symlink), ("p", Status::WrongType), ("0", Status::NoEntry)]
    {
        lab.expect(&[root(), step(Operation::Open, &open(name, share::READ, None))], status);
    }
    let unchecked = open("d", share::READ, Some(CreateHow::Unchecked(AttributeValues::default())));
    lab.expect(&[root(), step(Operation::Open, &unchecked)], Status::IsDirectory);
}

fn another_file_system(ledger: &Ledger) {
    let mut lab = Lab::new(ledger);
    let (file, elsewhere) = (put(&lab.scene.file), put(&lab.elsewhere));
    let save = step(Operation::SaveFh, &());
    let name = Bytes::from_static(b"x");
    lab.expect(&[file, save.clone(), elsewhere.clone(), link(&name)], Status::CrossDevice);
    let moved = RenameArgs { old_name: Bytes::from_static(b"r"), new_name: name };
    lab.expect(&[root(), save, elsewhere, step(Operation::Rename, &moved)], Status::CrossDevice);
}

fn handles(ledger: &Ledger) {
    let mut lab = Lab::new(ledger);
    lab.expect(&[put(&FileHandle(Bytes::from_static(&[7; 32])))], Status::BadHandle);
    let handle = lab.scene.file.clone();
    let close = lab.scene.good(Operation::Close);
    lab.expect(&close, Status::Ok);
    lab.expect(
        &[root(), step(Operation::Remove, &RemoveArgs { target: Bytes::from_static(b"f") })],
        Status::Ok,
    );
    lab.expect(&[put(&handle)], Status::Stale);
}

fn ranges_and_counts(ledger: &Ledger) {
    let mut lab = Lab::new(ledger);
    let scene = lab.scene.clone();
    let file = put(&scene.file);
    for (offset, length) in [(0, 0), (u64::MAX, 2)] {
        let wrong = [
            step(Operation::Lock, &lock(scene.open, "me", offset, length)),
            step(Operation::LockT, &test_lock("me", offset, length)),
        ];
        for step in wrong {
            lab.expect(&[file.clone(), step], Status::Invalid);
        }
        lab.expect(
            &[put(&scene.locked), step(Operation::LockU, &unlock(scene.lock, offset, length))],
            Status::Invalid,
        );
    }
    let tiny = ReadDirArgs { count_max: 20, ..read_dir(AttributeValues::default().present()) };
    lab.expect(&[root(), step(Operation::ReadDir, &tiny)], Status::TooSmall);
    let continued = ReadDirArgs { cookie: 3, verifier: Verifier([9; 8]), ..read_dir(Default::default()) };
    lab.expect(&[root(), step(Operation::ReadDir, &continued)], Status::NotSame);
    lab.expect(&[file, step(Operation::Commit, &CommitArgs { offset: u64::MAX, count: 2 })], Status::Ok);
}

//! What files, users and space do not permit.

use bytes::Bytes;
use proto::nfs4::attributes::AttributeValues;
use proto::nfs4::*;

use super::arguments::{bytes, create, put, root, set, write};
use super::lab::{Lab, Options, expect};
use super::ledger::{Ledger, step};
use crate::peer::open;

pub fn run(ledger: &Ledger) {
    read_only(ledger);
    users(ledger);
    sizes(ledger);
    no_room(ledger);
    full_directories(ledger);
}

fn read_only(ledger: &Ledger) {
    for operation in [
        Operation::Create,
        Operation::Link,
        Operation::Open,
        Operation::Remove,
        Operation::Rename,
        Operation::SetAttr,
    ] {
        let mut lab = Lab::with(ledger, &Options { read_only: true, ..Options::default() });
        let steps = lab.scene.good(operation);
        lab.expect(&steps, Status::ReadOnly);
    }
    let mut lab = Lab::with(ledger, &Options { read_only: true, ..Options::default() });
    let file = put(&lab.scene.file);
    lab.expect(&[file, step(Operation::Write, &write(StateId::ANONYMOUS, 0))], Status::ReadOnly);
    lab.expect(&[root(), step(Operation::Open, &open("f", share::READ, None))], Status::Ok);
    lab.expect(&[root(), step(Operation::Open, &open("f", share::WRITE, None))], Status::ReadOnly);
}

/// The objects are those of user 0; files are its own alone.
fn users(ledger: &Ledger) {
    let lab = Lab::new(ledger);
    let mut user = lab.client(7, 1000);
    let (file, directory) = (put(&lab.scene.file), put(&lab.scene.directory));
    let mode = AttributeValues { mode: Some(0o777), ..Default::default() };
    let read = ReadArgs { state_id: StateId::ANONYMOUS, offset: 0, count: 1 };
    for (steps, status) in [
        (vec![file.clone(), set(StateId::ANONYMOUS, &mode)], Status::NotPermitted),
        (vec![file.clone(), step(Operation::Read, &read)], Status::AccessDenied),
        (vec![file.clone(), step(Operation::Write, &write(StateId::ANONYMOUS, 0))], Status::AccessDenied),
        (vec![file, step(Operation::Commit, &CommitArgs { offset: 0, count: 0 })], Status::AccessDenied),
        (vec![root(), step(Operation::Open, &open("f", share::READ, None))], Status::AccessDenied),
        (vec![directory.clone(), create(CreateType::Fifo, b"x", &mode)], Status::AccessDenied),
        (vec![root(), create(CreateType::Block(Default::default()), b"x", &mode)], Status::NotPermitted),
    ] {
        let results = ledger.run(&mut user, &steps);
        expect(&steps, &results, status);
    }
}

fn sizes(ledger: &Ledger) {
    let mut lab = Lab::new(ledger);
    let (file, id) = (put(&lab.scene.file), lab.scene.open);
    lab.expect(&[file.clone(), step(Operation::Write, &write(id, u64::MAX - 8))], Status::FileTooBig);
    let huge = AttributeValues { size: Some(u64::MAX), ..Default::default() };
    lab.expect(&[file, set(id, &huge)], Status::FileTooBig);
}

/// A file system that the scene has filled.
fn no_room(ledger: &Ledger) {
    let mut lab = Lab::with(ledger, &Options { objects_max: Some(8), ..Options::default() });
    let made = AttributeValues::default();
    lab.expect(&[root(), create(CreateType::Directory, b"x", &made)], Status::NoSpace);
    let opened = open("x", share::BOTH, Some(CreateHow::Unchecked(made)));
    lab.expect(&[root(), step(Operation::Open, &opened)], Status::NoSpace);
    let mut lab = Lab::with(ledger, &Options { bytes_max: Some(64 << 10), ..Options::default() });
    let (file, id) = (put(&lab.scene.file), lab.scene.open);
    let data = Bytes::from_static(&[1; 64 << 10]);
    let much = WriteArgs { data, ..write(id, 0) };
    // As much as fits, and then nothing.
    lab.expect(&[file.clone(), step(Operation::Write, &much)], Status::Ok);
    let more = WriteArgs { offset: 1 << 20, ..much };
    lab.expect(&[file, step(Operation::Write, &more)], Status::NoSpace);
}

fn full_directories(ledger: &Ledger) {
    let mut lab = Lab::new(ledger);
    let directory = put(&lab.scene.directory);
    let made = AttributeValues::default();
    lab.expect(&[directory, create(CreateType::Fifo, b"inside", &made)], Status::Ok);
    lab.expect(&[root(), create(CreateType::Directory, b"e", &made)], Status::Ok);
    lab.expect(&[root(), step(Operation::Remove, &RemoveArgs { target: bytes("d") })], Status::NotEmpty);
    let over = RenameArgs { old_name: bytes("e"), new_name: bytes("d") };
    lab.expect(&[root(), step(Operation::SaveFh, &()), step(Operation::Rename, &over)], Status::NotEmpty);
    let below = [root(), step(Operation::SaveFh, &()), put(&lab.scene.directory)];
    let inside = RenameArgs { old_name: bytes("d"), new_name: bytes("x") };
    lab.expect(&[&below[..], &[step(Operation::Rename, &inside)]].concat(), Status::Invalid);
}

//! Weak cache consistency: what every change says about the object before and after.

use bytes::Bytes;
use proto::nfs3::*;

use crate::fixture::{Server, place, user, write_args};

/// The attributes that `wcc` says there were before must be those of `object`, and those after what there is
/// now.
fn check(server: &Server, wcc: WccData, before: FileAttributes, object: FileHandle) {
    let expected = WccAttributes { size: before.size, modified: before.modified, changed: before.changed };
    assert_eq!(wcc.before, Some(expected));
    assert_eq!(wcc.after, Some(server.attributes(object)));
}

#[test]
fn every_change_of_a_directory_tells_of_it_before_and_after() {
    let server = Server::new();
    let (root, target) = (server.root, server.file(server.root, "target", 0o644));
    let set = SetAttributes::default();
    let mut before = server.attributes(root);
    let mut step = |wcc: WccData| {
        check(&server, wcc, before, root);
        let after = server.attributes(root);
        assert_ne!(before.changed, after.changed, "the directory changed");
        before = after;
    };
    step(server.ok(&CreateArgs { place: place(root, "f"), how: CreateHow::Guarded(set) }).dir);
    step(server.ok(&MkDirArgs { place: place(root, "d"), attributes: set }).dir);
    let target_path = Bytes::from_static(b"f");
    step(server.ok(&SymlinkArgs { place: place(root, "s"), attributes: set, target: target_path }).dir);
    step(server.ok(&MkNodArgs { place: place(root, "p"), what: MkNodData::Fifo(set) }).dir);
    step(server.ok(&LinkArgs { file: target, link: place(root, "l") }).dir);
    step(server.ok(&RemoveArgs { object: place(root, "f") }).dir);
    step(server.ok(&RmDirArgs { object: place(root, "d") }).dir);
}

#[test]
fn a_rename_tells_of_both_directories() {
    let server = Server::new();
    let (a, b) = (server.dir(server.root, "a", 0o755), server.dir(server.root, "b", 0o755));
    server.file(a, "f", 0o644);
    let (a_before, b_before) = (server.attributes(a), server.attributes(b));
    let ok = server.ok(&RenameArgs { from: place(a, "f"), to: place(b, "g") });
    check(&server, ok.from_dir, a_before, a);
    check(&server, ok.to_dir, b_before, b);
    let (a_before, b_before) = (server.attributes(a), server.attributes(b));
    let (status, fail) = server.fail(&RenameArgs { from: place(a, "f"), to: place(b, "g") });
    assert_eq!(status, Status::NoEntry);
    check(&server, fail.from_dir, a_before, a);
    check(&server, fail.to_dir, b_before, b);
}

#[test]
fn every_change_of_a_file_tells_of_it_before_and_after() {
    let server = Server::new();
    let file = server.file(server.root, "f", 0o644);
    // Who writes at the same time may come in between, unseen.
    let written = server.write(file, 0, b"data").file;
    assert_eq!((written.before, written.after), (None, Some(server.attributes(file))));
    let before = server.attributes(file);
    let attributes = SetAttributes { size: Some(1), ..SetAttributes::default() };
    check(&server, server.ok(&SetAttrArgs { object: file, attributes, guard: None }).object, before, file);
    let before = server.attributes(file);
    check(&server, server.ok(&CommitArgs { file, offset: 0, count: 0 }).file, before, file);
}

#[test]
fn a_failure_tells_of_the_object_too() {
    let server = Server::new();
    let dir = server.dir(server.root, "d", 0o755);
    let file = server.file(dir, "f", 0o600);
    let (dir_now, file_now) = (server.attributes(dir), server.attributes(file));
    let (status, fail) = server.fail_as(user(7), &write_args(file, 0, b"x"));
    assert_eq!(status, Status::AccessDenied);
    assert_eq!((fail.file.before, fail.file.after), (None, Some(file_now)));
    let attributes = SetAttributes { mode: Some(0o777), ..SetAttributes::default() };
    let (status, fail) = server.fail_as(user(7), &SetAttrArgs { object: file, attributes, guard: None });
    assert_eq!(status, Status::NotPermitted);
    check(&server, fail.object, file_now, file);
    let how = CreateHow::Guarded(SetAttributes::default());
    let (status, fail) = server.fail_as(user(7), &CreateArgs { place: place(dir, "g"), how });
    assert_eq!(status, Status::AccessDenied);
    check(&server, fail.dir, dir_now, dir);
    let (status, fail) = server.fail_as(user(7), &RemoveArgs { object: place(dir, "f") });
    assert_eq!(status, Status::AccessDenied);
    check(&server, fail.dir, dir_now, dir);
    let (status, fail) = server.fail(&RmDirArgs { object: place(dir, "f") });
    assert_eq!(status, Status::NotDirectory);
    check(&server, fail.dir, dir_now, dir);
    let (status, fail) = server.fail(&LinkArgs { file, link: place(dir, "f") });
    assert_eq!(status, Status::Exists);
    assert_eq!(fail.attributes, Some(file_now));
    check(&server, fail.dir, dir_now, dir);
}

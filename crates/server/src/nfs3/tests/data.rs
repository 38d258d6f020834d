//! READ, WRITE and COMMIT.

use bytes::Bytes;
use proto::nfs3::*;

use crate::fixture::{Server, place, user, write_args};

#[test]
fn written_data_are_read_back() {
    let server = Server::new();
    let file = server.file(server.root, "f", 0o644);
    let ok = server.write(file, 3, b"hello");
    assert_eq!((ok.count, ok.committed), (5, StableHow::FileSync));
    let read = server.read(file, 0, 100);
    assert_eq!(&read.data[..], b"\0\0\0hello");
    assert_eq!((read.count, read.eof), (8, true));
    assert_eq!(read.attributes, Some(server.attributes(file)));
}

#[test]
fn a_read_says_whether_the_file_ends_with_it() {
    let server = Server::new();
    let file = server.file(server.root, "f", 0o644);
    server.write(file, 0, b"12345678");
    for (offset, count, data, eof) in [
        (0, 7, &b"1234567"[..], false),
        (0, 8, b"12345678", true),
        (5, 3, b"678", true),
        (8, 1, b"", true),
        (u64::MAX, 1, b"", true),
        (2, 0, b"", false),
    ] {
        let read = server.read(file, offset, count);
        assert_eq!(
            (&read.data[..], read.count as usize, read.eof),
            (data, data.len(), eof),
            "{count} at {offset}"
        );
    }
}

#[test]
fn data_of_what_is_no_file_is_inval() {
    let server = Server::new();
    let what = MkNodData::Fifo(SetAttributes::default());
    let fifo = server.ok(&MkNodArgs { place: place(server.root, "p"), what }).object.unwrap();
    let (attributes, target) = (SetAttributes::default(), Bytes::from_static(b"t"));
    let symlink = server.ok(&SymlinkArgs { place: place(server.root, "s"), attributes, target });
    for object in [server.root, fifo, symlink.object.unwrap()] {
        let now = Some(server.attributes(object));
        let (status, fail) = server.fail(&ReadArgs { file: object, offset: 0, count: 1 });
        assert_eq!((status, fail.attributes), (Status::Invalid, now));
        let (status, fail) = server.fail(&write_args(object, 0, b"x"));
        assert_eq!((status, fail.file.after), (Status::Invalid, now));
        let (status, fail) = server.fail(&CommitArgs { file: object, offset: 0, count: 0 });
        assert_eq!((status, fail.file.after), (Status::Invalid, now));
    }
}

#[test]
fn the_mode_decides_for_others_and_the_owner_always_may() {
    let server = Server::new();
    let how = CreateHow::Guarded(SetAttributes { mode: Some(0), ..SetAttributes::default() });
    let file = server.ok_as(user(5), &CreateArgs { place: place(server.root, "f"), how }).object.unwrap();
    server.ok_as(user(5), &write_args(file, 0, b"mine"));
    let read = ReadArgs { file, offset: 0, count: 9 };
    assert_eq!(&server.ok_as(user(5), &read).data[..], b"mine");
    let (status, fail) = server.fail_as(user(6), &read);
    assert_eq!((status, fail.attributes), (Status::AccessDenied, Some(server.attributes(file))));
    assert_eq!(server.fail_as(user(6), &write_args(file, 0, b"x")).0, Status::AccessDenied);
}

#[test]
fn a_write_whose_count_is_not_its_length_is_inval() {
    let server = Server::new();
    let file = server.file(server.root, "f", 0o644);
    for count in [1, 3, u32::MAX] {
        let args = WriteArgs { count, ..write_args(file, 0, b"xy") };
        assert_eq!(server.fail(&args).0, Status::Invalid);
    }
    assert_eq!(server.attributes(file).size, 0);
}

#[test]
fn a_write_beyond_the_largest_file_is_fbig() {
    let server = Server::new();
    let file = server.file(server.root, "f", 0o644);
    let (status, fail) = server.fail(&write_args(file, u64::MAX - 1, b"xyz"));
    assert_eq!((status, fail.file.after), (Status::FileTooBig, Some(server.attributes(file))));
}

#[test]
fn write_and_commit_have_the_same_verifier() {
    let server = Server::new();
    let file = server.file(server.root, "f", 0o644);
    let written = server.ok(&WriteArgs { stable: StableHow::Unstable, ..write_args(file, 0, b"x") });
    let committed = server.ok(&CommitArgs { file, offset: 0, count: 0 });
    assert_eq!(written.verifier, committed.verifier);
    let other = Server::new();
    let file = other.file(other.root, "f", 0o644);
    assert_ne!(other.write(file, 0, b"x").verifier, written.verifier, "another start, another verifier");
}

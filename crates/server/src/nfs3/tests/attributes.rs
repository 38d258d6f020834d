//! GETATTR, SETATTR, FSSTAT, FSINFO, PATHCONF.

use proto::nfs3::*;

use crate::fixture::{Server, user};

fn set(object: FileHandle, attributes: SetAttributes) -> SetAttrArgs {
    SetAttrArgs { object, attributes, guard: None }
}

#[test]
fn getattr_returns_the_attributes_that_were_set() {
    let server = Server::new();
    let file = server.file(server.root, "f", 0o644);
    let time = |seconds| Time { seconds, nanoseconds: 9 };
    let attributes = SetAttributes {
        mode: Some(0o100_4751),
        uid: Some(5),
        gid: Some(6),
        size: Some(10),
        accessed: SetTime::To(time(1)),
        modified: SetTime::To(time(2)),
    };
    let after = server.ok(&set(file, attributes)).object.after.unwrap();
    assert_eq!(server.attributes(file), after);
    assert_eq!((after.uid, after.gid, after.size), (5, 6, 10));
    assert_eq!((after.accessed, after.modified), (time(1), time(2)));
    assert_eq!(after.mode & 0o777, 0o751, "type bits in a mode are no permission bits");
}

#[test]
fn a_guard_lets_only_the_expected_state_be_changed() {
    let server = Server::new();
    let file = server.file(server.root, "f", 0o644);
    let now = server.attributes(file);
    let attributes = SetAttributes { mode: Some(0o600), ..SetAttributes::default() };
    let stale = Time { nanoseconds: now.changed.nanoseconds + 1, ..now.changed };
    let (status, fail) = server.fail(&SetAttrArgs { object: file, attributes, guard: Some(stale) });
    assert_eq!((status, fail.object.after), (Status::NotSync, Some(now)));
    server.ok(&SetAttrArgs { object: file, attributes, guard: Some(now.changed) });
    assert_eq!(server.attributes(file).mode, 0o600);
    let again = SetAttrArgs { object: file, attributes, guard: Some(now.changed) };
    assert_eq!(server.fail(&again).0, Status::NotSync, "the first one changed it");
}

#[test]
fn a_directory_has_no_size_to_set() {
    let server = Server::new();
    let attributes = SetAttributes { size: Some(0), ..SetAttributes::default() };
    assert_eq!(server.fail(&set(server.root, attributes)).0, Status::Invalid);
}

#[test]
fn only_root_gives_files_away() {
    let server = Server::new();
    let file = server.file(server.root, "f", 0o666);
    let attributes = SetAttributes { uid: Some(7), ..SetAttributes::default() };
    assert_eq!(server.fail_as(user(7), &set(file, attributes)).0, Status::NotPermitted);
    server.ok(&set(file, attributes));
    assert_eq!(server.attributes(file).uid, 7);
}

#[test]
fn getattr_needs_no_permission() {
    let server = Server::new();
    let file = server.file(server.root, "f", 0);
    assert_eq!(server.ok_as(user(7), &GetAttrArgs { object: file }).attributes.mode, 0);
}

#[test]
fn fsinfo_promises_what_read_and_write_keep() {
    let server = Server::new();
    let info = server.ok(&FsInfoArgs { root: server.root });
    assert_eq!((info.read_max, info.write_max), (1 << 20, 1 << 20));
    assert!(info.read_preferred <= info.read_max && info.write_preferred <= info.write_max);
    assert_eq!(info.properties, 0x1b);
    assert_eq!(info.time_granularity, Time { seconds: 0, nanoseconds: 1 });
    assert_eq!(info.attributes, Some(server.attributes(server.root)));

    let file = server.file(server.root, "f", 0o644);
    let data = vec![1; info.write_max as usize + 4096];
    assert_eq!(server.write(file, 0, &data).count, info.write_max, "what is above is left to the client");
    server.write(file, u64::from(info.write_max), &data[..4096]);
    let read = server.read(file, 0, u32::MAX);
    assert_eq!((read.count, read.eof), (info.read_max, false));
}

#[test]
fn fsstat_tells_of_space() {
    let server = Server::new();
    let before = server.ok(&FsStatArgs { root: server.root });
    let file = server.file(server.root, "f", 0o644);
    server.write(file, 0, &[1; 8192]);
    let after = server.ok(&FsStatArgs { root: file });
    assert_eq!(after.total_bytes, before.total_bytes);
    assert!(after.free_bytes <= before.free_bytes - 8192);
    assert_eq!(after.free_files, before.free_files - 1);
    assert_eq!(after.attributes, Some(server.attributes(file)));
}

#[test]
fn pathconf_tells_that_long_names_are_errors() {
    let server = Server::new();
    let limits = server.ok(&PathConfArgs { object: server.root });
    assert_eq!((limits.name_bytes_max, limits.no_truncation), (255, true));
    assert_eq!(
        (limits.case_insensitive, limits.case_preserving, limits.chown_restricted),
        (false, true, true)
    );
}

//! Names in arguments.

use bytes::Bytes;
use proto::nfs3::*;

use crate::fixture::{Server, place, user};

/// What every procedure that takes a name says to this one.
fn statuses(server: &Server, name: &[u8]) -> Vec<Status> {
    let at = DirOpArgs { dir: server.root, name: Bytes::copy_from_slice(name) };
    let good = place(server.root, "f");
    let file = server.find(server.root, "f").unwrap();
    let set = SetAttributes::default();
    vec![
        server.fail(&LookupArgs { what: at.clone() }).0,
        server.fail(&CreateArgs { place: at.clone(), how: CreateHow::Unchecked(set) }).0,
        server.fail(&MkDirArgs { place: at.clone(), attributes: set }).0,
        server.fail(&SymlinkArgs { place: at.clone(), attributes: set, target: Bytes::from_static(b"t") }).0,
        server.fail(&MkNodArgs { place: at.clone(), what: MkNodData::Socket(set) }).0,
        server.fail(&RemoveArgs { object: at.clone() }).0,
        server.fail(&RmDirArgs { object: at.clone() }).0,
        server.fail(&RenameArgs { from: at.clone(), to: good.clone() }).0,
        server.fail(&RenameArgs { from: good, to: at.clone() }).0,
        server.fail(&LinkArgs { file, link: at }).0,
    ]
}

#[test]
fn a_name_above_255_bytes_is_nametoolong_everywhere() {
    let server = Server::new();
    server.file(server.root, "f", 0o644);
    for length in [256, 4096] {
        assert_eq!(statuses(&server, &vec![b'n'; length]), [Status::NameTooLong; 10]);
    }
    let longest = "n".repeat(255);
    server.file(server.root, &longest, 0o644);
    assert!(server.find(server.root, &longest).is_some());
}

#[test]
fn an_empty_name_and_one_with_a_slash_or_nul_is_acces_everywhere() {
    let server = Server::new();
    server.file(server.root, "f", 0o644);
    for name in [&b""[..], b"a/b", b"a\0b"] {
        assert_eq!(statuses(&server, name), [Status::AccessDenied; 10], "{name:?}");
    }
}

#[test]
fn dots_exist_cannot_be_renamed_and_rmdir_tells_them_apart() {
    let server = Server::new();
    let (root, file) = (server.root, server.file(server.root, "f", 0o644));
    let set = SetAttributes::default();
    for dots in [".", ".."] {
        let at = || place(root, dots);
        assert_eq!(server.fail(&MkDirArgs { place: at(), attributes: set }).0, Status::Exists);
        assert_eq!(server.fail(&CreateArgs { place: at(), how: CreateHow::Guarded(set) }).0, Status::Exists);
        assert_eq!(server.fail(&LinkArgs { file, link: at() }).0, Status::Exists);
        assert_eq!(server.fail(&RemoveArgs { object: at() }).0, Status::AccessDenied);
        assert_eq!(server.fail(&RenameArgs { from: at(), to: place(root, "g") }).0, Status::Invalid);
        assert_eq!(server.fail(&RenameArgs { from: place(root, "f"), to: at() }).0, Status::Invalid);
    }
    assert_eq!(server.fail(&RmDirArgs { object: place(root, ".") }).0, Status::Invalid);
    assert_eq!(server.fail(&RmDirArgs { object: place(root, "..") }).0, Status::Exists);
}

#[test]
fn names_are_bytes_and_need_not_be_text() {
    let server = Server::new();
    let odd = DirOpArgs { dir: server.root, name: Bytes::from_static(b"\xff\xfe \n") };
    let how = CreateHow::Guarded(SetAttributes::default());
    let made = server.ok(&CreateArgs { place: odd.clone(), how }).object.unwrap();
    assert_eq!(server.ok(&LookupArgs { what: odd }).object, made);
}

#[test]
fn a_rename_replaces_its_target_and_keeps_the_handle() {
    let server = Server::new();
    let (a, b) = (server.file(server.root, "a", 0o644), server.file(server.root, "b", 0o644));
    server.ok(&RenameArgs { from: place(server.root, "a"), to: place(server.root, "b") });
    assert_eq!(server.find(server.root, "b"), Some(a));
    assert_eq!(server.find(server.root, "a"), None);
    assert_eq!(server.fail(&GetAttrArgs { object: b }).0, Status::Stale);
}

#[test]
fn removing_and_linking_the_wrong_type_fails() {
    let server = Server::new();
    let dir = server.dir(server.root, "d", 0o755);
    server.file(dir, "f", 0o644);
    assert_eq!(server.fail(&RemoveArgs { object: place(server.root, "d") }).0, Status::IsDirectory);
    assert_eq!(server.fail(&RmDirArgs { object: place(dir, "f") }).0, Status::NotDirectory);
    assert_eq!(server.fail(&RmDirArgs { object: place(server.root, "d") }).0, Status::NotEmpty);
    assert_eq!(server.fail(&LinkArgs { file: dir, link: place(dir, "loop") }).0, Status::Invalid);
    assert_eq!(server.fail(&RemoveArgs { object: place(dir, "absent") }).0, Status::NoEntry);
}

#[test]
fn a_link_is_another_name_for_the_same_object() {
    let server = Server::new();
    let file = server.file(server.root, "f", 0o644);
    let ok = server.ok(&LinkArgs { file, link: place(server.root, "g") });
    assert_eq!(ok.attributes.unwrap().links, 2);
    assert_eq!(server.find(server.root, "g"), Some(file));
    server.ok(&RemoveArgs { object: place(server.root, "f") });
    assert_eq!(server.attributes(file).links, 1);
}

#[test]
fn a_symbolic_link_keeps_its_target_as_it_is() {
    let server = Server::new();
    let target = Bytes::from_static(b"../any/where");
    let args = SymlinkArgs {
        place: place(server.root, "s"),
        attributes: SetAttributes::default(),
        target: target.clone(),
    };
    let symlink = server.ok_as(user(5), &args).object.unwrap();
    let ok = server.ok(&ReadLinkArgs { symlink });
    assert_eq!((ok.target, ok.attributes), (target, Some(server.attributes(symlink))));
    assert_eq!(server.attributes(symlink).kind, FileType::Symlink);
    let (status, fail) = server.fail(&ReadLinkArgs { symlink: server.root });
    assert_eq!((status, fail.attributes), (Status::Invalid, Some(server.attributes(server.root))));
}

//! What exports forbid, and as whom callers act.

use std::net::IpAddr;

use bytes::Bytes;
use proto::nfs3::*;
use rpc::Credential;

use crate::conflicts::NoConflicts;
use crate::exports::{Clients, Network, Rule, Squash};
use crate::fixture::{Server, export, place, unsquashed, user, write_args};

#[test]
fn nothing_changes_on_a_read_only_export() {
    let server = Server::with_options(Rule { read_only: true, ..unsquashed() });
    let root = server.root;
    let at = || place(root, "x");
    let set = SetAttributes::default();
    let statuses = [
        server.fail(&SetAttrArgs { object: root, attributes: set, guard: None }).0,
        server.fail(&write_args(root, 0, b"x")).0,
        server.fail(&CreateArgs { place: at(), how: CreateHow::Unchecked(set) }).0,
        server.fail(&CreateArgs { place: at(), how: CreateHow::Exclusive(CreateVerifier([1; 8])) }).0,
        server.fail(&MkDirArgs { place: at(), attributes: set }).0,
        server.fail(&SymlinkArgs { place: at(), attributes: set, target: Bytes::from_static(b"t") }).0,
        server.fail(&MkNodArgs { place: at(), what: MkNodData::Fifo(set) }).0,
        server.fail(&RemoveArgs { object: at() }).0,
        server.fail(&RmDirArgs { object: at() }).0,
        server.fail(&RenameArgs { from: at(), to: place(root, "y") }).0,
        server.fail(&LinkArgs { file: root, link: at() }).0,
    ];
    assert_eq!(statuses, [Status::ReadOnly; 11]);
    let access = server.ok(&AccessArgs { object: root, access: 0x3f }).access;
    assert_eq!(access, ACCESS_READ | ACCESS_LOOKUP);
    assert_eq!(
        server
            .ok(&ReadDirArgs { dir: root, cookie: 0, verifier: CookieVerifier::default(), count: 512 })
            .entries
            .0
            .len(),
        2
    );
}

/// Who owns a file that this caller makes.
fn owner(squash: Squash, who: Credential) -> (u32, u32) {
    let server = Server::with_options(Rule { squash, ..Rule::default() });
    let how = CreateHow::Guarded(SetAttributes::default());
    let attributes =
        server.ok_as(who, &CreateArgs { place: place(server.root, "f"), how }).attributes.unwrap();
    (attributes.uid, attributes.gid)
}

#[test]
fn root_is_squashed_by_default_and_others_are_themselves() {
    let nobody = (65534, 65534);
    assert_eq!(owner(Squash::default(), user(0)), nobody);
    assert_eq!(owner(Squash::default(), Credential::None), nobody);
    assert_eq!(owner(Squash::default(), user(5)), (5, 5));
}

#[test]
fn all_squash_makes_everybody_the_same() {
    let all = Squash::All { anonymous: (40, 41) };
    for who in [user(0), user(5), Credential::None] {
        assert_eq!(owner(all, who), (40, 41));
    }
    assert_eq!(owner(Squash::None { anonymous: (40, 41) }, user(0)), (0, 0));
    assert_eq!(owner(Squash::None { anonymous: (40, 41) }, Credential::None), (40, 41));
}

#[test]
fn a_squashed_root_may_not_what_root_may() {
    let server = Server::with_options(Rule::default());
    let how = CreateHow::Guarded(SetAttributes { mode: Some(0o600), ..SetAttributes::default() });
    let file = server.ok_as(user(5), &CreateArgs { place: place(server.root, "f"), how }).object.unwrap();
    assert_eq!(server.fail(&ReadArgs { file, offset: 0, count: 1 }).0, Status::AccessDenied);
    let attributes = SetAttributes { uid: Some(0), ..SetAttributes::default() };
    assert_eq!(server.fail(&SetAttrArgs { object: file, attributes, guard: None }).0, Status::NotPermitted);
}

#[test]
fn ids_that_a_squashed_caller_sets_are_squashed_too() {
    let owner_of = |squash, who: Credential, uid| {
        let server = Server::with_options(Rule { squash, ..Rule::default() });
        let attributes = SetAttributes { uid: Some(uid), gid: Some(uid), ..SetAttributes::default() };
        let how = CreateHow::Guarded(SetAttributes::default());
        let file =
            server.ok_as(who.clone(), &CreateArgs { place: place(server.root, "f"), how }).object.unwrap();
        let reply = server.reply(who, &SetAttrArgs { object: file, attributes, guard: None });
        assert!(matches!(reply, Reply::Ok(_)), "{squash:?}");
        let now = server.attributes(file);
        (now.uid, now.gid)
    };
    let anonymous = (40, 41);
    assert_eq!(owner_of(Squash::All { anonymous }, user(5), 7), (40, 41));
    assert_eq!(owner_of(Squash::Root { anonymous }, user(0), 0), (40, 41));
    assert_eq!(owner_of(Squash::None { anonymous }, user(0), 7), (7, 7));
}

#[test]
fn supplementary_groups_count() {
    let server = Server::new();
    let file = server.file(server.root, "f", 0o040);
    let attributes = SetAttributes { gid: Some(1007), ..SetAttributes::default() };
    server.ok(&SetAttrArgs { object: file, attributes, guard: None });
    let read = ReadArgs { file, offset: 0, count: 1 };
    server.ok_as(user(7), &read);
    assert_eq!(server.fail_as(user(8), &read).0, Status::AccessDenied);
}

#[test]
fn a_client_outside_the_networks_of_an_export_finds_its_handles_stale() {
    let network = Network { address: IpAddr::from([10, 0, 0, 0]), prefix_bits: 8 };
    let clients = Clients::Networks(vec![network]);
    let server = Server::with_options(Rule { clients, ..unsquashed() });
    let arguments = xdr::to_bytes(&GetAttrArgs { object: server.root });
    let status = |peer| {
        let results = server.raw((PROGRAM, VERSION, 1), user(0), peer, arguments.clone()).unwrap();
        xdr::from_bytes::<Reply<GetAttrOk, ()>>(results).unwrap().status()
    };
    assert_eq!(status("10.1.2.3"), Status::Ok);
    assert_eq!(status("192.0.2.1"), Status::Stale);
}

#[test]
fn names_do_not_cross_exports() {
    let exports = vec![export(1, "/", unsquashed()), export(2, "/other", unsquashed())];
    let server = Server::with(exports, NoConflicts);
    let other = server.root_of("/other");
    let file = server.file(server.root, "f", 0o644);
    assert_ne!(server.root, other);
    let (status, fail) = server.fail(&RenameArgs { from: place(server.root, "f"), to: place(other, "f") });
    assert_eq!(status, Status::CrossDevice);
    assert_eq!(fail.to_dir.after, Some(server.attributes(other)));
    assert_eq!(server.fail(&LinkArgs { file, link: place(other, "f") }).0, Status::CrossDevice);
}

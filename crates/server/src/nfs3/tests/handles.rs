//! Handles that name nothing, or the wrong thing.

use bytes::Bytes;
use proto::nfs3::*;
use rpc::{Credential, Refusal};

use crate::fixture::{Server, place, user, write_args};

#[test]
fn a_handle_that_was_never_issued_is_badhandle_in_every_procedure() {
    let server = Server::new();
    let mut forged = server.root.as_bytes().to_vec();
    forged[0] ^= 1;
    let bad = FileHandle::new(&forged).unwrap();
    let at = |name| place(bad, name);
    let set = SetAttributes::default();
    let statuses = [
        server.fail(&GetAttrArgs { object: bad }).0,
        server.fail(&SetAttrArgs { object: bad, attributes: set, guard: None }).0,
        server.fail(&LookupArgs { what: at("x") }).0,
        server.fail(&AccessArgs { object: bad, access: 1 }).0,
        server.fail(&ReadLinkArgs { symlink: bad }).0,
        server.fail(&ReadArgs { file: bad, offset: 0, count: 1 }).0,
        server.fail(&write_args(bad, 0, b"x")).0,
        server.fail(&CreateArgs { place: at("x"), how: CreateHow::Guarded(set) }).0,
        server.fail(&MkDirArgs { place: at("x"), attributes: set }).0,
        server.fail(&SymlinkArgs { place: at("x"), attributes: set, target: Bytes::from_static(b"t") }).0,
        server.fail(&MkNodArgs { place: at("x"), what: MkNodData::Fifo(set) }).0,
        server.fail(&RemoveArgs { object: at("x") }).0,
        server.fail(&RmDirArgs { object: at("x") }).0,
        server.fail(&RenameArgs { from: at("x"), to: place(server.root, "y") }).0,
        server.fail(&RenameArgs { from: place(server.root, "y"), to: at("x") }).0,
        server.fail(&LinkArgs { file: bad, link: place(server.root, "x") }).0,
        server.fail(&LinkArgs { file: server.root, link: at("x") }).0,
        server.fail(&ReadDirArgs { dir: bad, cookie: 0, verifier: CookieVerifier::default(), count: 512 }).0,
        server.fail(&plus(bad)).0,
        server.fail(&FsStatArgs { root: bad }).0,
        server.fail(&FsInfoArgs { root: bad }).0,
        server.fail(&PathConfArgs { object: bad }).0,
        server.fail(&CommitArgs { file: bad, offset: 0, count: 0 }).0,
    ];
    assert_eq!(statuses, [Status::BadHandle; 23]);
}

#[test]
fn the_handle_of_a_removed_file_is_stale() {
    let server = Server::new();
    let file = server.file(server.root, "f", 0o644);
    server.ok(&RemoveArgs { object: place(server.root, "f") });
    assert_eq!(server.fail(&GetAttrArgs { object: file }).0, Status::Stale);
    let (status, fail) = server.fail(&write_args(file, 0, b"x"));
    assert_eq!((status, fail.file), (Status::Stale, WccData::NONE));
    assert_eq!(server.fail(&LinkArgs { file, link: place(server.root, "g") }).0, Status::Stale);
}

#[test]
fn an_empty_handle_is_badhandle_and_one_above_64_bytes_is_garbage() {
    let server = Server::new();
    assert_eq!(server.fail(&GetAttrArgs { object: FileHandle::new(b"").unwrap() }).0, Status::BadHandle);
    let long = xdr::to_bytes(&Bytes::from(vec![1; 65]));
    let number = (PROGRAM, VERSION, Procedure::GetAttr.number());
    assert_eq!(server.raw(number, user(0), "127.0.0.1", long), Err(Refusal::GarbageArguments));
}

#[test]
fn a_file_is_no_directory() {
    let server = Server::new();
    let file = server.file(server.root, "f", 0o755);
    let at = place(file, "x");
    let set = SetAttributes::default();
    let statuses = [
        server.fail(&LookupArgs { what: at.clone() }).0,
        server.fail(&LookupArgs { what: place(file, ".") }).0,
        server.fail(&LookupArgs { what: place(file, "..") }).0,
        server.fail(&CreateArgs { place: at.clone(), how: CreateHow::Unchecked(set) }).0,
        server.fail(&MkDirArgs { place: at.clone(), attributes: set }).0,
        server.fail(&RemoveArgs { object: at.clone() }).0,
        server.fail(&RmDirArgs { object: at.clone() }).0,
        server.fail(&RenameArgs { from: at.clone(), to: place(server.root, "y") }).0,
        server.fail(&LinkArgs { file, link: at }).0,
        server.fail(&ReadDirArgs { dir: file, cookie: 0, verifier: CookieVerifier::default(), count: 512 }).0,
        server.fail(&plus(file)).0,
    ];
    assert_eq!(statuses, [Status::NotDirectory; 11]);
}

#[test]
fn arguments_that_are_short_or_long_are_garbage() {
    let server = Server::new();
    let good = xdr::to_bytes(&GetAttrArgs { object: server.root });
    let number = (PROGRAM, VERSION, Procedure::GetAttr.number());
    for bytes in [good.slice(..good.len() - 4), Bytes::from([&good[..], &[0; 4]].concat())] {
        assert_eq!(server.raw(number, user(0), "127.0.0.1", bytes), Err(Refusal::GarbageArguments));
    }
}

#[test]
fn null_needs_no_credential_and_unknown_flavors_are_tooweak() {
    let server = Server::new();
    let gss = Credential::Other { flavor: 6, body: Bytes::new() };
    let null = (PROGRAM, VERSION, 0);
    assert_eq!(server.raw(null, gss.clone(), "127.0.0.1", Bytes::new()), Ok(Bytes::new()));
    let getattr = (PROGRAM, VERSION, 1);
    let arguments = xdr::to_bytes(&GetAttrArgs { object: server.root });
    let refusal = Err(Refusal::Authentication(rpc::AuthStatus::TooWeak));
    assert_eq!(server.raw(getattr, gss, "127.0.0.1", arguments), refusal);
    let unknown = (PROGRAM, VERSION, 22);
    assert_eq!(server.raw(unknown, user(0), "127.0.0.1", Bytes::new()), Err(Refusal::ProcedureUnavailable));
}

fn plus(dir: FileHandle) -> ReadDirPlusArgs {
    ReadDirPlusArgs { dir, cookie: 0, verifier: CookieVerifier::default(), dir_count: 512, max_count: 512 }
}

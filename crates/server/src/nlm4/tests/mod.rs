//! The rules of the lock manager, each through the whole path of a call.

mod crossing;
mod hosts;
mod lab;
mod waiting;

use std::net::SocketAddr;

use bytes::Bytes;
use proto::nfs3::{self, FileHandle, RemoveArgs};
use proto::nlm4::*;
use rpc::{Credential, Refusal};
use xdr::{Decode, Encode};

use crate::exports::Rule;
use crate::fixture::{Server, place, unsquashed, user};

fn number(procedure: Procedure) -> (u32, u32, u32) {
    (PROGRAM, VERSION, procedure.number())
}

fn object(bytes: &[u8]) -> NetObject {
    NetObject(Bytes::copy_from_slice(bytes))
}

fn cookie() -> NetObject {
    object(b"cookie")
}

/// A lock by `process`.
fn lock(file: FileHandle, process: i32, offset: u64, length: u64) -> Lock {
    Lock {
        caller_name: Bytes::from_static(b"host"),
        file: object(file.as_bytes()),
        owner: object(&process.to_be_bytes()),
        process,
        offset,
        length,
    }
}

fn lock_args(lock: Lock, exclusive: bool) -> LockArgs {
    LockArgs { cookie: cookie(), block: false, exclusive, lock, reclaim: false, state: 1 }
}

fn call<T: Decode>(server: &Server, procedure: Procedure, arguments: &impl Encode) -> T {
    server.results(number(procedure), user(0), arguments)
}

fn take(server: &Server, lock: Lock, exclusive: bool) -> Status {
    let response: Response = call(server, Procedure::Lock, &lock_args(lock, exclusive));
    assert_eq!(response.cookie, cookie());
    response.status
}

fn give_back(server: &Server, lock: Lock) -> Status {
    let response: Response = call(server, Procedure::Unlock, &UnlockArgs { cookie: cookie(), lock });
    assert_eq!(response.cookie, cookie());
    response.status
}

fn test(server: &Server, lock: Lock, exclusive: bool) -> TestResult {
    let response: TestResponse =
        call(server, Procedure::Test, &TestArgs { cookie: cookie(), exclusive, lock });
    assert_eq!(response.cookie, cookie());
    response.result
}

fn share(server: &Server, procedure: Procedure, args: &ShareArgs) -> Status {
    let response: ShareResponse = call(server, procedure, args);
    assert_eq!((response.cookie, response.sequence), (cookie(), 0));
    response.status
}

fn share_args(file: FileHandle, owner: u8, access: ShareAccess, mode: ShareMode) -> ShareArgs {
    let caller_name = Bytes::from_static(b"host");
    let share = Share { caller_name, file: object(file.as_bytes()), owner: object(&[owner]), mode, access };
    ShareArgs { cookie: cookie(), share, reclaim: false }
}

#[test]
fn a_lock_excludes_others_until_it_is_given_back() {
    let server = Server::new();
    let file = server.file(server.root, "f", 0o644);
    assert_eq!(take(&server, lock(file, 1, 10, 10), true), Status::Granted);
    assert_eq!(take(&server, lock(file, 2, 15, 1), false), Status::Denied);
    assert_eq!(take(&server, lock(file, 2, 20, 0), true), Status::Granted);
    assert_eq!(give_back(&server, lock(file, 1, 10, 10)), Status::Granted);
    assert_eq!(take(&server, lock(file, 2, 15, 1), false), Status::Granted);
}

#[test]
fn a_retry_of_lock_or_unlock_is_granted_again() {
    let server = Server::new();
    let file = server.file(server.root, "f", 0o644);
    for _ in 0..2 {
        assert_eq!(take(&server, lock(file, 1, 0, 0), true), Status::Granted);
    }
    for _ in 0..2 {
        assert_eq!(give_back(&server, lock(file, 1, 0, 0)), Status::Granted);
    }
}

#[test]
fn test_names_the_lock_in_the_way() {
    let server = Server::new();
    let file = server.file(server.root, "f", 0o644);
    assert_eq!(test(&server, lock(file, 2, 0, 0), true), TestResult::Other(Status::Granted));
    take(&server, lock(file, 1, 5, 0), true);
    let holder =
        Holder { exclusive: true, process: 1, owner: object(&1_i32.to_be_bytes()), offset: 5, length: 0 };
    assert_eq!(test(&server, lock(file, 2, 0, 0), false), TestResult::Denied(holder));
    assert_eq!(test(&server, lock(file, 2, 0, 5), true), TestResult::Other(Status::Granted));
    assert_eq!(test(&server, lock(file, 1, 0, 0), true), TestResult::Other(Status::Granted), "one's own");
}

#[test]
fn blocking_lock_is_denied_where_hosts_cannot_be_called() {
    let server = Server::new();
    let file = server.file(server.root, "f", 0o644);
    take(&server, lock(file, 1, 0, 0), true);
    let args = LockArgs { block: true, ..lock_args(lock(file, 2, 0, 0), true) };
    let response: Response = call(&server, Procedure::Lock, &args);
    assert_eq!(response.status, Status::Denied, "NLM4_BLOCKED promises a call back");
    let args = CancelArgs { cookie: cookie(), block: true, exclusive: true, lock: lock(file, 2, 0, 0) };
    let response: Response = call(&server, Procedure::Cancel, &args);
    assert_eq!((response.status, response.cookie), (Status::Denied, cookie()));
    give_back(&server, lock(file, 1, 0, 0));
    assert_eq!(take(&server, lock(file, 3, 0, 0), true), Status::Granted, "nobody waits in front");
}

#[test]
fn a_name_longer_than_that_of_any_host_is_refused() {
    let server = Server::new();
    let file = server.file(server.root, "f", 0o644);
    let named = |length: usize| Lock { caller_name: vec![b'x'; length].into(), ..lock(file, 1, 0, 0) };
    assert_eq!(take(&server, named(256), true), Status::Failed);
    assert_eq!(take(&server, named(255), true), Status::Granted);
    let mut args = share_args(file, 1, ShareAccess::Read, ShareMode::DenyNone);
    args.share.caller_name = vec![b'x'; 256].into();
    assert_eq!(share(&server, Procedure::Share, &args), Status::Failed);
}

#[test]
fn nothing_is_reclaimed_outside_a_grace_period() {
    let server = Server::new();
    let file = server.file(server.root, "f", 0o644);
    let args = LockArgs { reclaim: true, ..lock_args(lock(file, 1, 0, 0), true) };
    let response: Response = call(&server, Procedure::Lock, &args);
    assert_eq!(response.status, Status::DeniedGracePeriod);
    let args = ShareArgs { reclaim: true, ..share_args(file, 1, ShareAccess::Read, ShareMode::DenyNone) };
    assert_eq!(share(&server, Procedure::Share, &args), Status::DeniedGracePeriod);
}

#[test]
fn a_range_beyond_the_last_offset_is_fbig() {
    let server = Server::new();
    let file = server.file(server.root, "f", 0o644);
    assert_eq!(take(&server, lock(file, 1, u64::MAX, 1), true), Status::Granted);
    assert_eq!(take(&server, lock(file, 1, u64::MAX, 2), true), Status::FileTooBig);
    assert_eq!(take(&server, lock(file, 1, 2, u64::MAX), true), Status::FileTooBig);
    assert_eq!(give_back(&server, lock(file, 1, 2, u64::MAX)), Status::FileTooBig);
}

#[test]
fn a_lock_on_nothing_is_stale_and_one_on_a_directory_fails() {
    let server = Server::new();
    let file = server.file(server.root, "f", 0o644);
    server.ok(&RemoveArgs { object: place(server.root, "f") });
    assert_eq!(take(&server, lock(file, 1, 0, 0), true), Status::StaleHandle);
    let forged = Lock { file: object(&[1; 900]), ..lock(file, 1, 0, 0) };
    assert_eq!(take(&server, forged, true), Status::StaleHandle);
    assert_eq!(take(&server, lock(server.root, 1, 0, 0), false), Status::Failed);
}

#[test]
fn a_lock_needs_the_right_to_do_what_it_protects() {
    let server = Server::new();
    let file = server.file(server.root, "f", 0o644);
    let status = |who: Credential, exclusive| {
        let args = lock_args(lock(file, 1, 0, 0), exclusive);
        server.results::<Response>(number(Procedure::Lock), who, &args).status
    };
    assert_eq!(status(user(7), false), Status::Granted);
    assert_eq!(status(user(7), true), Status::Failed);
    let attributes = nfs3::SetAttributes { uid: Some(7), ..nfs3::SetAttributes::default() };
    server.ok(&nfs3::SetAttrArgs { object: file, attributes, guard: None });
    assert_eq!(status(user(7), true), Status::Granted);
}

#[test]
fn a_read_only_export_takes_no_write_locks() {
    let server = Server::with_options(Rule { read_only: true, ..unsquashed() });
    assert_eq!(take(&server, lock(server.root, 1, 0, 0), true), Status::ReadOnly);
}

#[test]
fn unlock_from_another_address_has_no_effect() {
    let server = Server::new();
    let file = server.file(server.root, "f", 0o644);
    take(&server, lock(file, 1, 0, 0), true);
    let unlock = xdr::to_bytes(&UnlockArgs { cookie: cookie(), lock: lock(file, 1, 0, 0) });
    server.raw(number(Procedure::Unlock), user(0), "10.0.0.9", unlock).unwrap();
    let notify = Notify { name: Bytes::from_static(b"host"), state: 3 };
    let unprivileged = SocketAddr::from(([127, 0, 0, 1], 1024));
    server.raw_from(number(Procedure::FreeAll), user(0), unprivileged, xdr::to_bytes(&notify)).unwrap();
    server.raw(number(Procedure::FreeAll), user(0), "10.0.0.9", xdr::to_bytes(&notify)).unwrap();
    assert_eq!(take(&server, lock(file, 2, 0, 0), true), Status::Denied);
    call::<()>(&server, Procedure::FreeAll, &notify);
    assert_eq!(take(&server, lock(file, 2, 0, 0), true), Status::Granted);
}

#[test]
fn nm_lock_takes_the_same_locks() {
    let server = Server::new();
    let file = server.file(server.root, "f", 0o644);
    let response: Response = call(&server, Procedure::NmLock, &lock_args(lock(file, 1, 0, 0), true));
    assert_eq!(response.status, Status::Granted);
    assert_eq!(take(&server, lock(file, 2, 0, 0), true), Status::Denied);
}

#[test]
fn a_share_denies_others_what_it_says() {
    let server = Server::new();
    let file = server.file(server.root, "f", 0o644);
    let reader = share_args(file, 1, ShareAccess::Read, ShareMode::DenyWrite);
    let writer = share_args(file, 2, ShareAccess::Both, ShareMode::DenyNone);
    assert_eq!(share(&server, Procedure::Share, &reader), Status::Granted);
    assert_eq!(share(&server, Procedure::Share, &writer), Status::Denied);
    assert_eq!(share(&server, Procedure::Unshare, &reader), Status::Granted);
    assert_eq!(share(&server, Procedure::Share, &writer), Status::Granted);
    assert_eq!(share(&server, Procedure::Share, &reader), Status::Denied);
}

#[test]
fn client_side_and_unknown_procedures_are_unavailable() {
    let server = Server::new();
    for procedure in [5, 10, 11, 12, 13, 14, 16, 17, 18, 19, 24] {
        let outcome = server.raw((PROGRAM, VERSION, procedure), user(0), "::1", Bytes::new());
        assert_eq!(outcome, Err(Refusal::ProcedureUnavailable), "{procedure}");
    }
    assert_eq!(server.raw((PROGRAM, VERSION, 0), Credential::None, "::1", Bytes::new()), Ok(Bytes::new()));
    let garbage = server.raw(number(Procedure::Lock), user(0), "::1", Bytes::from_static(&[0; 7]));
    assert_eq!(garbage, Err(Refusal::GarbageArguments));
}

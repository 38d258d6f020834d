//! Calls that come twice, one after the other and at once.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use event_listener::Event;
use futures_util::FutureExt;
use proto::nfs3::{self, *};
use rpc::{CallHeader, Credential, Refusal};
use state::NameChange;
use vfs::{FileSystem, ObjectId};

use super::RetryLimits;
use crate::conflicts::{Conflict, Conflicts};
use crate::delegations::TakenNames;
use crate::fixture::{Head, Server, export, place, unsquashed, user, write_args};

/// Holds up whoever changes an entry, until it is opened, and counts them.
#[derive(Default)]
struct Gate {
    open: AtomicU32,
    opened: Event,
    came: AtomicU32,
}

impl Gate {
    /// Lets `calls` more calls in.
    fn admit(&self, calls: u32) {
        self.open.fetch_add(calls, Ordering::Relaxed);
        self.opened.notify(usize::MAX);
    }
}

impl Conflicts for Gate {
    type Guard<'a> = ();

    fn any(&self) -> bool {
        true
    }

    fn is_known_better(&self, _: ObjectId) -> bool {
        false
    }

    async fn before_attributes(&self, _: ObjectId) -> Result<(), Conflict> {
        Ok(())
    }

    async fn before_read(&self, _: ObjectId) -> Result<(), Conflict> {
        Ok(())
    }

    async fn before_write(&self, _: ObjectId) -> Result<(), Conflict> {
        Ok(())
    }

    async fn before_entry_change(&self, _: ObjectId) -> Result<(), Conflict> {
        let number = self.came.fetch_add(1, Ordering::Relaxed);
        while self.open.load(Ordering::Relaxed) <= number {
            self.opened.listen().await;
        }
        // The first after a closed gate finds that it is not yet its time.
        if self.open.load(Ordering::Relaxed) == u32::MAX { Err(Conflict::Later) } else { Ok(()) }
    }

    async fn before_name_change(
        &self,
        _: &TakenNames,
        _: &NameChange<ObjectId>,
    ) -> Result<Vec<()>, Conflict> {
        Ok(Vec::new())
    }

    async fn take_names(&self, _: Vec<(ObjectId, Bytes)>) -> Result<TakenNames, Conflict> {
        Ok(TakenNames::default())
    }

    async fn after_remove<F: FileSystem>(&self, _: &F, _: &F::Node) {}
}

fn header<R: Request>(xid: u32, credential: Credential) -> Head {
    let procedure = R::PROCEDURE.number();
    let header = CallHeader { xid, program: nfs3::PROGRAM, version: nfs3::VERSION, procedure };
    (header, credential.into())
}

fn at(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

/// A call of a client with a fixed address, from this port.
fn call<R: Request, C: Conflicts>(
    server: &Server<C>,
    (xid, port): (u32, u16),
    arguments: &R,
) -> Reply<R::Ok, R::Fail> {
    call_as::<R, C>(server, (xid, &format!("10.0.0.1:{port}"), user(0)), arguments)
}

fn call_as<R: Request, C: Conflicts>(
    server: &Server<C>,
    (xid, peer, who): (u32, &str, Credential),
    arguments: &R,
) -> Reply<R::Ok, R::Fail> {
    let header = header::<R>(xid, who);
    let results = server.send(&header, at(peer), xdr::to_bytes(arguments)).now_or_never();
    xdr::from_bytes(results.expect("nothing to wait for").unwrap()).unwrap()
}

fn make(dir: FileHandle, name: &str) -> MkDirArgs {
    MkDirArgs { place: place(dir, name), attributes: SetAttributes::default() }
}

#[test]
fn a_retry_from_another_port_gets_the_first_reply_and_a_new_call_runs() {
    let server = Server::new();
    let first = call(&server, (7, 700), &make(server.root, "d"));
    assert_eq!(first.status(), Status::Ok);
    assert_eq!(call(&server, (7, 800), &make(server.root, "d")), first);
    assert_eq!(call(&server, (8, 800), &make(server.root, "d")).status(), Status::Exists);
    assert_eq!(server.events.retries_answered.get(), 1);
}

#[test]
fn failures_are_repeated_as_well() {
    let server = Server::new();
    let remove = RemoveArgs { object: place(server.root, "f") };
    assert_eq!(call(&server, (7, 700), &remove).status(), Status::NoEntry);
    server.file(server.root, "f", 0o644);
    assert_eq!(call(&server, (7, 700), &remove).status(), Status::NoEntry);
    assert!(server.find(server.root, "f").is_some());
    assert_eq!(call(&server, (8, 700), &remove).status(), Status::Ok);
}

#[test]
fn every_procedure_that_changes_something_runs_once() {
    let server = Server::new();
    let root = server.root;
    let file = server.file(root, "file", 0o644);
    server.dir(root, "old dir", 0o755);
    server.file(root, "victim", 0o644);
    let set = SetAttributes::default();
    let guard = Some(server.attributes(file).changed);
    let guarded = SetAttributes { mode: Some(0o600), ..set };
    fn twice<R: Request>(server: &Server, xid: u32, arguments: &R)
    where
        Reply<R::Ok, R::Fail>: PartialEq + std::fmt::Debug,
    {
        let first = call(server, (xid, 700), arguments);
        assert_eq!(first.status(), Status::Ok, "{}", R::PROCEDURE);
        assert_eq!(call(server, (xid, 701), arguments), first, "{}", R::PROCEDURE);
    }
    twice(&server, 1, &SetAttrArgs { object: file, attributes: guarded, guard });
    twice(&server, 2, &CreateArgs { place: place(root, "new"), how: CreateHow::Guarded(set) });
    twice(&server, 3, &make(root, "new dir"));
    let symlink = SymlinkArgs {
        place: place(root, "symlink"),
        attributes: set,
        target: Bytes::from_static(b"somewhere"),
    };
    twice(&server, 4, &symlink);
    twice(&server, 5, &MkNodArgs { place: place(root, "fifo"), what: MkNodData::Fifo(set) });
    twice(&server, 6, &RemoveArgs { object: place(root, "victim") });
    twice(&server, 7, &RmDirArgs { object: place(root, "old dir") });
    twice(&server, 8, &LinkArgs { file, link: place(root, "link") });
    twice(&server, 9, &RenameArgs { from: place(root, "link"), to: place(root, "renamed") });
    twice(&server, 10, &write_args(file, 0, b"data"));
}

#[test]
fn a_late_copy_of_a_write_does_not_undo_a_newer_one() {
    let server = Server::new();
    let file = server.file(server.root, "f", 0o644);
    call(&server, (1, 700), &write_args(file, 0, b"old"));
    call(&server, (2, 701), &write_args(file, 0, b"new"));
    call(&server, (1, 700), &write_args(file, 0, b"old"));
    assert_eq!(server.read(file, 0, 9).data, "new");
}

#[test]
fn clients_behind_one_address_that_use_the_same_id_are_told_apart() {
    let server = Server::new();
    let peer = "10.0.0.1:700";
    let of = |name, who| call_as(&server, (7, peer, user(who)), &make(server.root, name)).status();
    assert_eq!(of("a", 0), Status::Ok);
    assert_eq!(of("b", 0), Status::Ok, "other arguments");
    assert_eq!(of("a", 5), Status::Exists, "another user");
    assert_eq!(of("a", 0), Status::Ok, "a retry");
    let elsewhere = call_as(&server, (7, "10.0.0.2:700", user(0)), &make(server.root, "a"));
    assert_eq!(elsewhere.status(), Status::Exists, "another client");
    // The same client, to a socket that takes both families.
    let mapped = call_as(&server, (7, "[::ffff:10.0.0.1]:700", user(0)), &make(server.root, "a"));
    assert_eq!(mapped.status(), Status::Ok);
}

#[test]
fn a_retry_of_a_call_under_way_waits_for_its_reply() {
    let gate = Arc::new(Gate::default());
    let server = Server::with(vec![export(1, "/", unsquashed())], Arc::clone(&gate));
    let (header, arguments) = (header::<MkDirArgs>(7, user(0)), xdr::to_bytes(&make(server.root, "d")));
    let send = |peer| server.send(&header, at(peer), arguments.clone());
    let (mut first, mut retry, mut third) =
        (pin!(send("10.0.0.1:700")), pin!(send("10.0.0.1:701")), pin!(send("10.0.0.1:702")));
    assert!(first.as_mut().now_or_never().is_none());
    assert!(retry.as_mut().now_or_never().is_none());
    assert!(third.as_mut().now_or_never().is_none());
    assert_eq!(gate.came.load(Ordering::Relaxed), 1, "the others wait before they do anything");
    gate.admit(1);
    assert!(retry.as_mut().now_or_never().is_none(), "the first has not ended");
    let reply = first.now_or_never().unwrap();
    assert_eq!(retry.now_or_never().unwrap(), reply);
    assert_eq!(third.now_or_never().unwrap(), reply);
    let reply: Reply<MkDirOk, MkDirFail> = xdr::from_bytes(reply.unwrap()).unwrap();
    assert_eq!(reply.status(), Status::Ok);
    assert_eq!(gate.came.load(Ordering::Relaxed), 1);
    assert_eq!(server.events.retries_answered.get(), 2);
}

#[test]
fn a_retry_runs_where_the_first_came_to_no_end() {
    let gate = Arc::new(Gate::default());
    let server = Server::with(vec![export(1, "/", unsquashed())], Arc::clone(&gate));
    let (header, arguments) = (header::<MkDirArgs>(7, user(0)), xdr::to_bytes(&make(server.root, "d")));
    let send = |peer| server.send(&header, at(peer), arguments.clone());
    let mut retry = pin!(send("10.0.0.1:701"));
    {
        let mut first = pin!(send("10.0.0.1:700"));
        assert!(first.as_mut().now_or_never().is_none());
        assert!(retry.as_mut().now_or_never().is_none());
        assert_eq!(gate.came.load(Ordering::Relaxed), 1);
    }
    gate.admit(2);
    let reply: Reply<MkDirOk, MkDirFail> = xdr::from_bytes(retry.now_or_never().unwrap().unwrap()).unwrap();
    assert_eq!((reply.status(), gate.came.load(Ordering::Relaxed)), (Status::Ok, 2));
}

#[test]
fn a_call_waits_for_a_place_where_all_are_taken_by_calls_under_way() {
    let gate = Arc::new(Gate::default());
    let limits = RetryLimits { replies_max: 1, ..RetryLimits::default() };
    let server =
        Server::with(vec![export(1, "/", unsquashed())], Arc::clone(&gate)).with_retry_limits(limits);
    let send = |name: &'static str, xid| {
        let (server, arguments) = (&server, xdr::to_bytes(&make(server.root, name)));
        async move { server.send(&header::<MkDirArgs>(xid, user(0)), at("10.0.0.1:700"), arguments).await }
    };
    let (mut first, mut second, mut third) = (pin!(send("a", 1)), pin!(send("b", 2)), pin!(send("c", 3)));
    assert!(first.as_mut().now_or_never().is_none());
    assert!(second.as_mut().now_or_never().is_none());
    assert!(third.as_mut().now_or_never().is_none());
    gate.admit(9);
    assert!(second.as_mut().now_or_never().is_none(), "there is no place yet");
    assert!(first.as_mut().now_or_never().is_some());
    assert!(second.as_mut().now_or_never().is_some());
    assert!(third.as_mut().now_or_never().is_some());
    assert_eq!(gate.came.load(Ordering::Relaxed), 3);
}

#[test]
fn to_come_back_later_is_not_repeated() {
    let gate = Arc::new(Gate::default());
    let server = Server::with(vec![export(1, "/", unsquashed())], Arc::clone(&gate));
    gate.admit(u32::MAX);
    assert_eq!(call(&server, (7, 700), &make(server.root, "d")).status(), Status::Jukebox);
    gate.open.store(9, Ordering::Relaxed);
    assert_eq!(call(&server, (7, 700), &make(server.root, "d")).status(), Status::Ok);
}

#[test]
fn retry_of_a_refused_call_is_refused() {
    let server = Server::new();
    let header = header::<MkDirArgs>(7, user(0));
    for _ in 0..2 {
        let outcome = server.send(&header, at("10.0.0.1:1"), Bytes::from_static(b"abc")).now_or_never();
        assert_eq!(outcome, Some(Err(Refusal::GarbageArguments)));
    }
}

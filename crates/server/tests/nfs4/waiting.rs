//! Who waits for a lock by NFSv4 and who waits through NLM: one queue.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use proto::nfs4::{DelegReturnArgs, FileHandle, LockType, Operation, Status};
use proto::nlm4::{self, NetObject, Procedure};
use rpc::CallError;
use server::hosts::{CallHosts, HostRoute, ProcedureNumber};
use server::runtime::BoxFuture;
use xdr::Encode;

use crate::callbacks::{lock, open_again, unlock};
use crate::delegations::delegated;
use crate::peer::{Peer, TestServer};

/// Hosts that take every lock that they are given.
#[derive(Default)]
struct Hosts(Mutex<Vec<ProcedureNumber>>);

impl CallHosts for Hosts {
    fn call(
        &self,
        _: HostRoute,
        procedure: ProcedureNumber,
        _: Vec<u8>,
        _: Duration,
    ) -> BoxFuture<Result<Bytes, CallError>> {
        self.0.lock().push(procedure);
        let answer = nlm4::Response { cookie: NetObject::default(), status: nlm4::Status::Granted };
        Box::pin(std::future::ready(Ok(xdr::to_bytes(&answer))))
    }
}

fn nlm(file: &FileHandle) -> nlm4::Lock {
    nlm4::Lock {
        caller_name: "host".into(),
        file: NetObject(file.0.clone()),
        owner: NetObject("owner".into()),
        process: 7,
        offset: 0,
        length: 0,
    }
}

fn ask(peer: &Peer, procedure: Procedure, arguments: &impl Encode) -> nlm4::Status {
    let number = (nlm4::PROGRAM, nlm4::VERSION, procedure.number());
    xdr::from_bytes::<nlm4::Response>(peer.call(number, arguments).unwrap()).unwrap().status
}

fn take(peer: &Peer, file: &FileHandle) -> nlm4::Status {
    take_as(peer, nlm(file), true)
}

fn take_as(peer: &Peer, lock: nlm4::Lock, exclusive: bool) -> nlm4::Status {
    let cookie = NetObject::default();
    let arguments = nlm4::LockArgs { cookie, block: true, exclusive, lock, reclaim: false, state: 1 };
    ask(peer, Procedure::Lock, &arguments)
}

fn give_back(peer: &Peer, file: &FileHandle) -> nlm4::Status {
    ask(peer, Procedure::Unlock, &nlm4::UnlockArgs { cookie: NetObject::default(), lock: nlm(file) })
}

#[test]
fn waiters_of_all_versions_are_served_in_order() {
    let server = TestServer::new();
    let hosts = Arc::new(Hosts::default());
    server.recaller.call_hosts_by(Arc::clone(&hosts) as _);
    let (mut first, mut second, mut third) =
        (Peer::new(&server, 1), Peer::new(&server, 2), Peer::new(&server, 3));
    let host = Peer::stranger(&server, 4, 0);
    let (file, open_first) = first.create("f");
    let (open_second, open_third) = (open_again(&mut second, "f"), open_again(&mut third, "f"));
    // NFSv4 waits before NLM.
    let held = lock(&mut first, &file, open_first, LockType::Write).1.expect("free");
    assert_eq!(lock(&mut second, &file, open_second, LockType::WriteWait).0, Status::Denied);
    assert_eq!(take(&host, &file), nlm4::Status::Blocked);
    unlock(&mut first, &file, held);
    server.world.run();
    assert_eq!((second.callbacks.notified.lock().len(), hosts.0.lock().len()), (1, 0), "the host is behind");
    let held = lock(&mut second, &file, open_second, LockType::WriteWait).1.expect("free");
    unlock(&mut second, &file, held);
    server.world.run();
    assert_eq!(hosts.0.lock()[..], [(nlm4::PROGRAM, nlm4::VERSION, 5)], "GRANTED");
    // NLM has it, and NFSv4 waits.
    assert_eq!(lock(&mut third, &file, open_third, LockType::WriteWait).0, Status::Denied);
    assert!(third.callbacks.notified.lock().is_empty());
    assert_eq!(give_back(&host, &file), nlm4::Status::Granted);
    server.world.run();
    assert_eq!(third.callbacks.notified.lock().len(), 1);
    lock(&mut third, &file, open_third, LockType::WriteWait).1.expect("free");
}

#[test]
fn a_called_waiter_comes_before_a_later_lock_that_can_wait() {
    let server = TestServer::new();
    let hosts = Arc::new(Hosts::default());
    server.recaller.call_hosts_by(Arc::clone(&hosts) as _);
    let (mut first, mut second) = (Peer::new(&server, 1), Peer::new(&server, 2));
    let host = Peer::stranger(&server, 4, 0);
    let (file, open_first) = first.create("f");
    let open_second = open_again(&mut second, "f");
    let held = lock(&mut first, &file, open_first, LockType::Write).1.expect("free");
    assert_eq!(lock(&mut second, &file, open_second, LockType::WriteWait).0, Status::Denied);
    unlock(&mut first, &file, held);
    server.world.run();
    assert_eq!(second.callbacks.notified.lock().len(), 1);
    // The lock is free, and promised.
    assert_eq!(lock(&mut first, &file, open_first, LockType::WriteWait).0, Status::Denied);
    assert_eq!(take(&host, &file), nlm4::Status::Blocked);
    let held = lock(&mut second, &file, open_second, LockType::WriteWait).1.expect("promised");
    unlock(&mut second, &file, held);
    server.world.run();
    assert_eq!(first.callbacks.notified.lock().len(), 1, "in the order of asking");
    let held = lock(&mut first, &file, open_first, LockType::WriteWait).1.expect("promised");
    unlock(&mut first, &file, held);
    server.world.run();
    assert_eq!(give_back(&host, &file), nlm4::Status::Granted);
}

#[test]
fn promised_lock_is_free_after_a_moment_and_for_locks_that_do_not_wait() {
    let server = TestServer::new();
    let (mut first, mut second) = (Peer::new(&server, 1), Peer::new(&server, 2));
    let (file, open_first) = first.create("f");
    let open_second = open_again(&mut second, "f");
    let mut held = lock(&mut first, &file, open_first, LockType::Write).1.expect("free");
    assert_eq!(lock(&mut second, &file, open_second, LockType::WriteWait).0, Status::Denied);
    for kind in [LockType::Write, LockType::WriteWait] {
        unlock(&mut first, &file, held);
        server.world.run();
        if kind == LockType::WriteWait {
            server.at(10_000);
        }
        held = lock(&mut first, &file, open_first, kind).1.expect("free");
    }
}

#[test]
fn delegation_in_the_way_of_a_waiting_host_is_recalled() {
    let server = TestServer::new();
    let hosts = Arc::new(Hosts::default());
    server.recaller.call_hosts_by(Arc::clone(&hosts) as _);
    let (mut holder, host) = (Peer::new(&server, 1), Peer::stranger(&server, 4, 0));
    let (file, state_id) = holder.create("f");
    assert_eq!(holder.close(&file, state_id), Status::Ok);
    assert_eq!(take_as(&host, nlm(&file), false), nlm4::Status::Granted);
    assert_eq!(take_as(&host, nlm4::Lock { process: 8, ..nlm(&file) }, true), nlm4::Status::Blocked);
    // Granted while the host waits: a lock for reading is not in its way.
    let delegation = delegated(&mut holder, "f").expect("delegated");
    assert_eq!(give_back(&host, &file), nlm4::Status::Granted);
    server.world.run();
    assert_eq!(*holder.callbacks.recalled.lock(), [delegation]);
    assert!(hosts.0.lock().is_empty(), "not before it is back");
    let back = DelegReturnArgs { state_id: delegation };
    assert_eq!(holder.on(&file, Operation::DelegReturn, &back).status, Status::Ok);
    server.world.run();
    assert_eq!(hosts.0.lock()[..], [(nlm4::PROGRAM, nlm4::VERSION, 5)], "GRANTED");
}

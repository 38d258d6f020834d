//! What there is on a server before a case begins.

use std::sync::Arc;

use bytes::Bytes;
use proto::nfs4::attributes::AttributeValues;
use proto::nfs4::*;

use super::arguments::{bytes, create, lock, put, root, unlock};
use super::ledger::{Ledger, Step, step};
use crate::peer::{Peer, TestServer, open};

/// What there is before a case begins. The root has the files `f`, `g`, `k`, `r`, the directory `d`, the
/// symbolic link `l` and the pipe `p`.
#[derive(Clone)]
pub struct Scene {
    pub file: FileHandle,
    /// `f`, open for reading and writing, and so that it can be downgraded to reading.
    pub open: StateId,
    pub delegated: FileHandle,
    /// A read delegation of `g`, if the server delegates.
    pub delegation: StateId,
    pub locked: FileHandle,
    /// `k` is open, and under it are a lock-owner with a range and one without.
    pub locked_open: StateId,
    pub lock: StateId,
    pub idle_lock: StateId,
    pub directory: FileHandle,
    pub link: FileHandle,
    pub pipe: FileHandle,
    /// A session of another client.
    pub session: SessionId,
    /// A client without a session, not confirmed.
    pub client: ClientId,
}

/// What is there whatever the server allows.
pub struct Objects {
    /// `f`, `g` and `k`.
    files: [FileHandle; 3],
    directory: FileHandle,
    link: FileHandle,
    pipe: FileHandle,
}

impl Objects {
    pub fn make(peer: &mut Peer) -> Self {
        let ledger = Ledger::new(peer.minor_version);
        let files = ["f", "g", "k", "r"].map(|name| {
            let (file, open) = peer.create(name);
            let write = WriteArgs {
                state_id: open,
                offset: 0,
                stable: StableHow::FileSync,
                data: Bytes::from_static(b"data"),
            };
            assert_eq!(peer.on(&file, Operation::Write, &write).status, Status::Ok);
            assert_eq!(peer.close(&file, open), Status::Ok);
            file
        });
        let [f, g, k, _] = files;
        let mut make = |kind, name: &[u8]| {
            let values = AttributeValues { mode: Some(0o755), ..Default::default() };
            let steps = [root(), create(kind, name, &values), step(Operation::GetFh, &())];
            let mut results = ledger.run(peer, &steps).sequenced();
            results.ok(Operation::PutRootFh);
            results.body::<CreateResult>(Operation::Create);
            results.body::<GetFhResult>(Operation::GetFh).object
        };
        Self {
            files: [f, g, k],
            directory: make(CreateType::Directory, b"d"),
            link: make(CreateType::Symlink(Bytes::from_static(b"f")), b"l"),
            pipe: make(CreateType::Fifo, b"p"),
        }
    }
}

/// Opens a file of the root.
fn open_in_root(peer: &mut Peer, name: &str, access: u32) -> (FileHandle, OpenResult) {
    let mut results = peer
        .compound(|c| {
            c.push(Operation::PutRootFh, &())
                .push(Operation::Open, &open(name, access, None))
                .push(Operation::GetFh, &());
        })
        .sequenced();
    results.ok(Operation::PutRootFh);
    let opened = results.body(Operation::Open);
    (results.body::<GetFhResult>(Operation::GetFh).object, opened)
}

impl Scene {
    pub fn make(server: &Arc<TestServer>, peer: &mut Peer, objects: Objects, has_state: bool) -> Self {
        let none = share::WANT_NO_DELEGATION;
        let mut other = Peer::stranger(server, 2, 0);
        let exchanged = other.exchange_id("client 2", 1).unwrap();
        other.client = exchanged.client;
        let session = other.create_session(exchanged.sequence).unwrap().session;
        // A session is ended over a connection of its own (RFC 8881 §18.37.3).
        let direction = DirectionFromClient::Fore;
        let bind = BindConnToSessionArgs { session, direction, rdma: false };
        assert_eq!(peer.alone(Operation::BindConnToSession, &bind), Status::Ok);
        let client = Peer::stranger(server, 3, 0).exchange_id("client 3", 1).unwrap().client;
        let [file, delegated, locked] = objects.files;
        let mut scene = Self {
            file,
            open: StateId::ANONYMOUS,
            delegated,
            delegation: StateId::ANONYMOUS,
            locked,
            locked_open: StateId::ANONYMOUS,
            lock: StateId::ANONYMOUS,
            idle_lock: StateId::ANONYMOUS,
            directory: objects.directory,
            link: objects.link,
            pipe: objects.pipe,
            session,
            client,
        };
        if !has_state {
            return scene;
        }
        open_in_root(peer, "f", share::READ | none);
        scene.open = open_in_root(peer, "f", share::BOTH | none).1.state_id;
        let (_, opened) = open_in_root(peer, "g", share::READ | share::WANT_READ_DELEGATION);
        if let OpenDelegation::Read(delegation) = opened.delegation {
            scene.delegation = delegation.state_id;
        }
        scene.locked_open = open_in_root(peer, "k", share::BOTH | none).1.state_id;
        let mut take = |operation, arguments: &dyn Fn() -> Step| {
            let ledger = Ledger::new(peer.minor_version);
            let mut results = ledger.run(peer, &[put(&scene.locked), arguments()]).sequenced();
            results.ok(Operation::PutFh);
            results.body::<LockResult>(operation).state_id
        };
        let open = scene.locked_open;
        scene.lock = take(Operation::Lock, &|| step(Operation::Lock, &lock(open, "holder", 0, 10)));
        let idle = take(Operation::Lock, &|| step(Operation::Lock, &lock(open, "idle", 20, 10)));
        scene.idle_lock = take(Operation::LockU, &|| step(Operation::LockU, &unlock(idle, 20, 10)));
        scene
    }
}

/// The handle of an object in the root.
pub fn named(peer: &mut Peer, name: &str) -> FileHandle {
    let name = bytes(name);
    let mut results = peer
        .compound(|c| {
            c.push(Operation::PutRootFh, &())
                .push(Operation::Lookup, &LookupArgs { name })
                .push(Operation::GetFh, &());
        })
        .sequenced();
    results.ok(Operation::PutRootFh);
    results.ok(Operation::Lookup);
    results.body::<GetFhResult>(Operation::GetFh).object
}

//! A server with some objects and state, and for every operation a COMPOUND in which it succeeds.

use std::sync::Arc;

use bytes::Bytes;
use proto::nfs4::attributes::{AttributeValues, Bitmap};
use proto::nfs4::*;
use server::exports::{Clients, Export, ExportId, ExportOptions, ExportPath, Exports, Squash};
use state::{Limits, Now, Principal, State, record_name};
use vfs::FileSystem;
use vfs::memory::{Memory, MemoryOptions};

use super::fault::{Faulty, Trigger};
use super::ledger::{Ledger, Step, step};
use crate::peer::{Peer, Results, TestServer, open, test_options};

/// How to set up a [`Lab`].
#[derive(Default)]
pub struct Options {
    pub limits: Limits,
    pub read_only: bool,
    /// No address may use it.
    pub closed: bool,
    /// Owners that may reclaim.
    pub known: Vec<&'static str>,
}

/// A server and one client.
pub struct Lab<'a> {
    pub ledger: &'a Ledger,
    pub server: Arc<TestServer>,
    pub trigger: Arc<Trigger>,
    pub peer: Peer,
    /// Another file system.
    pub elsewhere: FileHandle,
    pub scene: Scene,
}

/// What there is before a case begins. The root has the files `f`, `g`, `k`, `r`, the directory `d`, the symbolic link `l` and
/// the pipe `p`.
#[derive(Clone)]
pub struct Scene {
    pub file: FileHandle,
    /// `f`, open for reading and writing, and so that it can be downgraded to reading.
    pub open: StateId,
    pub delegated: FileHandle,
    /// A read delegation of `g`.
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

fn exports(
    memory: &Arc<Memory>,
    trigger: &Arc<Trigger>,
    (read_only, closed): (bool, bool),
) -> (Arc<Exports<Faulty>>, FileHandle) {
    let squash = Squash::None { anonymous: Squash::NOBODY };
    let clients = if closed { Clients::Networks(vec![]) } else { Clients::All };
    let options = ExportOptions { squash, read_only, clients };
    let other = Memory::new(MemoryOptions::default()).unwrap();
    let elsewhere = FileHandle(Bytes::copy_from_slice(other.handle(&other.root()).as_bytes()));
    let faulty = |memory| Faulty { memory, trigger: Arc::clone(trigger) };
    let path = ExportPath::new(b"/elsewhere").unwrap();
    let list = vec![
        Export::new(ExportId(1), ExportPath::root(), faulty(Arc::clone(memory)), options.clone()),
        Export::new(ExportId(2), path, faulty(Arc::new(other)), options),
    ];
    (Arc::new(Exports::new(list).unwrap()), elsewhere)
}

impl<'a> Lab<'a> {
    pub fn new(ledger: &'a Ledger) -> Self {
        Self::with(ledger, &Options::default())
    }

    /// The objects are made by a server of their own; the options are those of the one that serves them then. Without a grace
    /// period or protection there is state, too.
    pub fn with(ledger: &'a Ledger, options: &Options) -> Self {
        let memory = MemoryOptions { root_mode: 0o777, ..MemoryOptions::default() };
        let memory = Arc::new(Memory::new(memory).unwrap());
        let trigger = Arc::new(Trigger::default());
        let (writable, _) = exports(&memory, &trigger, (false, false));
        let maker =
            Arc::new(TestServer::serving(writable, test_options(), None, State::new(Limits::default(), 76)));
        let objects = Objects::make(&mut Peer::new(&maker, 99));
        let (exports, elsewhere) = exports(&memory, &trigger, (options.read_only, options.closed));
        let state = State::new(options.limits, 77);
        let refuses = options.read_only || options.closed || options.limits.states_per_client_max == 0;
        let has_state = options.known.is_empty() && !refuses;
        let names = options.known.iter().map(|owner| (record_name(owner.as_bytes(), &superuser()), false));
        state.begin_grace(names, Now(0));
        let server = Arc::new(TestServer::serving(exports, test_options(), None, state));
        let mut peer = Peer::new(&server, 1);
        let scene = Scene::make(&server, &mut peer, objects, has_state);
        Self { ledger, server, trigger, peer, elsewhere, scene }
    }

    /// Runs a COMPOUND of the first client.
    pub fn run(&mut self, steps: &[Step]) -> Results {
        self.ledger.run(&mut self.peer, steps)
    }

    /// Runs a COMPOUND of the first client; its last operation must end like this.
    #[track_caller]
    pub fn expect(&mut self, steps: &[Step], status: Status) {
        let results = self.run(steps);
        expect(steps, &results, status);
    }

    /// The handle of an object in the root.
    pub fn handle(&mut self, name: &str) -> FileHandle {
        named(&mut self.peer, name)
    }

    /// Another client, of a user.
    pub fn client(&self, id: u64, uid: u32) -> Peer {
        let mut peer = Peer::stranger(&self.server, id, uid);
        let exchanged = peer.exchange_id(&format!("client {id}"), 1).unwrap();
        peer.client = exchanged.client;
        peer.create_session(exchanged.sequence).unwrap();
        self.server.world.run();
        assert_eq!(peer.reclaim_complete(), Status::Ok);
        peer
    }
}

/// As whom the clients of a lab call: user 0 by AUTH_SYS.
fn superuser() -> Principal {
    Principal(Bytes::from_static(&[1, 0, 0, 0, 0]))
}

/// The last of the steps must have ended like this.
#[track_caller]
pub fn expect(steps: &[Step], results: &Results, status: Status) {
    let names: Vec<_> = steps.iter().map(|step| step.operation.name()).collect();
    let expected = (steps.len() as u32 + 1, status);
    assert_eq!((results.count, results.status), expected, "{}", names.join(" "));
}

pub fn root() -> Step {
    step(Operation::PutRootFh, &())
}

pub fn put(object: &FileHandle) -> Step {
    step(Operation::PutFh, &PutFhArgs { object: object.clone() })
}

pub fn bytes(name: &str) -> Bytes {
    Bytes::copy_from_slice(name.as_bytes())
}

pub fn lookup(name: &str) -> Step {
    step(Operation::Lookup, &LookupArgs { name: bytes(name) })
}

/// CREATE in the current directory.
pub fn create(kind: CreateType, name: &[u8], values: &AttributeValues) -> Step {
    let name = Bytes::copy_from_slice(name);
    let mut created = step(Operation::Create, &CreateArgs { kind, name });
    created.arguments.extend(step(Operation::Create, values).arguments);
    created
}

/// SETATTR of the current object.
pub fn set(state_id: StateId, values: &AttributeValues) -> Step {
    let mut set = step(Operation::SetAttr, &SetAttrArgs { state_id });
    set.arguments.extend(step(Operation::SetAttr, values).arguments);
    set
}

struct Objects {
    /// `f`, `g` and `k`.
    files: [FileHandle; 3],
    directory: FileHandle,
    link: FileHandle,
    pipe: FileHandle,
}

impl Objects {
    fn make(peer: &mut Peer) -> Self {
        let ledger = Ledger::default();
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

/// The arguments of a LOCK by a new lock-owner.
pub fn lock(open: StateId, owner: &'static str, offset: u64, length: u64) -> LockArgs {
    LockArgs {
        kind: LockType::Write,
        reclaim: false,
        offset,
        length,
        locker: Locker::New(NewLockOwner {
            open_sequence: 0,
            open_state_id: open,
            lock_sequence: 0,
            owner: StateOwner { client: ClientId(0), owner: bytes(owner) },
        }),
    }
}

/// The arguments of a LOCKU.
pub fn unlock(state_id: StateId, offset: u64, length: u64) -> LockUArgs {
    LockUArgs { kind: LockType::Write, sequence: 0, state_id, offset, length }
}

impl Scene {
    fn make(server: &Arc<TestServer>, peer: &mut Peer, objects: Objects, has_state: bool) -> Self {
        let none = share::WANT_NO_DELEGATION;
        let mut other = Peer::stranger(server, 2, 0);
        let exchanged = other.exchange_id("client 2", 1).unwrap();
        other.client = exchanged.client;
        let session = other.create_session(exchanged.sequence).unwrap().session;
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
        let OpenDelegation::Read(delegation) = opened.delegation else { panic!("{:?}", opened.delegation) };
        scene.delegation = delegation.state_id;
        scene.locked_open = open_in_root(peer, "k", share::BOTH | none).1.state_id;
        let mut take = |operation, arguments: &dyn Fn() -> Step| {
            let ledger = Ledger::default();
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

fn named(peer: &mut Peer, name: &str) -> FileHandle {
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

/// The arguments of an EXCHANGE_ID.
pub fn exchange(owner: &str, verifier: u8, flags: u32) -> ExchangeIdArgs {
    let owner = ClientOwner { verifier: Verifier([verifier; 8]), id: bytes(owner) };
    ExchangeIdArgs { owner, flags, state_protect: StateProtect::None, implementation: vec![] }
}

/// The arguments of a LOCKT.
pub fn test_lock(owner: &str, offset: u64, length: u64) -> LockTArgs {
    let owner = StateOwner { client: ClientId(0), owner: bytes(owner) };
    LockTArgs { kind: LockType::Write, offset, length, owner }
}

/// The arguments of a READDIR from the start.
pub fn read_dir(wanted: Bitmap) -> ReadDirArgs {
    let verifier = Verifier([0; 8]);
    ReadDirArgs { cookie: 0, verifier, directory_count: 1000, count_max: 4000, wanted }
}

/// The arguments of a WRITE of a few bytes.
pub fn write(state_id: StateId, offset: u64) -> WriteArgs {
    WriteArgs { state_id, offset, stable: StableHow::Unstable, data: Bytes::from_static(b"more") }
}

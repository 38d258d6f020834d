//! A server with some objects and state, and a client of it.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it tests real files")]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use proto::nfs4::*;
use server::exports::{Clients, Export, ExportId, ExportPath, Exports, Rule, Squash};
use server::nfs4::Nfs4Options;
use state::{Limits, Now, Principal, State, record_name};
use vfs::FileSystem;
use vfs::memory::{Memory, MemoryOptions};

use super::fault::{Faulty, Trigger};
use super::ledger::{Ledger, Step};
use super::scene::{Objects, Scene, named};
use crate::peer::{Peer, Results, Setup, TestServer, test_options};

/// How to set up a [`Lab`].
#[derive(Default)]
pub struct Options {
    pub limits: Limits,
    pub read_only: bool,
    /// No address may use it.
    pub closed: bool,
    /// The most objects and bytes of the file system.
    pub objects_max: Option<u64>,
    pub bytes_max: Option<u64>,
    /// Owners that may reclaim.
    pub known: Vec<&'static str>,
}

/// A server and one client.
pub struct Lab<'a> {
    pub ledger: &'a Ledger,
    pub server: Arc<TestServer>,
    pub trigger: Arc<Trigger>,
    pub peer: Peer,
    /// Another file system, where there is one.
    pub elsewhere: FileHandle,
    pub scene: Scene,
}

fn exports(
    memory: &Arc<Memory>,
    trigger: &Arc<Trigger>,
    (read_only, closed): (bool, bool),
) -> (Arc<Exports<Faulty>>, FileHandle) {
    let clients = if closed { Clients::Networks(vec![]) } else { Clients::All };
    let rule = Rule { squash: Squash::NONE, read_only, clients, ..Rule::default() };
    let other = Memory::new(MemoryOptions::default()).unwrap();
    let elsewhere = FileHandle(Bytes::copy_from_slice(other.handle(&other.root()).as_bytes()));
    let faulty = |memory| Faulty { memory, trigger: Arc::clone(trigger) };
    let path = ExportPath::new(b"/elsewhere").unwrap();
    let list = vec![
        Export::new(ExportId(1), ExportPath::root(), faulty(Arc::clone(memory)), rule.clone()),
        Export::new(ExportId(2), path, faulty(Arc::new(other)), rule),
    ];
    (Arc::new(Exports::new(list).unwrap()), elsewhere)
}

impl<'a> Lab<'a> {
    pub fn new(ledger: &'a Ledger) -> Self {
        Self::with(ledger, &Options::default())
    }

    /// The objects are made by a server of their own; the options are those of the one that serves them then.
    /// Without a grace period or protection there is state, too.
    pub fn with(ledger: &'a Ledger, options: &Options) -> Self {
        let memory = MemoryOptions { root_mode: 0o777, ..MemoryOptions::default() };
        let memory = MemoryOptions {
            objects_max: options.objects_max.unwrap_or(memory.objects_max),
            bytes_max: options.bytes_max.unwrap_or(memory.bytes_max),
            ..memory
        };
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
        let names = options
            .known
            .iter()
            .map(|owner| (record_name(owner.as_bytes(), &superuser()), state::Lost::default()));
        state.begin_grace(names, Now(0));
        let mut server = TestServer::serving(exports, test_options(), None, state);
        server.minor_version = ledger.minor_version;
        let server = Arc::new(server);
        let mut peer = Peer::new(&server, 1);
        let scene = Scene::make(&server, &mut peer, objects, has_state);
        Self { ledger, server, trigger, peer, elsewhere, scene }
    }

    /// Over a directory, without delegations: a request that waits for one to be returned would wait for
    /// ever.
    pub fn local(ledger: &'a Ledger, directory: &Path) -> Self {
        std::fs::set_permissions(directory, PermissionsExt::from_mode(0o777)).unwrap();
        let options = Nfs4Options { delegations: false, ..test_options() };
        let server = TestServer::local_with(
            directory,
            Setup { options, minor_version: ledger.minor_version, ..Setup::default() },
        );
        let mut peer = Peer::new(&server, 1);
        let objects = Objects::make(&mut peer);
        let scene = Scene::make(&server, &mut peer, objects, true);
        let elsewhere = scene.directory.clone();
        Self { ledger, server, trigger: Arc::default(), peer, elsewhere, scene }
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

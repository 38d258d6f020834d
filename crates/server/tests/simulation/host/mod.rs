//! The real server over a memory file system, in a world that is driven by hand. It can crash and start
//! again: files survive, and what the disk has acknowledged.

mod caller;
mod disk;
mod line;
mod slow;
mod world;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use proto::nfs4::FileHandle;
use rpc::{AuthSys, Call, CallHeader, Connection, Service};
use server::dispatch::Programs;
use server::exports::{Export, ExportId, ExportPath, Exports, Rule, Squash};
use server::nfs4::{Nfs4, Nfs4Options, OwnerNames};
use server::nsm1::Nsm1;
use server::runtime::Runtime;
use server::services::StateService;
use server::stable::{Forgetful, StableRecords};
use state::{Limits, Now, State};
use vfs::memory::{Memory, MemoryOptions};
use vfs::{FileSystem, Timestamp};
use xdr::{Decoder, Encoder};

use caller::HostCaller;
pub use disk::Disk;
use line::Line;
use slow::{Pace, Slow};
pub use world::Clock;
use world::World;

use crate::random::Random;

/// Short times, so that leases end and delegations are revoked within a run.
pub const LIMITS: Limits = Limits {
    lease_seconds: 20,
    courtesy_seconds: 60,
    lapsed_clients_max: 2,
    clients_max: 64,
    sessions_per_client_max: 64,
    slots_max: 8,
    session_bytes_max: 64 << 20,
    message_bytes_max: 1 << 16,
    cached_reply_bytes_max: 16 << 10,
    operations_max: 16,
    states_per_client_max: 1000,
    states_max: 100_000,
    ranges_per_file_max: 1000,
    delegations_max: 1000,
    recall_ms: 10_000,
    recall_pause_ms: 2000,
};

/// Of all servers' file system.
const KEY: [u8; 16] = [7; 16];

/// The handle of the root, as MOUNT would tell it.
pub fn root_handle() -> FileHandle {
    let memory = Memory::new(MemoryOptions { key: Some(KEY), ..MemoryOptions::default() }).expect("memory");
    FileHandle(Bytes::copy_from_slice(memory.handle(&memory.root()).as_bytes()))
}

/// What the server sends.
pub enum FromServer {
    Reply {
        connection: u64,
        tag: u64,
        bytes: Bytes,
    },
    Callback {
        connection: u64,
        call: u64,
        procedure: u32,
        bytes: Bytes,
    },
    /// GRANTED.
    HostCall {
        call: u64,
        bytes: Bytes,
    },
}

pub type Outbox = Arc<Mutex<Vec<FromServer>>>;

/// The machine that the server runs on.
pub struct Host {
    exports: Arc<Exports<Slow>>,
    clock: Arc<Clock>,
    pub disk: Disk,
    outbox: Outbox,
    pace: Pace,
    boot: u32,
    running: Option<Running>,
}

type Service4 = Arc<Programs<Slow, StateService, StateService>>;

struct Running {
    /// Once it is ready for requests.
    programs: Arc<OnceLock<Service4>>,
    world: Arc<World>,
    hosts: Arc<HostCaller>,
    state: Arc<State>,
    lines: BTreeMap<u64, Arc<Line>>,
}

impl Host {
    pub fn new(clock: &Arc<Clock>, random: &mut Random) -> Self {
        let told = Arc::clone(clock);
        let time = move || Timestamp { seconds: told.now() as i64 / 1000, nanoseconds: 0 };
        let options = MemoryOptions {
            root_mode: 0o777,
            key: Some(KEY),
            clock: Arc::new(time),
            ..MemoryOptions::default()
        };
        let pace = Pace::new(random.fork());
        let memory = Memory::new(options).expect("memory");
        let rule = Rule { squash: Squash::NONE, ..Rule::default() };
        Self {
            exports: Arc::new(Exports::single(Export::new(
                ExportId(1),
                ExportPath::root(),
                Slow::new(memory, pace.clone()),
                rule,
            ))),
            clock: Arc::clone(clock),
            disk: Disk::new(random.fork()),
            outbox: Outbox::default(),
            pace,
            boot: 0,
            running: None,
        }
    }

    /// Starts the server, with its stable storage or without, and with sessions on it or without.
    pub fn start(&mut self, with_disk: bool, keeps_sessions: bool, random: Random) {
        self.boot += 1;
        let world = World::new(Arc::clone(&self.clock), random);
        self.pace.set_world(&world);
        let state = Arc::new(State::new(LIMITS, self.boot));
        let stable: Arc<dyn StableRecords> = if with_disk {
            state.begin_grace(self.disk.open(), Now(world.now_ms()));
            self.disk.records(&world, &self.clock, keeps_sessions)
        } else {
            Arc::new(Forgetful)
        };
        let runtime: Arc<dyn Runtime> = Arc::clone(&world) as _;
        let recaller = StateService::new(Arc::clone(&state), Arc::clone(&runtime), stable);
        let hosts = HostCaller::new(&world, &self.outbox);
        recaller.call_hosts_by(Arc::clone(&hosts) as _);
        let options = Nfs4Options {
            delegations: true,
            identity: Bytes::from_static(b"simulated"),
            owner_names: OwnerNames::Numeric,
        };
        let nfs4 = Nfs4::new(Arc::clone(&self.exports), recaller.clone(), options);
        let sessions = if with_disk && keeps_sessions { self.disk.open_sessions() } else { Vec::new() };
        let programs = Arc::new(OnceLock::new());
        let (ticking, exports, ready) =
            (Arc::clone(&runtime), Arc::clone(&self.exports), Arc::clone(&programs));
        world.spawn(Box::pin(async move {
            nfs4.bring_back(sessions).await;
            let nsm1 = Nsm1::new(recaller.clone(), 1);
            let serving =
                Programs::new(exports, recaller.clone(), recaller.clone()).with_nfs4(nfs4).with_nsm1(nsm1);
            assert!(ready.set(Arc::new(serving)).is_ok(), "it starts once");
            loop {
                recaller.tick().await;
                ticking.sleep(Duration::from_secs(1)).await;
            }
        }));
        self.running = Some(Running { programs, world, hosts, state, lines: BTreeMap::new() });
    }

    pub fn is_up(&self) -> bool {
        self.running.is_some()
    }

    /// Ends the server between two instructions.
    pub fn crash(&mut self) {
        if let Some(running) = self.running.take() {
            running.world.stop();
            self.disk.crash();
        }
        self.outbox.lock().clear();
    }

    /// A request arrives; its reply comes out of [`Host::run`] under the same tag. False when no server is
    /// there.
    pub fn request(
        &mut self,
        (connection, open): (u64, bool),
        machine: usize,
        tag: u64,
        number: (u32, u32, u32),
        bytes: Bytes,
    ) -> bool {
        let Some(running) = &mut self.running else { return false };
        // Nobody listens yet.
        let Some(programs) = running.programs.get().cloned() else { return false };
        let line = match running.lines.get(&connection) {
            Some(line) => Arc::clone(line),
            None => {
                let line = Line::new((connection, machine), open, &running.world, &self.outbox);
                if open {
                    running.lines.insert(connection, Arc::clone(&line));
                }
                line
            }
        };
        let outbox = self.outbox.clone();
        running.world.spawn(Box::pin(async move {
            let sys =
                AuthSys { stamp: 0, machine_name: Bytes::new(), uid: 1000, gid: 1000, gids: Vec::new() };
            let (program, version, procedure) = number;
            let header = CallHeader { xid: 1, program, version, procedure };
            let caller = sys.into();
            let line: Arc<dyn Connection> = line;
            let call = Call {
                header: &header,
                caller: &caller,
                peer: line.peer(),
                connection: &line,
                arguments: Decoder::new(bytes),
            };
            let mut reply = Encoder::new();
            programs.call(call, &mut reply).await.expect("a well-formed call is not refused");
            let bytes = reply.into_inner().into();
            outbox.lock().push(FromServer::Reply { connection, tag, bytes });
        }));
        true
    }

    /// A client answers a callback.
    pub fn answer(&self, connection: u64, call: u64, bytes: Bytes) {
        if let Some(line) = self.running.as_ref().and_then(|running| running.lines.get(&connection)) {
            line.answer(call, bytes);
        }
    }

    /// A host answers GRANTED.
    pub fn answer_of_host(&self, call: u64, bytes: Bytes) {
        if let Some(running) = &self.running {
            running.hosts.answer(call, bytes);
        }
    }

    /// The hosts that hold a lock through NLM, as far as the server knows.
    pub fn locking_hosts(&self) -> Vec<Bytes> {
        self.running.as_ref().map(|running| running.state.nlm_hosts(b"")).unwrap_or_default()
    }

    /// The server learns that a connection is gone.
    pub fn disconnect(&mut self, connection: u64) {
        let Some(running) = &mut self.running else { return };
        if let Some(line) = running.lines.remove(&connection) {
            line.close();
            if let Some(programs) = running.programs.get() {
                programs.disconnected(connection);
            }
        }
    }

    /// Lets the server work until it waits; what it sends meanwhile.
    pub fn run(&self) -> Vec<FromServer> {
        if let Some(running) = &self.running {
            running.world.run();
        }
        std::mem::take(&mut *self.outbox.lock())
    }

    pub fn next_timer(&self) -> Option<u64> {
        self.running.as_ref().and_then(|running| running.world.next_timer())
    }
}

//! A server over memory whose clock is set by hand, and connections whose far ends answer callbacks as they
//! are told.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use proto::nfs4::*;
use rpc::auth::Pass;
use rpc::{AuthSys, BoxFuture, Call, CallError, CallHeader, Connection, Service};
use server::dispatch::Programs;
use server::exports::{Export, ExportId, ExportPath, Exports, Rule, Squash};
use server::nfs4::{Nfs4, Nfs4Options, OwnerNames};
use server::runtime::Runtime;
use server::services::StateService;
use state::{Limits, State};
use vfs::memory::{Memory, MemoryOptions};
use xdr::{Decoder, Encoder};

use super::machine::Machine;

/// Clock, tasks and random numbers.
#[derive(Default)]
pub struct World {
    now_ms: Arc<AtomicU64>,
    tasks: Mutex<Vec<BoxFuture<()>>>,
    random: AtomicU64,
}

impl World {
    pub fn advance(&self, ms: u64) {
        self.now_ms.fetch_add(ms, Ordering::Relaxed);
    }

    /// Polls every task once; how many are left.
    pub fn poll_tasks(&self) -> usize {
        let tasks = std::mem::take(&mut *self.tasks.lock().unwrap());
        for mut task in tasks {
            if (&mut task).now_or_never().is_none() {
                self.tasks.lock().unwrap().push(task);
            }
        }
        self.tasks.lock().unwrap().len()
    }
}

impl Runtime for World {
    fn now_ms(&self) -> u64 {
        self.now_ms.load(Ordering::Relaxed)
    }

    fn wall_clock(&self) -> vfs::Timestamp {
        vfs::Timestamp { seconds: (self.now_ms() / 1000) as i64, nanoseconds: 0 }
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<()> {
        let clock = Arc::clone(&self.now_ms);
        let until = self.now_ms() + duration.as_millis() as u64;
        let is_over = move || clock.load(Ordering::Relaxed) >= until;
        Box::pin(poll_fn(move |_| if is_over() { Poll::Ready(()) } else { Poll::Pending }))
    }

    fn spawn(&self, task: BoxFuture<()>) {
        self.tasks.lock().unwrap().push(task);
    }

    fn random(&self, bytes: &mut [u8]) {
        let number = self.random.fetch_add(1, Ordering::Relaxed) + 1;
        for (byte, with) in bytes.iter_mut().zip(number.to_be_bytes().iter().cycle()) {
            *byte = *with;
        }
    }
}

/// A client's end of a connection.
pub struct Line {
    id: u64,
    open: AtomicBool,
    /// How callbacks are answered.
    manner: AtomicU8,
    world: Arc<World>,
}

impl Line {
    pub fn new(id: u64, world: &Arc<World>) -> Arc<Self> {
        Arc::new(Self { id, open: AtomicBool::new(true), manner: AtomicU8::new(0), world: Arc::clone(world) })
    }
}

impl Line {
    pub fn set_manner(&self, manner: u8) {
        self.manner.store(manner, Ordering::Relaxed);
    }
}

impl Connection for Line {
    fn id(&self) -> u64 {
        self.id
    }

    fn peer(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], 900))
    }

    fn is_open(&self) -> bool {
        self.open.load(Ordering::Relaxed)
    }

    fn call(
        &self,
        _: u32,
        _: u32,
        procedure: u32,
        _: Pass,
        arguments: Vec<u8>,
        timeout: Duration,
    ) -> BoxFuture<Result<Bytes, CallError>> {
        let answer = match self.manner.load(Ordering::Relaxed) % 5 {
            0 if procedure == callback_procedure::NULL => Ok(Bytes::new()),
            0 => Ok(answered(arguments, None)),
            1 => Ok(answered(arguments, Some(Status::SequenceMisordered))),
            2 => Ok(Bytes::from_static(&[0xff; 7])),
            3 => Err(CallError::Disconnected),
            _ => {
                let late = self.world.sleep(timeout);
                return Box::pin(async move {
                    late.await;
                    Err(CallError::Timeout)
                });
            }
        };
        Box::pin(async move { answer })
    }
}

/// The reply to a callback, which its client has done, or whose CB_SEQUENCE it refuses.
fn answered(arguments: Vec<u8>, refused: Option<Status>) -> Bytes {
    let mut to = Encoder::new();
    let mut from = Decoder::new(arguments.into());
    let Ok(header) = from.get::<CallbackHeader>() else { return Bytes::new() };
    from.u32().expect("CB_SEQUENCE comes first");
    let sequence: CbSequenceArgs = from.get().expect("our own encoding decodes");
    let operation = from.u32().expect("there is a callback");
    // Sizes and changes are not known.
    let is_refused = operation == CallbackOperation::GetAttr.number();
    let status = refused.unwrap_or(if is_refused { Status::BadHandle } else { Status::Ok });
    let results = if refused.is_some() { 1 } else { 2 };
    to.put(&CallbackReplyHeader { status, tag: header.tag, results });
    to.u32(CallbackOperation::Sequence.number());
    to.put(&refused.unwrap_or(Status::Ok));
    if refused.is_none() {
        to.put(&CbSequenceResult {
            session: sequence.session,
            sequence: sequence.sequence,
            slot: sequence.slot,
            highest_slot: sequence.highest_slot,
            target_highest_slot: sequence.highest_slot,
        });
        to.u32(operation);
        to.put(&status);
    }
    to.into_inner().into()
}

/// The server, and what the tests look at.
pub struct Served {
    programs: Arc<Programs<Memory, StateService, StateService>>,
    pub recaller: StateService,
    pub state: Arc<State>,
    pub world: Arc<World>,
}

impl Served {
    pub fn new(limits: Limits) -> Self {
        let options = MemoryOptions {
            root_mode: 0o777,
            bytes_max: 1 << 20,
            objects_max: 64,
            ..MemoryOptions::default()
        };
        let memory = Memory::new(options).expect("memory");
        let rule = Rule { squash: Squash::NONE, ..Rule::default() };
        let exports = Arc::new(Exports::single(Export::new(ExportId(1), ExportPath::root(), memory, rule)));
        let state = Arc::new(State::new(limits, 1));
        let world = Arc::new(World::default());
        let stable = Arc::new(server::stable::Forgetful);
        let recaller = StateService::new(Arc::clone(&state), Arc::clone(&world) as Arc<dyn Runtime>, stable);
        let identity = Bytes::from_static(b"fuzz");
        let options = Nfs4Options { delegations: true, identity, owner_names: OwnerNames::Numeric };
        let nfs4 = Nfs4::new(Arc::clone(&exports), recaller.clone(), options);
        let programs = Programs::new(exports, recaller.clone(), recaller.clone()).with_nfs4(nfs4);
        Self { programs: Arc::new(programs), recaller, state, world }
    }

    /// Begins a COMPOUND of a machine's user.
    pub fn call(&self, from: &Machine, arguments: Bytes) -> BoxFuture<Bytes> {
        let (line, uid, machine_name) = (&from.line, from.uid, vec![from.index].into());
        let caller = AuthSys { stamp: 0, machine_name, uid, gid: uid, gids: vec![] }.into();
        let header = CallHeader { xid: 1, program: PROGRAM, version: VERSION, procedure: COMPOUND };
        let programs = Arc::clone(&self.programs);
        let connection = Arc::clone(line) as Arc<dyn Connection>;
        Box::pin(async move {
            let call = Call {
                header: &header,
                caller: &caller,
                peer: connection.peer(),
                connection: &connection,
                arguments: Decoder::new(arguments),
            };
            let mut reply = Encoder::new();
            programs.call(call, &mut reply).await.expect("a COMPOUND that decodes is answered");
            reply.into_inner().into()
        })
    }

    pub fn disconnect(&self, line: &Line) {
        line.open.store(false, Ordering::Relaxed);
        self.programs.disconnected(line.id);
    }

    /// What happens every second or so.
    pub fn tick(&self) {
        let recaller = self.recaller.clone();
        assert!(recaller.tick().now_or_never().is_some(), "nothing to wait for");
    }
}

//! A client that says exactly what it is told to.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture as Boxed;
use parking_lot::Mutex;
use proto::nfs3;
use proto::nfs4::attributes::{AttributeId, AttributeValues, Bitmap};
use proto::nfs4::*;
use rpc::{AuthSys, Call, CallError, CallHeader, Caller, Connection, Credential, Refusal, Service};
use server::dispatch::Programs;
use server::exports::{Export, ExportId, ExportPath, Exports, Rule, Squash};
use server::nfs4::{NameService, Nfs4, Nfs4Options, OwnerNames};
use server::runtime::Runtime;
use server::services::StateService;
use server::stable::{Forgetful, StableRecords, StoredSession};
use state::{Limits, Now, State};
use testkit::compound;
pub use testkit::compound::Results;
use testkit::connection::{Callback, LOCAL_PEER, TestConnection};
use testkit::runtime::{ManualRuntime, SleepEnd};
use testkit::session;
use vfs::FileSystem;
use vfs::local::{Durability, Local, LocalOptions};
use vfs::memory::{Memory, MemoryOptions};
use xdr::{Decoder, Encode, Encoder};

use crate::errors::fault::{Faulty, Trigger};

/// Turns that a request takes at most which nobody keeps waiting: more than the longest listing of these
/// tests has.
const TURNS_MAX: usize = 128;

/// The client's end of a connection: keeps the callbacks and answers them.
#[derive(Default)]
pub struct Callbacks {
    pub recalled: Mutex<Vec<StateId>>,
    /// Lock-owners that were told that their lock may be free.
    pub notified: Mutex<Vec<StateOwner>>,
    /// How many delegations may be kept, of each CB_RECALL_ANY.
    pub keep: Mutex<Vec<u32>>,
    /// Change and size for CB_GETATTR, which is refused without.
    pub attributes: Mutex<Option<(u64, u64)>>,
    /// Times of access and modification, which a delegation must then have been granted with.
    pub times: Mutex<Option<(Time, Time)>>,
    /// The calls that the last callback referred to.
    pub referred: Mutex<Vec<ReferringCallList>>,
    /// What CB_SEQUENCE fails with.
    pub refused: Mutex<Option<Status>>,
    /// Program and credential of every call.
    pub called: Mutex<Vec<(u32, Credential)>>,
    /// Minor version of every CB_COMPOUND.
    pub minor_versions: Mutex<Vec<u32>>,
}

impl Callbacks {
    /// Returns the reply to a call of the server.
    fn answer(&self, callback: Callback) -> Result<Bytes, CallError> {
        self.called.lock().push((callback.number.0, callback.credential));
        if callback.number.2 == callback_procedure::NULL {
            return Ok(Bytes::new());
        }
        let mut from = Decoder::new(callback.arguments);
        let header: CallbackHeader = from.get().unwrap();
        self.minor_versions.lock().push(header.minor_version);
        assert_eq!(from.u32().unwrap(), CallbackOperation::Sequence.number());
        let sequence: CbSequenceArgs = from.get().unwrap();
        if let Some(status) = *self.refused.lock() {
            let mut to = Encoder::new();
            to.put(&CallbackReplyHeader { status, tag: header.tag, results: 1 });
            to.u32(CallbackOperation::Sequence.number());
            to.put(&status);
            return Ok(to.into_inner().into());
        }
        let operation = CallbackOperation::from_number(from.u32().unwrap()).unwrap();
        let mut result = Encoder::new();
        let status = self.run(operation, &mut from, &mut result);
        if status != Status::Ok {
            result.put(&status);
        }
        *self.referred.lock() = sequence.referring_calls;
        let mut to = Encoder::new();
        to.put(&CallbackReplyHeader { status, tag: header.tag, results: 2 });
        to.u32(CallbackOperation::Sequence.number());
        to.put(&Status::Ok);
        to.put(&CbSequenceResult {
            session: sequence.session,
            sequence: sequence.sequence,
            slot: sequence.slot,
            highest_slot: sequence.highest_slot,
            target_highest_slot: sequence.highest_slot,
        });
        to.u32(operation.number());
        to.buffer_mut().extend_from_slice(result.as_slice());
        Ok(to.into_inner().into())
    }

    /// Runs the callback and appends its result.
    fn run(&self, operation: CallbackOperation, from: &mut Decoder, to: &mut Encoder) -> Status {
        match operation {
            CallbackOperation::Recall => {
                self.recalled.lock().push(from.get::<CbRecallArgs>().unwrap().state_id);
            }
            CallbackOperation::NotifyLock => {
                self.notified.lock().push(from.get::<CbNotifyLockArgs>().unwrap().owner);
            }
            CallbackOperation::RecallAny => {
                self.keep.lock().push(from.get::<CbRecallAnyArgs>().unwrap().keep);
            }
            CallbackOperation::GetAttr => {
                let arguments: CbGetAttrArgs = from.get().unwrap();
                let Some((change, size)) = *self.attributes.lock() else { return Status::BadHandle };
                let times = *self.times.lock();
                let attributes = AttributeValues {
                    change: Some(change),
                    size: Some(size),
                    time_deleg_access: times.map(|(accessed, _)| accessed),
                    time_deleg_modify: times.map(|(_, modified)| modified),
                    ..Default::default()
                };
                assert_eq!(arguments.wanted, attributes.present());
                to.put(&Status::Ok);
                to.put(&CbGetAttrResult { attributes });
                return Status::Ok;
            }
            other => panic!("{other}"),
        }
        to.put(&Status::Ok);
        Status::Ok
    }
}

/// A service without its type.
trait Answers: Send + Sync {
    fn answer<'a>(&'a self, call: Call<'a>, reply: &'a mut Encoder) -> Boxed<'a, Result<(), Refusal>>;

    fn disconnect(&self, connection: u64);
}

impl<S: Service> Answers for S {
    fn answer<'a>(&'a self, call: Call<'a>, reply: &'a mut Encoder) -> Boxed<'a, Result<(), Refusal>> {
        Box::pin(async move { self.call(call, reply).await.map(|_| ()) })
    }

    fn disconnect(&self, connection: u64) {
        self.disconnected(connection);
    }
}

/// What a server is made with.
pub struct Setup {
    pub options: Nfs4Options,
    pub names: Option<Arc<dyn NameService>>,
    pub limits: Limits,
    pub stable: Arc<dyn StableRecords>,
    /// What peers speak.
    pub minor_version: u32,
}

impl Default for Setup {
    fn default() -> Self {
        let stable = Arc::new(Forgetful);
        Self { options: test_options(), names: None, limits: Limits::default(), stable, minor_version: 1 }
    }
}

pub struct TestServer {
    programs: Box<dyn Answers>,
    pub recaller: StateService,
    pub state: Arc<State>,
    pub world: Arc<ManualRuntime>,
    /// The back end has threads of its own that a request may wait for.
    pub waits: bool,
    /// What peers speak.
    pub minor_version: u32,
}

impl TestServer {
    pub fn new() -> Arc<Self> {
        Self::with(Limits::default())
    }

    pub fn with(limits: Limits) -> Arc<Self> {
        Self::of(Setup { limits, ..Setup::default() })
    }

    /// Whose peers speak minor version 2.
    pub fn of_minor_version_2() -> Arc<Self> {
        Self::of(Setup { minor_version: 2, ..Setup::default() })
    }

    pub fn with_records(stable: Arc<dyn StableRecords>) -> Arc<Self> {
        Self::of(Setup { stable, ..Setup::default() })
    }

    fn of(setup: Setup) -> Arc<Self> {
        let memory = Memory::new(MemoryOptions { root_mode: 0o777, ..MemoryOptions::default() }).unwrap();
        Arc::new(Self::over(memory, setup))
    }

    /// Over a directory, with changes that do not wait for the disk.
    pub fn local(directory: &std::path::Path) -> Arc<Self> {
        Self::local_with(directory, Setup::default())
    }

    pub fn local_with(directory: &std::path::Path, setup: Setup) -> Arc<Self> {
        let options = LocalOptions { durability: Durability::Async, ..LocalOptions::default() };
        let local = Local::open(directory, &options).unwrap();
        Arc::new(Self { waits: true, ..Self::over(local, setup) })
    }

    /// Over a directory, in which so many files are watched for changes by others. `None` where the kernel
    /// tells of none.
    pub fn watching(directory: &std::path::Path, watches_max: usize, setup: Setup) -> Option<Arc<Self>> {
        let options = LocalOptions { durability: Durability::Async, watches_max, ..LocalOptions::default() };
        let local = Local::open(directory, &options).unwrap();
        let tells = local.unwatched().is_none();
        tells.then(|| Arc::new(Self { waits: true, ..Self::over(local, setup) }))
    }

    /// One whose files can be made to fail, or to keep whoever looks at them waiting.
    pub fn faulty() -> (Arc<Self>, Arc<Trigger>) {
        let memory = Memory::new(MemoryOptions { root_mode: 0o777, ..MemoryOptions::default() }).unwrap();
        let trigger = Arc::new(Trigger::default());
        let faulty = Faulty { memory: Arc::new(memory), trigger: Arc::clone(&trigger) };
        (Arc::new(Self::over(faulty, Setup::default())), trigger)
    }

    pub fn over<F: FileSystem>(fs: F, setup: Setup) -> Self {
        let Setup { options, names, limits, stable, minor_version } = setup;
        let life = Life { boot: 77, stable, owners: vec![], sessions: vec![] };
        Self { minor_version, ..Self::live(exports(fs), options, names, limits, life) }
    }

    /// Its peers begin in this minor version.
    pub fn speaking(self, minor_version: u32) -> Self {
        Self { minor_version, ..self }
    }

    /// Serves several exports, from a state that may already know something.
    pub fn serving<F: FileSystem>(
        exports: Arc<Exports<F>>,
        options: Nfs4Options,
        names: Option<Arc<dyn NameService>>,
        state: State,
    ) -> Self {
        let life = Life { boot: 77, stable: Arc::new(Forgetful), owners: vec![], sessions: vec![] };
        Self::assemble(exports, options, names, state, life)
    }

    /// A server of several that serve the same files one after the other.
    pub fn live<F: FileSystem>(
        exports: Arc<Exports<F>>,
        options: Nfs4Options,
        names: Option<Arc<dyn NameService>>,
        limits: Limits,
        mut life: Life,
    ) -> Self {
        let state = State::new(limits, life.boot);
        let owners = std::mem::take(&mut life.owners);
        state.begin_grace(owners.into_iter().map(|owner| (owner, state::Lost::default())), Now(0));
        Self::assemble(exports, options, names, state, life)
    }

    fn assemble<F: FileSystem>(
        exports: Arc<Exports<F>>,
        options: Nfs4Options,
        names: Option<Arc<dyn NameService>>,
        state: State,
        life: Life,
    ) -> Self {
        // Sessions of different lives have different ids.
        let world = ManualRuntime::new(SleepEnd::Never).with_first_draw(u64::from(life.boot));
        let world = Arc::new(world);
        let state = Arc::new(state);
        let recaller =
            StateService::new(Arc::clone(&state), Arc::clone(&world) as Arc<dyn Runtime>, life.stable);
        let nfs4 = Nfs4::new(Arc::clone(&exports), recaller.clone(), options);
        let nfs4 = match names {
            Some(names) => nfs4.with_names(names),
            None => nfs4,
        };
        nfs4.bring_back(life.sessions).now_or_never().expect("memory answers at once");
        let programs = Programs::new(exports, recaller.clone(), recaller.clone()).with_nfs4(nfs4);
        Self { programs: Box::new(programs), recaller, state, world, waits: false, minor_version: 1 }
    }

    /// Sets the clock and lets happen what is due.
    pub fn at(&self, now_ms: u64) {
        self.world.set_now(now_ms);
        self.recaller.tick().now_or_never().expect("nothing is written to a disk");
        self.world.run();
    }

    /// A connection is gone.
    pub fn disconnect(&self, connection: u64) {
        self.programs.disconnect(connection);
    }
}

/// What a server finds when it starts.
pub struct Life {
    /// Different in each, by more than the random numbers that one takes.
    pub boot: u32,
    pub stable: Arc<dyn StableRecords>,
    pub owners: Vec<Bytes>,
    pub sessions: Vec<StoredSession>,
}

/// One export, whose superuser is that of the client.
pub fn exports<F: FileSystem>(fs: F) -> Arc<Exports<F>> {
    let rule = Rule { squash: Squash::NONE, ..Rule::default() };
    Arc::new(Exports::single(Export::new(ExportId(1), ExportPath::root(), fs, rule)))
}

pub fn test_options() -> Nfs4Options {
    Nfs4Options { delegations: true, identity: Bytes::from_static(b"test"), owner_names: OwnerNames::Numeric }
}

/// One client with a session.
pub struct Peer {
    pub server: Arc<TestServer>,
    pub callbacks: Arc<Callbacks>,
    connection: Arc<dyn Connection>,
    pub uid: u32,
    /// Its supplementary groups.
    pub gids: Vec<u32>,
    pub machine_name: &'static str,
    /// Where its calls come from.
    pub from: SocketAddr,
    /// Its calls say nothing of who it is.
    pub anonymous: bool,
    pub minor_version: u32,
    pub client: ClientId,
    pub session: SessionId,
    sequence: u32,
}

impl Peer {
    pub fn stranger(server: &Arc<TestServer>, id: u64, uid: u32) -> Self {
        let callbacks = Arc::new(Callbacks::default());
        let script = {
            let callbacks = Arc::clone(&callbacks);
            move |callback| -> rpc::BoxFuture<_> {
                let callbacks = Arc::clone(&callbacks);
                Box::pin(async move { callbacks.answer(callback) })
            }
        };
        Self {
            server: Arc::clone(server),
            connection: Arc::new(TestConnection::new(LOCAL_PEER).with_id(id).with_callbacks(script)),
            callbacks,
            uid,
            gids: vec![],
            machine_name: "",
            from: LOCAL_PEER,
            anonymous: false,
            minor_version: server.minor_version,
            client: ClientId(0),
            session: SessionId([0; 16]),
            sequence: 0,
        }
    }

    /// The same, in a minor version.
    pub fn speaking(self, minor_version: u32) -> Self {
        Self { minor_version, ..self }
    }

    pub fn new(server: &Arc<TestServer>, id: u64) -> Self {
        Self::with_uid(server, id, 0)
    }

    pub fn with_uid(server: &Arc<TestServer>, id: u64, uid: u32) -> Self {
        let mut peer = Self::stranger(server, id, uid);
        let exchanged = peer.exchange_id(&format!("client {id}"), 1).unwrap();
        peer.client = exchanged.client;
        peer.create_session(exchanged.sequence).unwrap();
        server.world.run();
        assert_eq!(peer.reclaim_complete(), Status::Ok);
        peer
    }

    /// The same client and session over another connection, as another user of the machine.
    pub fn over(&self, connection: u64, uid: u32) -> Self {
        let Self { client, session, machine_name, minor_version, .. } = *self;
        Self { client, session, machine_name, minor_version, ..Self::stranger(&self.server, connection, uid) }
    }

    /// The same client and session over the same connection, as another user.
    pub fn going_on(&self, uid: u32) -> Self {
        let (client, session, sequence) = (self.client, self.session, self.sequence);
        Self { client, session, sequence, ..Self::stranger(&self.server, self.connection.id(), uid) }
    }

    /// The same client and session, talking to the next server.
    pub fn after_restart(&self, server: &Arc<TestServer>) -> Self {
        let Self { client, session, machine_name, minor_version, .. } = *self;
        Self {
            client,
            session,
            machine_name,
            minor_version,
            ..Self::stranger(server, self.connection.id(), self.uid)
        }
    }

    /// The status of a COMPOUND with one operation.
    pub fn alone(&self, operation: Operation, arguments: &impl Encode) -> Status {
        self.send(self.minor_version, |c| {
            c.push(operation, arguments);
        })
        .status
    }

    pub fn exchange_id(&self, owner: &str, verifier: u8) -> Result<ExchangeIdResult, Status> {
        self.exchange(&session::exchange_id(owner, verifier))
    }

    pub fn exchange(&self, arguments: &ExchangeIdArgs) -> Result<ExchangeIdResult, Status> {
        let mut results = self.send(self.minor_version, |c| {
            c.push(Operation::ExchangeId, arguments);
        });
        if results.status == Status::Ok {
            Ok(results.body(Operation::ExchangeId))
        } else {
            Err(results.status)
        }
    }

    pub fn channel() -> ChannelAttributes {
        ChannelAttributes {
            request_bytes_max: 1 << 20,
            cached_response_bytes_max: 1024,
            operations_max: 12,
            ..session::channel(4)
        }
    }

    pub fn create_session(&mut self, sequence: SequenceId) -> Result<CreateSessionResult, Status> {
        let arguments = self.create_session_args(sequence);
        self.create_session_with(&arguments)
    }

    pub fn create_session_args(&self, sequence: SequenceId) -> CreateSessionArgs {
        CreateSessionArgs {
            flags: session_flags::CONN_BACK_CHAN,
            fore_channel: Self::channel(),
            back_channel: Self::channel(),
            ..session::create_session(self.client, sequence, 4)
        }
    }

    pub fn create_session_with(
        &mut self,
        arguments: &CreateSessionArgs,
    ) -> Result<CreateSessionResult, Status> {
        let mut results = self.send(self.minor_version, |c| {
            c.push(Operation::CreateSession, arguments);
        });
        if results.status != Status::Ok {
            return Err(results.status);
        }
        let created: CreateSessionResult = results.body(Operation::CreateSession);
        self.session = created.session;
        self.sequence = 0;
        Ok(created)
    }

    /// Goes on in a second session with such a channel.
    pub fn with_channel(mut self, fore_channel: ChannelAttributes) -> Self {
        let arguments = CreateSessionArgs { fore_channel, ..self.create_session_args(SequenceId(2)) };
        self.create_session_with(&arguments).unwrap();
        self
    }

    /// Says that it has nothing to reclaim, or nothing more. Uses the second slot, once.
    pub fn reclaim_complete(&mut self) -> Status {
        let sequence = SequenceArgs { slot: SlotId(1), ..self.sequence_args(1, false) };
        self.send(self.minor_version, |c| {
            c.push(Operation::Sequence, &sequence)
                .push(Operation::ReclaimComplete, &ReclaimCompleteArgs { one_fs: false });
        })
        .status
    }

    pub fn sequence_args(&self, sequence: u32, cache_this: bool) -> SequenceArgs {
        SequenceArgs { cache_this, ..session::sequence(self.session, sequence) }
    }

    /// A COMPOUND that begins with SEQUENCE.
    pub fn compound(&mut self, build: impl FnOnce(&mut CompoundBuilder<'_>)) -> Results {
        self.sequence += 1;
        let results = self.with_sequence(self.sequence, false, build);
        if results.bytes.len() > 8 { results } else { panic!("no results: {}", results.status) }
    }

    /// Goes on in the slot where the other one is.
    pub fn sequence_from(&mut self, other: &Self) {
        self.sequence = other.sequence;
    }

    pub fn last_sequence(&self) -> u32 {
        self.sequence
    }

    /// A COMPOUND under the given number in slot 0.
    pub fn with_sequence(
        &self,
        sequence: u32,
        cache_this: bool,
        build: impl FnOnce(&mut CompoundBuilder<'_>),
    ) -> Results {
        self.send(self.minor_version, |c| {
            c.push(Operation::Sequence, &self.sequence_args(sequence, cache_this));
            build(c);
        })
    }

    /// As [`Peer::with_sequence`], not yet run to its end, and to be kept.
    pub fn begin_with_sequence(
        &self,
        sequence: u32,
        build: impl FnOnce(&mut CompoundBuilder<'_>),
    ) -> Boxed<'static, Results> {
        self.begin_kept(&self.sequence_args(sequence, true), build)
    }

    /// As [`Peer::begin_with_sequence`], with these arguments of SEQUENCE.
    pub fn begin_kept(
        &self,
        sequence: &SequenceArgs,
        build: impl FnOnce(&mut CompoundBuilder<'_>),
    ) -> Boxed<'static, Results> {
        self.start(compound::arguments(self.minor_version, |c| {
            c.push(Operation::Sequence, sequence);
            build(c);
        }))
    }

    /// As [`Peer::compound`], not yet run to its end.
    pub fn begin(&mut self, build: impl FnOnce(&mut CompoundBuilder<'_>)) -> Boxed<'static, Results> {
        self.sequence += 1;
        self.begin_again(build)
    }

    /// As [`Peer::begin`], under the number of the last request.
    pub fn begin_again(&self, build: impl FnOnce(&mut CompoundBuilder<'_>)) -> Boxed<'static, Results> {
        self.begin_kept(&self.sequence_args(self.sequence, false), build)
    }

    pub fn send(&self, minor: u32, build: impl FnOnce(&mut CompoundBuilder<'_>)) -> Results {
        self.raw(compound::arguments(minor, build))
    }

    pub fn raw(&self, arguments: Vec<u8>) -> Results {
        let mut answer = self.start(arguments);
        if self.server.waits {
            return pollster::block_on(answer);
        }
        // A long listing gives way to others.
        let answered = (0..TURNS_MAX).find_map(|_| (&mut answer).now_or_never());
        answered.expect("memory answers at once")
    }

    fn start(&self, arguments: Vec<u8>) -> Boxed<'static, Results> {
        let answer = self.begin_call((PROGRAM, VERSION, COMPOUND), arguments);
        Box::pin(async move { Results::new(answer.await) })
    }

    /// The same machine's call of NFSv3, which must succeed.
    pub fn nfs3<R: nfs3::Request>(&self, arguments: &R) -> R::Ok {
        self.try_nfs3(arguments).unwrap_or_else(|status| panic!("{status}"))
    }

    /// The same machine's call of NFSv3.
    pub fn try_nfs3<R: nfs3::Request>(&self, arguments: &R) -> Result<R::Ok, nfs3::Status> {
        let number = (nfs3::PROGRAM, nfs3::VERSION, R::PROCEDURE.number());
        let answer = self.begin_call(number, xdr::to_bytes(arguments).to_vec());
        let bytes = if self.server.waits {
            pollster::block_on(answer)
        } else {
            answer.now_or_never().expect("memory answers at once")
        };
        match xdr::from_bytes::<nfs3::Reply<R::Ok, R::Fail>>(bytes).unwrap() {
            nfs3::Reply::Ok(ok) => Ok(ok),
            nfs3::Reply::Err(status, _) => Err(status),
        }
    }

    /// Calls any procedure; yields the results.
    fn begin_call(
        &self,
        (program, version, procedure): (u32, u32, u32),
        arguments: Vec<u8>,
    ) -> Boxed<'static, Bytes> {
        let header = CallHeader { xid: 1, program, version, procedure };
        let caller = self.caller();
        let (server, connection, peer) = (Arc::clone(&self.server), Arc::clone(&self.connection), self.from);
        Box::pin(async move {
            let call = Call {
                header: &header,
                caller: &caller,
                peer,
                connection: &connection,
                arguments: Decoder::new(arguments.into()),
            };
            let mut reply = Encoder::new();
            server.programs.answer(call, &mut reply).await.unwrap();
            Bytes::from(reply.into_inner())
        })
    }

    fn caller(&self) -> Caller {
        if self.anonymous {
            return Credential::None.into();
        }
        Caller::from(AuthSys {
            stamp: 0,
            machine_name: Bytes::from_static(self.machine_name.as_bytes()),
            uid: self.uid,
            gid: self.uid,
            gids: self.gids.clone(),
        })
    }

    /// Calls any program; the results.
    pub fn call(&self, number: (u32, u32, u32), arguments: &impl Encode) -> Result<Bytes, Refusal> {
        let (program, version, procedure) = number;
        let header = CallHeader { xid: 1, program, version, procedure };
        let (caller, arguments) = (self.caller(), Decoder::new(xdr::to_bytes(arguments)));
        let connection = &self.connection;
        let call = Call { header: &header, caller: &caller, peer: self.from, connection, arguments };
        let mut reply = Encoder::new();
        let answered = self.server.programs.answer(call, &mut reply).now_or_never();
        answered.expect("memory answers at once")?;
        Ok(reply.into_inner().into())
    }

    /// Makes and opens a file in the root, without a delegation; its handle and stateid.
    pub fn create(&mut self, name: &str) -> (FileHandle, StateId) {
        let access = share::BOTH | share::WANT_NO_DELEGATION;
        let arguments = open(name, access, Some(CreateHow::Guarded(AttributeValues::default())));
        let mut results = self
            .compound(|c| {
                c.push(Operation::PutRootFh, &())
                    .push(Operation::Open, &arguments)
                    .push(Operation::GetFh, &());
            })
            .sequenced();
        results.ok(Operation::PutRootFh);
        let opened: OpenResult = results.body(Operation::Open);
        let handle: GetFhResult = results.body(Operation::GetFh);
        (handle.object, opened.state_id)
    }

    /// Runs one operation on an object; its status.
    pub fn on(&mut self, object: &FileHandle, operation: Operation, arguments: &impl Encode) -> Results {
        let mut results = self
            .compound(|c| {
                c.push(Operation::PutFh, &PutFhArgs { object: object.clone() }).push(operation, arguments);
            })
            .sequenced();
        results.ok(Operation::PutFh);
        results
    }

    /// Runs one operation from one object to another.
    pub fn between(
        &mut self,
        (source, target): (&FileHandle, &FileHandle),
        operation: Operation,
        arguments: &impl Encode,
    ) -> Results {
        let mut results = self
            .compound(|c| {
                c.push(Operation::PutFh, &PutFhArgs { object: source.clone() })
                    .push(Operation::SaveFh, &())
                    .push(Operation::PutFh, &PutFhArgs { object: target.clone() })
                    .push(operation, arguments);
            })
            .sequenced();
        for before in [Operation::PutFh, Operation::SaveFh, Operation::PutFh] {
            results.ok(before);
        }
        results
    }

    /// Writes at an offset; all must be written.
    pub fn write(&mut self, object: &FileHandle, state_id: StateId, offset: u64, data: &[u8]) {
        let data = Bytes::copy_from_slice(data);
        let count = data.len();
        let write = WriteArgs { state_id, offset, stable: StableHow::FileSync, data };
        let written: WriteResult = self.on(object, Operation::Write, &write).body(Operation::Write);
        assert_eq!(written.count as usize, count);
    }

    /// What is at an offset.
    pub fn read(&mut self, object: &FileHandle, state_id: StateId, offset: u64, count: u32) -> Bytes {
        let read = ReadArgs { state_id, offset, count };
        self.on(object, Operation::Read, &read).body::<ReadResult>(Operation::Read).data
    }

    /// Some attributes of an object.
    pub fn attributes(&mut self, object: &FileHandle, wanted: &[AttributeId]) -> AttributeValues {
        let wanted = GetAttrArgs { wanted: Bitmap::of(wanted) };
        self.on(object, Operation::GetAttr, &wanted).body(Operation::GetAttr)
    }

    pub fn close(&mut self, object: &FileHandle, state_id: StateId) -> Status {
        self.on(object, Operation::Close, &CloseArgs { sequence: 0, state_id }).status
    }
}

pub fn open(name: &str, access: u32, create: Option<CreateHow>) -> OpenArgs {
    OpenArgs {
        sequence: 0,
        share_access: access,
        share_deny: 0,
        owner: StateOwner { client: ClientId(0), owner: Bytes::from_static(b"owner") },
        create: create.map(Box::new),
        claim: OpenClaim::Null(Bytes::copy_from_slice(name.as_bytes())),
    }
}

pub fn size_only() -> Bitmap {
    Bitmap::of(&[AttributeId::Size])
}

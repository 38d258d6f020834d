//! A server over a memory file system, called without a network: for the tests of every program.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use proto::nfs3::{self, FileAttributes, FileHandle, Reply, Request, Status};
use rpc::{AuthSys, BoxFuture, Call, CallHeader, Connection, Credential, Disposition, Refusal, Service};
use testkit::connection::TestConnection;
use testkit::runtime::{ManualRuntime, SleepEnd};
use vfs::memory::{Memory, MemoryOptions};
use vfs::{FileSystem, Timestamp};
use xdr::{Decode, Decoder, Encode, Encoder};

use crate::conflicts::{Conflicts, NoConflicts};
use crate::dispatch::Programs;
use crate::exports::{Export, ExportId, ExportOptions, ExportPath, ExportSet, Exports, Rule, Squash};
use crate::metrics::Events;
use crate::nsm1::Nsm1;
use crate::retries::{Retries, RetryLimits};
use crate::runtime::Runtime;
use crate::services::StateService;
use crate::stable::Forgetful;

/// What a reply holds before the results; it must stay.
const HEAD: [u8; 24] = [0x5a; 24];

/// A server and the handle of its root.
pub(crate) struct Server<C = NoConflicts> {
    programs: Programs<Memory, C, StateService>,
    exports: Arc<Exports<Memory>>,
    pub(crate) events: Arc<Events>,
    xids: AtomicU32,
    pub(crate) root: FileHandle,
}

/// The double of the test kit with the trait of the crate under test.
impl Runtime for ManualRuntime {
    fn now_ms(&self) -> u64 {
        self.now_ms()
    }

    fn wall_clock(&self) -> Timestamp {
        Timestamp { seconds: self.wall_seconds(), nanoseconds: 0 }
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<()> {
        self.sleep(duration)
    }

    fn spawn(&self, task: BoxFuture<()>) {
        self.spawn(task);
    }

    fn random(&self, bytes: &mut [u8]) {
        self.random(bytes);
    }
}

/// A runtime whose clock stands still and whose sleeps end at once.
fn runtime() -> Arc<dyn Runtime> {
    Arc::new(ManualRuntime::new(SleepEnd::AtOnce))
}

/// A state without clients.
pub(crate) fn services() -> StateService {
    StateService::new(
        Arc::new(state::State::new(state::Limits::default(), 1)),
        runtime(),
        Arc::new(Forgetful),
    )
}

/// A memory file system whose root anybody may change and whose clock ticks with every look.
pub(crate) fn memory() -> Memory {
    let ticks = AtomicI64::new(1_000);
    let clock = move || Timestamp { seconds: ticks.fetch_add(1, Ordering::Relaxed), nanoseconds: 7 };
    Memory::new(MemoryOptions { root_mode: 0o777, clock: Arc::new(clock), ..MemoryOptions::default() })
        .unwrap()
}

/// An export at `path`.
pub(crate) fn export(id: u32, path: &str, options: impl Into<ExportOptions>) -> Export<Memory> {
    Export::new(ExportId(id), ExportPath::new(path.as_bytes()).unwrap(), memory(), options)
}

/// The head of a call, and its caller.
pub(crate) type Head = (CallHeader, rpc::Caller);

/// The credential of a user with a group of the same number and one more.
pub(crate) fn user(id: u32) -> Credential {
    Credential::Sys(AuthSys {
        stamp: 0,
        machine_name: Bytes::from_static(b"client"),
        uid: id,
        gid: id,
        gids: vec![id + 1000],
    })
}

/// A rule under which root is root.
pub(crate) fn unsquashed() -> Rule {
    Rule { squash: Squash::NONE, ..Rule::default() }
}

impl Server {
    /// One export, `/`, under which root is root.
    pub(crate) fn new() -> Self {
        Self::with(vec![export(1, "/", unsquashed())], NoConflicts)
    }

    /// One export, `/`.
    pub(crate) fn with_options(options: impl Into<ExportOptions>) -> Self {
        Self::with(vec![export(1, "/", options)], NoConflicts)
    }
}

impl<C: Conflicts> Server<C> {
    /// The given exports.
    pub(crate) fn with(exports: Vec<Export<Memory>>, conflicts: C) -> Self {
        Self::with_services(ExportSet::new(exports).unwrap(), conflicts, services())
    }

    /// A set of exports.
    pub(crate) fn over(exports: ExportSet<Memory>, conflicts: C) -> Self {
        Self::with_services(exports, conflicts, services())
    }

    /// A set of exports, and locks in the state of `services`.
    pub(crate) fn with_services(exports: ExportSet<Memory>, conflicts: C, services: StateService) -> Self {
        let exports = Arc::new(Exports::from(exports));
        let set = exports.load();
        let (export, node) = set.root();
        let root = FileHandle::new(export.file_system().handle(&node).as_bytes()).unwrap();
        drop(set);
        let events = Arc::clone(services.events());
        let programs = Programs::new(Arc::clone(&exports), conflicts, services.clone())
            .with_retries(Retries::new(RetryLimits::default(), runtime(), Arc::clone(&events)))
            .with_nsm1(Nsm1::new(services, 7));
        Self { programs, exports, events, xids: AtomicU32::new(1), root }
    }

    /// The same with other bounds for retries.
    pub(crate) fn with_retry_limits(self, limits: RetryLimits) -> Self {
        let retries = Retries::new(limits, runtime(), Arc::clone(&self.events));
        Self { programs: self.programs.with_retries(retries), ..self }
    }

    /// The handle of the root of the export at `path`.
    pub(crate) fn root_of(&self, path: &str) -> FileHandle {
        let path = ExportPath::new(path.as_bytes()).unwrap();
        let exports = self.exports.load();
        let fs = exports.at(&path).0.file_system();
        FileHandle::new(fs.handle(&fs.root()).as_bytes()).unwrap()
    }

    /// Calls any procedure; yields the results.
    pub(crate) fn raw(
        &self,
        number: (u32, u32, u32),
        credential: Credential,
        peer: &str,
        arguments: impl Into<Bytes>,
    ) -> Result<Bytes, Refusal> {
        let peer = SocketAddr::new(peer.parse().unwrap(), 900);
        self.raw_from(number, credential, peer, arguments)
    }

    /// Calls any procedure from an address and port; yields the results.
    pub(crate) fn raw_from(
        &self,
        number: (u32, u32, u32),
        credential: Credential,
        peer: SocketAddr,
        arguments: impl Into<Bytes>,
    ) -> Result<Bytes, Refusal> {
        let (program, version, procedure) = number;
        let xid = self.xids.fetch_add(1, Ordering::Relaxed);
        let head = (CallHeader { xid, program, version, procedure }, credential.into());
        // It waits for nothing, and gives way now and then.
        pollster::block_on(self.send(&head, peer, arguments.into()))
    }

    /// Sends a call; yields the results.
    pub(crate) async fn send(
        &self,
        (header, caller): &Head,
        peer: SocketAddr,
        arguments: Bytes,
    ) -> Result<Bytes, Refusal> {
        let connection: Arc<dyn Connection> = Arc::new(TestConnection::new(peer));
        let arguments = Decoder::new(arguments);
        let call = Call { header, caller, peer, connection: &connection, arguments };
        let mut reply = Encoder::with_buffer(HEAD.to_vec());
        let disposition = self.programs.call(call, &mut reply).await?;
        assert_eq!(disposition, Disposition::Reply);
        let mut reply = reply.into_inner();
        let results = reply.split_off(HEAD.len());
        assert_eq!(reply, HEAD, "what was there on entry must stay");
        Ok(results.into())
    }

    /// Calls a procedure that every credential may call.
    pub(crate) fn results<T: Decode>(
        &self,
        number: (u32, u32, u32),
        who: Credential,
        arguments: &impl Encode,
    ) -> T {
        let results = self.raw(number, who, "127.0.0.1", xdr::to_bytes(arguments)).unwrap();
        xdr::from_bytes(results).unwrap()
    }

    /// Calls NFSv3.
    pub(crate) fn reply<R: Request>(&self, who: Credential, arguments: &R) -> Reply<R::Ok, R::Fail> {
        self.results((nfs3::PROGRAM, nfs3::VERSION, R::PROCEDURE.number()), who, arguments)
    }

    /// Calls NFSv3 as root, for what must succeed.
    pub(crate) fn ok<R: Request>(&self, arguments: &R) -> R::Ok {
        self.ok_as(user(0), arguments)
    }

    /// Calls NFSv3 for what must succeed.
    pub(crate) fn ok_as<R: Request>(&self, who: Credential, arguments: &R) -> R::Ok {
        match self.reply(who, arguments) {
            Reply::Ok(ok) => ok,
            Reply::Err(status, _) => panic!("{} answers {status}", R::PROCEDURE),
        }
    }

    /// Calls NFSv3 as root, for what must fail.
    pub(crate) fn fail<R: Request>(&self, arguments: &R) -> (Status, R::Fail) {
        self.fail_as(user(0), arguments)
    }

    /// Calls NFSv3 for what must fail.
    pub(crate) fn fail_as<R: Request>(&self, who: Credential, arguments: &R) -> (Status, R::Fail) {
        match self.reply(who, arguments) {
            Reply::Ok(_) => panic!("{} succeeds", R::PROCEDURE),
            Reply::Err(status, fail) => (status, fail),
        }
    }

    /// The attributes of an object.
    pub(crate) fn attributes(&self, object: FileHandle) -> FileAttributes {
        self.ok(&nfs3::GetAttrArgs { object }).attributes
    }

    /// Makes a file with this mode, owned by root, and returns its handle.
    pub(crate) fn file(&self, dir: FileHandle, name: &str, mode: u32) -> FileHandle {
        let set = nfs3::SetAttributes { mode: Some(mode), ..nfs3::SetAttributes::default() };
        let how = nfs3::CreateHow::Guarded(set);
        self.ok(&nfs3::CreateArgs { place: place(dir, name), how }).object.unwrap()
    }

    /// Makes a directory with this mode, owned by root, and returns its handle.
    pub(crate) fn dir(&self, dir: FileHandle, name: &str, mode: u32) -> FileHandle {
        let attributes = nfs3::SetAttributes { mode: Some(mode), ..nfs3::SetAttributes::default() };
        self.ok(&nfs3::MkDirArgs { place: place(dir, name), attributes }).object.unwrap()
    }

    /// Makes a symbolic link.
    pub(crate) fn symlink(&self, dir: FileHandle, name: &str, target: &str) {
        let target = Bytes::copy_from_slice(target.as_bytes());
        let attributes = nfs3::SetAttributes::default();
        self.ok(&nfs3::SymlinkArgs { place: place(dir, name), attributes, target });
    }

    /// The object called `name`, if there is one.
    pub(crate) fn find(&self, dir: FileHandle, name: &str) -> Option<FileHandle> {
        match self.reply(user(0), &nfs3::LookupArgs { what: place(dir, name) }) {
            Reply::Ok(ok) => Some(ok.object),
            Reply::Err(Status::NoEntry, _) => None,
            Reply::Err(status, _) => panic!("LOOKUP answers {status}"),
        }
    }

    /// Writes to a file as root.
    pub(crate) fn write(&self, file: FileHandle, offset: u64, data: &[u8]) -> nfs3::WriteOk {
        self.ok(&write_args(file, offset, data))
    }

    /// Reads a file as root.
    pub(crate) fn read(&self, file: FileHandle, offset: u64, count: u32) -> nfs3::ReadOk {
        self.ok(&nfs3::ReadArgs { file, offset, count })
    }
}

/// A name in a directory.
pub(crate) fn place(dir: FileHandle, name: &str) -> nfs3::DirOpArgs {
    nfs3::DirOpArgs { dir, name: Bytes::copy_from_slice(name.as_bytes()) }
}

/// A stable WRITE.
pub(crate) fn write_args(file: FileHandle, offset: u64, data: &[u8]) -> nfs3::WriteArgs {
    nfs3::WriteArgs {
        file,
        offset,
        count: data.len() as u32,
        stable: nfs3::StableHow::FileSync,
        data: Bytes::copy_from_slice(data),
    }
}

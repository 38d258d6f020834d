//! A server whose time passes, and whose tasks run, when the test says so; and the hosts that it calls.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use parking_lot::Mutex;
use proto::nfs3::FileHandle;
use proto::nlm4::*;
use rpc::{CallError, Refusal};
use state::{Limits, State};
use testkit::runtime::ManualRuntime;
use xdr::{Decode, Encode};

use crate::conflicts::NoConflicts;
use crate::exports::ExportSet;
use crate::fixture::{Server, export, unsquashed, user};
use crate::hosts::{CallHosts, HostRoute, ProcedureNumber};
use crate::runtime::BoxFuture;
use crate::services::StateService;
use crate::stable::{StableRecords, StoredHost};

/// What the hosts answer to GRANTED and NOTIFY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Status(Status),
    /// Nothing within the time.
    Timeout,
    /// They do not have the procedure, but messages.
    OnlyMessages,
    /// It comes when the test says so.
    Later,
}

/// All hosts.
pub(super) struct Hosts {
    pub(super) calls: Mutex<Vec<(HostRoute, ProcedureNumber, Bytes)>>,
    answer: Arc<Mutex<Answer>>,
}

impl CallHosts for Hosts {
    fn call(
        &self,
        route: HostRoute,
        procedure: ProcedureNumber,
        arguments: Vec<u8>,
        _: Duration,
    ) -> BoxFuture<Result<Bytes, CallError>> {
        self.calls.lock().push((route, procedure, arguments.into()));
        let answer = Arc::clone(&self.answer);
        let is_granted = procedure == (PROGRAM, VERSION, Procedure::Granted.number());
        Box::pin(poll_fn(move |_| {
            Poll::Ready(match *answer.lock() {
                Answer::Later => return Poll::Pending,
                Answer::Status(status) if is_granted => {
                    Ok(xdr::to_bytes(&Response { cookie: NetObject::default(), status }))
                }
                Answer::Timeout => Err(CallError::Timeout),
                Answer::OnlyMessages if is_granted => Err(CallError::Refused(Refusal::ProcedureUnavailable)),
                Answer::Status(_) | Answer::OnlyMessages => Ok(Bytes::new()),
            })
        }))
    }
}

/// Stable storage for hosts. The test kit cannot have it: its `StoredHost` is that of another build of this
/// crate.
#[derive(Default)]
pub(super) struct Disk {
    pub(super) hosts: Mutex<Vec<StoredHost>>,
    pub(super) told: Mutex<Vec<Bytes>>,
    pub(super) broken: Mutex<bool>,
    /// Adding a host waits while this is set.
    pub(super) is_stalled: Arc<AtomicBool>,
}

fn now(outcome: io::Result<()>) -> BoxFuture<io::Result<()>> {
    Box::pin(std::future::ready(outcome))
}

impl StableRecords for Disk {
    fn add(&self, _: proto::nfs4::ClientId, _: Bytes, _: state::Lost) -> BoxFuture<io::Result<()>> {
        now(Ok(()))
    }

    fn remove(&self, _: proto::nfs4::ClientId, _: Bytes) -> BoxFuture<io::Result<()>> {
        now(Ok(()))
    }

    fn end_grace(&self) -> BoxFuture<io::Result<()>> {
        now(Ok(()))
    }

    fn keeps_hosts(&self) -> bool {
        true
    }

    fn add_host(&self, host: StoredHost) -> BoxFuture<io::Result<()>> {
        if *self.broken.lock() {
            return now(Err(io::Error::other("broken on purpose")));
        }
        self.hosts.lock().push(host);
        let is_stalled = Arc::clone(&self.is_stalled);
        Box::pin(poll_fn(
            move |_| {
                if is_stalled.load(Ordering::SeqCst) { Poll::Pending } else { Poll::Ready(Ok(())) }
            },
        ))
    }

    fn remove_host(&self, name: Bytes) -> BoxFuture<io::Result<()>> {
        self.hosts.lock().retain(|host| host.name != name);
        now(Ok(()))
    }

    fn host_told(&self, name: Bytes) -> BoxFuture<io::Result<()>> {
        self.told.lock().push(name);
        now(Ok(()))
    }
}

/// A server with one file.
pub(super) struct Lab {
    pub(super) server: Server,
    pub(super) file: FileHandle,
    pub(super) world: Arc<ManualRuntime>,
    pub(super) hosts: Arc<Hosts>,
    pub(super) disk: Arc<Disk>,
    pub(super) state: Arc<State>,
    pub(super) services: StateService,
    answer: Arc<Mutex<Answer>>,
}

pub(super) const ANN: &str = "10.0.0.1";
pub(super) const BOB: &str = "10.0.0.2";
pub(super) const EVE: &str = "10.0.0.3";

impl Lab {
    pub(super) fn new() -> Self {
        let answer = Arc::new(Mutex::new(Answer::Status(Status::Granted)));
        let hosts = Arc::new(Hosts { calls: Mutex::default(), answer: Arc::clone(&answer) });
        let (world, disk) = (Arc::new(ManualRuntime::default()), Arc::new(Disk::default()));
        let state = Arc::new(State::new(Limits::default(), 1));
        let services = StateService::new(Arc::clone(&state), Arc::clone(&world) as _, Arc::clone(&disk) as _);
        services.call_hosts_by(Arc::clone(&hosts) as _);
        let exports = ExportSet::new(vec![export(1, "/", unsquashed())]).unwrap();
        let server = Server::with_services(exports, NoConflicts, services.clone());
        let file = server.file(server.root, "f", 0o666);
        Self { server, file, world, hosts, disk, state, services, answer }
    }

    pub(super) fn set_answer(&self, answer: Answer) {
        *self.answer.lock() = answer;
    }

    /// Lets time pass, with the ticks of a server in it, and tasks run.
    pub(super) fn pass(&self, seconds: u64) {
        self.world.run();
        for _ in 0..seconds * 2 {
            self.world.advance(500);
            self.services.tick().now_or_never().expect("nothing is waited for");
            self.world.run();
        }
    }

    pub(super) fn run(&self) {
        self.world.run();
    }

    /// Calls the lock manager from a host.
    pub(super) fn call<T: Decode>(&self, from: &str, procedure: Procedure, arguments: &impl Encode) -> T {
        let number = (PROGRAM, VERSION, procedure.number());
        let results = self.server.raw(number, user(0), from, xdr::to_bytes(arguments)).unwrap();
        xdr::from_bytes(results).unwrap()
    }

    /// A lock of the bytes from `offset` by a process of a host, which is called as its address.
    pub(super) fn lock(&self, from: &str, process: i32, (offset, length): (u64, u64)) -> Lock {
        Lock {
            caller_name: Bytes::copy_from_slice(from.as_bytes()),
            ..super::lock(self.file, process, offset, length)
        }
    }

    pub(super) fn arguments(&self, from: &str, process: i32, bytes: (u64, u64), exclusive: bool) -> LockArgs {
        LockArgs { block: true, ..super::lock_args(self.lock(from, process, bytes), exclusive) }
    }

    /// Asks for an exclusive lock of the whole file, and would wait.
    pub(super) fn take(&self, from: &str, process: i32) -> Status {
        self.take_range(from, process, (0, 0), true)
    }

    pub(super) fn take_range(&self, from: &str, process: i32, bytes: (u64, u64), exclusive: bool) -> Status {
        self.call::<Response>(from, Procedure::Lock, &self.arguments(from, process, bytes, exclusive)).status
    }

    pub(super) fn give_back(&self, from: &str, process: i32) {
        self.give_back_range(from, process, (0, 0));
    }

    pub(super) fn give_back_range(&self, from: &str, process: i32, bytes: (u64, u64)) {
        let args = UnlockArgs { cookie: super::cookie(), lock: self.lock(from, process, bytes) };
        assert_eq!(self.call::<Response>(from, Procedure::Unlock, &args).status, Status::Granted);
    }

    pub(super) fn cancel(&self, from: &str, process: i32) -> Status {
        let lock = self.lock(from, process, (0, 0));
        let args = CancelArgs { cookie: super::cookie(), block: true, exclusive: true, lock };
        self.call::<Response>(from, Procedure::Cancel, &args).status
    }

    /// Who has the whole file: the process of the lock in somebody else's way.
    pub(super) fn holder(&self) -> Option<i32> {
        let lock = self.lock("10.9.9.9", 99, (0, 0));
        let args = TestArgs { cookie: super::cookie(), exclusive: true, lock };
        match self.call::<TestResponse>("10.9.9.9", Procedure::Test, &args).result {
            TestResult::Denied(holder) => Some(holder.process),
            TestResult::Other(Status::Granted) => None,
            TestResult::Other(status) => panic!("TEST answers {status}"),
        }
    }

    /// The hosts that were called, with the procedures, since this was asked last.
    pub(super) fn called(&self) -> Vec<(String, u32)> {
        let calls = std::mem::take(&mut *self.hosts.calls.lock());
        calls
            .into_iter()
            .map(|(route, (_, _, procedure), _)| (route.address.to_string(), procedure))
            .collect()
    }

    /// NOTIFY of a restart.
    pub(super) fn notify(&self, from: &str, port: u16, name: &str) {
        self.notify_state(from, port, name, 3);
    }

    /// NOTIFY with a state number.
    pub(super) fn notify_state(&self, from: &str, port: u16, name: &str, state: i32) {
        let change = proto::nsm1::StatChange { name: Bytes::copy_from_slice(name.as_bytes()), state };
        let peer = SocketAddr::new(from.parse().unwrap(), port);
        let number = (proto::nsm1::PROGRAM, proto::nsm1::VERSION, proto::nsm1::Procedure::Notify.number());
        let results = self.server.raw_from(number, rpc::Credential::None, peer, xdr::to_bytes(&change));
        assert_eq!(results, Ok(Bytes::new()));
    }
}

//! A server of NFSv3 whose lock manager does what a test says.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use proto::nlm4::{self, CancelArgs, LockArgs, NetObject, Procedure, Response, Status, TestArgs, UnlockArgs};
use rpc::{Credential, Refusal, Transport};
use rpc_net::{Destination, OneCall, call_once};
use server::exports::{Rule, Squash};
use server_shell::{Running, ServeOptions};
use tempfile::TempDir;
use testkit::script::{Answer, Script, ScriptedCall};
use tokio::sync::{Mutex, mpsc, oneshot};
use xdr::Encode;

use crate::file::File;
use crate::lock_manager::LockManager;
use crate::open::OpenOptions;
use crate::options::{Options, Version};
use crate::{Client, Url};

/// How long a request may take to come.
const PATIENCE: Duration = Duration::from_secs(60);
/// Longer than any test.
const LONG: Duration = Duration::from_secs(3600);

/// A request as the lock manager sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LockRequest {
    /// Range, exclusive, block.
    Lock(u64, u64, bool, bool),
    Cancel(u64, u64, bool),
    Unlock(u64, u64),
    /// The answer to GRANTED_MSG.
    GrantedRes(Bytes, Status),
}

/// A request that waits for its answer.
pub(super) struct Waiting {
    pub(super) asked: LockRequest,
    pub(super) lock: Option<nlm4::Lock>,
    answer: oneshot::Sender<Status>,
}

impl Waiting {
    pub(super) fn answer(self, status: Status) {
        self.answer.send(status).unwrap();
    }
}

struct LockService(mpsc::UnboundedSender<Waiting>);

impl Script for LockService {
    async fn answer(&self, mut call: ScriptedCall) -> Answer {
        let range = |lock: &nlm4::Lock| (lock.offset, lock.length);
        let (cookie, asked, lock) = match Procedure::from_number(call.number.2).unwrap() {
            Procedure::Null => return Answer::Results(Vec::new()),
            Procedure::Lock | Procedure::NmLock => {
                let LockArgs { cookie, block, exclusive, lock, .. } = call.arguments.get().unwrap();
                let (offset, length) = range(&lock);
                (cookie, LockRequest::Lock(offset, length, exclusive, block), Some(lock))
            }
            Procedure::Cancel => {
                let CancelArgs { cookie, block, exclusive, lock } = call.arguments.get().unwrap();
                assert!(block);
                (cookie, LockRequest::Cancel(lock.offset, lock.length, exclusive), Some(lock))
            }
            Procedure::Unlock => {
                let UnlockArgs { cookie, lock } = call.arguments.get().unwrap();
                (cookie, LockRequest::Unlock(lock.offset, lock.length), Some(lock))
            }
            Procedure::GrantedRes => {
                let Response { cookie, status } = call.arguments.get().unwrap();
                let asked = LockRequest::GrantedRes(cookie.0.clone(), status);
                (cookie, asked, None)
            }
            other => panic!("{other:?}"),
        };
        let (answer, answered) = oneshot::channel();
        // The test has ended where one of the ends is gone.
        if self.0.send(Waiting { asked, lock, answer }).is_err() {
            return Answer::Closed;
        }
        match answered.await {
            Ok(status) => Answer::Results(xdr::to_bytes(&Response { cookie, status }).to_vec()),
            Err(_) => Answer::Refused(Refusal::SystemError),
        }
    }
}

/// The peer, and a client of it whose lock manager it can call.
pub(super) struct Peer {
    pub(super) client: Client,
    requests: Mutex<mpsc::UnboundedReceiver<Waiting>>,
    /// The ports of the client's lock manager over UDP and TCP.
    callbacks: [u16; 2],
    _server: Running,
    _directory: TempDir,
}

impl Peer {
    /// Waiting callers ask again after `ask_again`.
    pub(super) async fn with_pause(ask_again: Duration) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("file"), "0123456789").unwrap();
        let mut options = ServeOptions::new(directory.path());
        options.exports[0].asynchronous = true;
        options.exports[0].options = Rule { squash: Squash::NONE, ..Rule::default() }.into();
        let server = Running::start(&options).await.unwrap();
        let (sender, requests) = mpsc::unbounded_channel();
        let lock_port = testkit::script::serve(Arc::new(LockService(sender))).await.port();
        let url: Url = format!("nfs://{}/", server.address()).parse().unwrap();
        let options =
            Options { versions: vec![Version::V3], lock_port: Some(lock_port), ..Options::default() };
        let client = Client::connect(&url, options).await.unwrap();
        let (manager, callbacks) = LockManager::unpublished().await;
        let mount = client.shared().protocol().as_v3().unwrap();
        mount.use_lock_manager(&manager, ask_again).await;
        let requests = Mutex::new(requests);
        Self { client, requests, callbacks, _server: server, _directory: directory }
    }

    /// One at which nothing happens because of the time.
    pub(super) async fn start() -> Self {
        Self::with_pause(LONG).await
    }

    pub(super) async fn file(&self) -> File {
        self.client.open("/file", OpenOptions::new().read(true).write(true)).await.unwrap()
    }

    pub(super) async fn next(&self) -> Waiting {
        let mut requests = self.requests.lock().await;
        tokio::time::timeout(PATIENCE, requests.recv()).await.expect("a request comes").unwrap()
    }

    /// Answers the next request, which must be `asked`.
    pub(super) async fn answer(&self, asked: LockRequest, status: Status) -> nlm4::Lock {
        let next = self.next().await;
        assert_eq!(next.asked, asked);
        let lock = next.lock.clone();
        next.answer(status);
        lock.unwrap()
    }

    /// Calls GRANTED over UDP and TCP, and returns the answer.
    pub(super) async fn granted(&self, lock: &nlm4::Lock) -> Status {
        self.granted_from(Ipv4Addr::LOCALHOST.into(), lock).await
    }

    pub(super) async fn granted_from(&self, local: IpAddr, lock: &nlm4::Lock) -> Status {
        let mut statuses = Vec::new();
        for transport in [Transport::Udp, Transport::Tcp] {
            let answer = self.call((transport, local), Procedure::Granted, lock).await;
            let response: Response = xdr::from_bytes(answer).unwrap();
            assert_eq!(response.cookie.0, "grant");
            statuses.push(response.status);
        }
        assert_eq!(statuses[0], statuses[1]);
        statuses[0]
    }

    pub(super) async fn granted_message(&self, lock: &nlm4::Lock) {
        let from = (Transport::Tcp, IpAddr::from(Ipv4Addr::LOCALHOST));
        assert!(self.call(from, Procedure::GrantedMsg, lock).await.is_empty());
    }

    async fn call(&self, from: (Transport, IpAddr), procedure: Procedure, lock: &nlm4::Lock) -> Bytes {
        let cookie = NetObject(Bytes::from_static(b"grant"));
        let arguments = TestArgs { cookie, exclusive: true, lock: lock.clone() };
        self.send(from, (nlm4::PROGRAM, nlm4::VERSION, procedure.number()), &arguments).await.unwrap()
    }

    /// Any call of the client's lock manager.
    pub(super) async fn send(
        &self,
        (transport, local): (Transport, IpAddr),
        (program, version, procedure): (u32, u32, u32),
        arguments: &impl Encode,
    ) -> Result<Bytes, rpc::CallError> {
        let port = self.callbacks[usize::from(transport == Transport::Tcp)];
        let to = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let destination = Destination::Network { transport, local: Some(local), to };
        let arguments = xdr::to_bytes(arguments).to_vec();
        let call = OneCall { program, version, procedure, credential: Credential::None, arguments };
        call_once(&destination, call, LONG).await
    }
}

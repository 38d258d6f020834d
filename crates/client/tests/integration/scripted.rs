//! A peer that answers by the book except where a test tells it not to: what servers do rarely.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use client::{Client, Options, Url, Version};
use parking_lot::Mutex;
use proto::nfs4::attributes::{AttributeValues, Bitmap, FileType};
use proto::nfs4::{
    BindConnToSessionArgs, BindConnToSessionResult, ChangeInfo, ClientId, CloseArgs, CommitArgs,
    CommitResult, CompoundHeader, CompoundReply, CreateSessionArgs, CreateSessionResult, DirectionFromServer,
    ExchangeIdArgs, ExchangeIdResult, FileHandle, GetAttrArgs, GetFhResult, OpenArgs, OpenDelegation,
    OpenResult, Operation, PutFhArgs, ReclaimCompleteArgs, SequenceArgs, SequenceId, SequenceResult,
    ServerOwner, SessionId, SlotId, StableHow, StateId, StateProtectResult, Status, Verifier, WriteArgs,
    WriteResult,
};
use rpc::net::{ServerOptions, serve};
use rpc::{Call, Disposition, Refusal, Service};
use tokio::net::TcpListener;
use xdr::{Decoder, Encoder};

use crate::fixture::{WRITE, pattern};

/// The peer: one directory with one file.
#[derive(Default)]
struct Peer {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// How the next operations of a kind fail.
    failures: BTreeMap<Operation, VecDeque<Status>>,
    sessions: u8,
    /// The number of the last request in each slot of the present session.
    slots: BTreeMap<u32, u32>,
    verifier: u8,
    written: Vec<(u64, usize)>,
    content: Vec<u8>,
    target: u32,
    current_is_file: bool,
}

impl Peer {
    fn fail(&self, operation: Operation, statuses: &[Status]) {
        self.state.lock().failures.entry(operation).or_default().extend(statuses);
    }

    async fn start() -> (Arc<Self>, Client) {
        Self::start_with(7).await
    }

    async fn start_with(target: u32) -> (Arc<Self>, Client) {
        let (peer, url) = Self::listen(target).await;
        let options = Options { versions: vec![Version::V4_1], write_bytes_max: 4096, ..Options::default() };
        let client = Client::connect(&url, options).await.unwrap();
        (peer, client)
    }

    async fn listen(target: u32) -> (Arc<Self>, Url) {
        let peer = Arc::new(Self::default());
        peer.state.lock().target = target;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url: Url = format!("nfs://{}/", listener.local_addr().unwrap()).parse().unwrap();
        let service = Arc::clone(&peer);
        tokio::spawn(serve(listener, service, ServerOptions::default(), std::future::pending()));
        (peer, url)
    }
}

impl State {
    fn operation(
        &mut self,
        operation: Operation,
        from: &mut Decoder,
        to: &mut Encoder,
    ) -> xdr::Result<Status> {
        let status = self.failures.get_mut(&operation).and_then(VecDeque::pop_front).unwrap_or(Status::Ok);
        let start = to.len();
        match operation {
            Operation::ExchangeId => {
                from.get::<ExchangeIdArgs>()?;
                to.put(&ExchangeIdResult {
                    client: ClientId(1),
                    sequence: SequenceId(1),
                    flags: 0,
                    state_protect: StateProtectResult::None,
                    server_owner: ServerOwner { minor_id: 0, major_id: Bytes::new() },
                    server_scope: Bytes::new(),
                    implementation: Vec::new(),
                });
            }
            Operation::CreateSession => {
                let args: CreateSessionArgs = from.get()?;
                if status == Status::Ok {
                    self.sessions += 1;
                    self.slots.clear();
                }
                let mut fore_channel = args.fore_channel;
                fore_channel.requests_max = 8;
                to.put(&CreateSessionResult {
                    session: SessionId([self.sessions; 16]),
                    sequence: args.sequence,
                    flags: args.flags,
                    fore_channel,
                    back_channel: args.back_channel,
                });
            }
            Operation::BindConnToSession => {
                let args: BindConnToSessionArgs = from.get()?;
                let direction = DirectionFromServer::Both;
                to.put(&BindConnToSessionResult { session: args.session, direction, rdma: false });
            }
            Operation::Sequence => {
                let args: SequenceArgs = from.get()?;
                if args.session.0[0] != self.sessions {
                    return Ok(Status::BadSession);
                }
                let last = self.slots.entry(args.slot.0).or_default();
                assert_eq!(args.sequence.0, *last + 1, "a request is lost, or was sent again needlessly");
                if status == Status::Ok {
                    *last += 1;
                }
                to.put(&SequenceResult {
                    session: args.session,
                    sequence: args.sequence,
                    slot: args.slot,
                    highest_slot: SlotId(self.target),
                    target_highest_slot: SlotId(self.target),
                    status_flags: 0,
                });
            }
            Operation::ReclaimComplete => {
                from.get::<ReclaimCompleteArgs>()?;
            }
            Operation::PutFh => self.current_is_file = from.get::<PutFhArgs>()?.object.0 == "file",
            Operation::PutRootFh => self.current_is_file = false,
            Operation::GetFh => {
                let name = if self.current_is_file { "file" } else { "root" };
                to.put(&GetFhResult { object: FileHandle(name.into()) });
            }
            Operation::GetAttr => {
                let args: GetAttrArgs = from.get()?;
                self.attributes().encode_wanted(args.wanted, to);
            }
            Operation::Open => {
                from.get::<OpenArgs>()?;
                self.current_is_file = true;
                to.put(&OpenResult {
                    state_id: StateId { sequence: 1, other: [1; 12] },
                    change: ChangeInfo { atomic: true, before: 0, after: 1 },
                    flags: 0,
                    attributes_set: Bitmap::EMPTY,
                    delegation: OpenDelegation::None,
                });
            }
            Operation::Write => {
                let args: WriteArgs = from.get()?;
                if status == Status::Ok {
                    self.write(args.offset, &args.data);
                }
                to.put(&WriteResult {
                    count: args.data.len() as u32,
                    committed: args.stable,
                    verifier: Verifier([self.verifier; 8]),
                });
                assert_ne!(args.stable, StableHow::DataSync);
            }
            Operation::Commit => {
                from.get::<CommitArgs>()?;
                to.put(&CommitResult { verifier: Verifier([self.verifier; 8]) });
            }
            Operation::Close => {
                let args: CloseArgs = from.get()?;
                to.put(&args.state_id);
            }
            other => panic!("{other} is not expected"),
        }
        if status != Status::Ok {
            to.truncate(start);
        }
        Ok(status)
    }

    fn write(&mut self, offset: u64, data: &[u8]) {
        self.written.push((offset, data.len()));
        let end = offset as usize + data.len();
        self.content.resize(self.content.len().max(end), 0);
        self.content[offset as usize..end].copy_from_slice(data);
    }

    fn attributes(&self) -> AttributeValues {
        AttributeValues {
            kind: Some(if self.current_is_file { FileType::Regular } else { FileType::Directory }),
            change: Some(self.written.len() as u64),
            size: Some(self.content.len() as u64),
            lease_time: Some(90),
            ..AttributeValues::default()
        }
    }
}

impl Service for Peer {
    async fn call(&self, call: Call<'_>, reply: &mut Encoder) -> Result<Disposition, Refusal> {
        let mut from = call.arguments;
        if call.header.procedure == 0 {
            return Ok(Disposition::Reply);
        }
        let header: CompoundHeader = from.get().map_err(|_| Refusal::GarbageArguments)?;
        let mut results = CompoundReply::begin(reply, &header.tag);
        let mut state = self.state.lock();
        let mut status = Status::Ok;
        for _ in 0..header.operations {
            let number = from.u32().map_err(|_| Refusal::GarbageArguments)?;
            let operation = Operation::from_number(number).ok_or(Refusal::GarbageArguments)?;
            reply.u32(number);
            let mark = reply.reserve_u32();
            results.count();
            status = state.operation(operation, &mut from, reply).map_err(|_| Refusal::GarbageArguments)?;
            reply.fill_u32(mark, status.code());
            if status != Status::Ok {
                break;
            }
        }
        results.finish(reply, status);
        Ok(Disposition::Reply)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delay_is_waited_out_wherever_it_comes() {
    let (peer, client) = Peer::start().await;
    for operation in [Operation::Sequence, Operation::PutFh, Operation::GetAttr, Operation::Open] {
        peer.fail(operation, &[Status::Delay; 3]);
        client.open("/file", WRITE).await.unwrap().close().await.unwrap();
        assert!(peer.state.lock().failures[&operation].is_empty(), "{operation}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_close_that_fails_does_not_take_the_request_with_it() {
    let (peer, client) = Peer::start().await;
    for status in [Status::BadStateId, Status::Stale, Status::Delay] {
        peer.fail(Operation::Close, &[status]);
        client.open("/file", WRITE).await.unwrap().close().await.unwrap();
        let file = client.open("/file", WRITE).await.unwrap();
        assert!(peer.state.lock().failures[&Operation::Close].is_empty(), "{status:?}");
        file.write_at(0, "data".into()).await.unwrap();
        file.close().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_session_is_replaced_and_the_request_carried_out() {
    let (peer, client) = Peer::start().await;
    for status in [Status::BadSession, Status::DeadSession, Status::SequenceMisordered] {
        let before = peer.state.lock().sessions;
        peer.fail(Operation::Sequence, &[status]);
        client.metadata("/").await.unwrap();
        client.forget("/").await.unwrap();
        client.metadata("/").await.unwrap();
        assert_eq!(peer.state.lock().sessions, before + 1);
    }
    let before = client.tap().snapshot();
    peer.fail(Operation::Sequence, &[Status::BadSession]);
    peer.fail(Operation::CreateSession, &[Status::StaleClientId]);
    client.forget("/").await.unwrap();
    client.metadata("/").await.unwrap();
    let counts = client.tap().snapshot().since(&before);
    assert_eq!((counts.requests["EXCHANGE_ID"].requests, counts.requests["CREATE_SESSION"].requests), (1, 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_gone_after_a_restart_is_lost_alone() {
    let (peer, client) = Peer::start().await;
    let file = client.open("/file", WRITE).await.unwrap();
    let other = client.open("/file", WRITE).await.unwrap();
    peer.fail(Operation::Sequence, &[Status::BadSession]);
    peer.fail(Operation::CreateSession, &[Status::StaleClientId]);
    peer.fail(Operation::Open, &[Status::Stale, Status::Ok, Status::Stale]);
    client.forget("/").await.unwrap();
    client.metadata("/").await.unwrap();
    file.write_at(0, "lost".into()).await.unwrap();
    assert_eq!(file.close().await.unwrap_err().kind(), std::io::ErrorKind::StaleNetworkFileHandle);
    assert!(peer.state.lock().written.is_empty());
    other.write_at(0, "kept".into()).await.unwrap();
    other.close().await.unwrap();
    assert_eq!(peer.state.lock().content, b"kept");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn data_that_a_restart_may_have_lost_are_written_again() {
    let (peer, client) = Peer::start().await;
    let data = pattern(3 * 4096);
    let file = client.open("/file", WRITE).await.unwrap();
    file.write_at(0, data.clone()).await.unwrap();
    file.metadata().await.unwrap();
    assert_eq!(peer.state.lock().written.len(), 3);
    {
        let mut state = peer.state.lock();
        state.verifier = 1;
        state.content.clear();
    }
    file.sync_all().await.unwrap();
    let state = peer.state.lock();
    assert_eq!(state.written.len(), 6);
    assert!(state.content == data);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_error_of_a_write_is_told_by_sync_and_only_once() {
    let (peer, client) = Peer::start().await;
    let file = client.open("/file", WRITE).await.unwrap();
    peer.fail(Operation::Write, &[Status::NoSpace]);
    file.write_at(0, "data".into()).await.unwrap();
    assert_eq!(file.sync_all().await.unwrap_err().kind(), std::io::ErrorKind::StorageFull);
    file.sync_all().await.unwrap();
    file.write_at(0, "data".into()).await.unwrap();
    file.close().await.unwrap();
    assert_eq!(peer.state.lock().content, b"data");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_server_decides_how_many_slots_are_used() {
    let (peer, client) = Peer::start_with(0).await;
    client.metadata("/").await.unwrap();
    let tasks: Vec<_> = (0..20)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move {
                client.open("/file", WRITE).await.unwrap().close().await.unwrap();
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(peer.state.lock().slots.keys().max(), Some(&0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_the_newest_minor_version_is_spoken_to_in_the_one_before() {
    let (peer, url) = Peer::listen(7).await;
    peer.fail(Operation::ExchangeId, &[Status::MinorVersionMismatch]);
    let client = Client::connect(&url, Options::default()).await.unwrap();
    assert_eq!(client.version(), Version::V4_1);
    assert_eq!(client.tap().snapshot().requests["EXCHANGE_ID"].requests, 2);
    client.open("/file", WRITE).await.unwrap().close().await.unwrap();
}

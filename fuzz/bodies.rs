//! What the fuzz targets do with their input; `crates/server/tests/fuzz_corpus.rs` replays the corpus through
//! the same code.

#![allow(dead_code, missing_docs, unreachable_pub, reason = "each target uses one of them")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use portmap::{PortMapper, Registration};
use proto::{nfs3, nfs4, nlm4};
use rpc::auth::Pass;
use rpc::{
    Call, CallError, CallHeader, Connection, Credential, RecordLimits, RecordReader, Service, Transport,
};
use server::dispatch::Programs;
use server::exports::{Export, ExportId, ExportPath, Exports, Rule, Squash};
use server::hosts::{CallHosts, HostRoute, ProcedureNumber};
use server::nfs4::{Nfs4, Nfs4Options};
use server::nsm1::Nsm1;
use server::runtime::Runtime;
use server::services::StateService;
use state::{Limits, State};
use vfs::memory::{Memory, MemoryOptions};
use xdr::{Decode, Decoder, Encode, Encoder};

/// Record marking: whatever arrives, in whatever pieces, memory stays within bounds.
pub fn records(data: &[u8]) {
    let Some((pieces, data)) = data.split_first() else { return };
    let mut reader = RecordReader::new(RecordLimits { record_bytes_max: 1 << 16, fragments_max: 8 });
    for piece in data.chunks(usize::from(*pieces).max(1)) {
        reader.buffer().extend_from_slice(piece);
        assert!(reader.buffer().capacity() <= 1 << 20);
        loop {
            match reader.next_record() {
                Ok(Some(record)) => assert!(record.len() <= 1 << 16),
                Ok(None) => break,
                Err(_) => return,
            }
        }
    }
}

/// What is decoded encodes to something that decodes to the same.
fn round_trip<T: Decode + Encode>(data: &[u8]) {
    let mut decoder = Decoder::new(Bytes::copy_from_slice(data));
    let Ok(value) = T::decode(&mut decoder) else { return };
    let bytes = xdr::to_bytes(&value);
    let again: T = xdr::from_bytes(bytes.clone()).expect("our own encoding decodes");
    assert_eq!(xdr::to_bytes(&again), bytes);
}

/// The wire types, chosen by the first byte.
pub fn types(data: &[u8]) {
    let Some((which, data)) = data.split_first() else { return };
    match which % 34 {
        0 => round_trip::<nfs4::ExchangeIdArgs>(data),
        1 => round_trip::<nfs4::ExchangeIdResult>(data),
        2 => round_trip::<nfs4::CreateSessionArgs>(data),
        3 => round_trip::<nfs4::CreateSessionResult>(data),
        4 => round_trip::<nfs4::SequenceArgs>(data),
        5 => round_trip::<nfs4::OpenArgs>(data),
        6 => round_trip::<nfs4::OpenResult>(data),
        7 => round_trip::<nfs4::LockArgs>(data),
        8 => round_trip::<nfs4::LockDenied>(data),
        9 => round_trip::<nfs4::attributes::AttributeValues>(data),
        10 => round_trip::<nfs4::ReadDirResult>(data),
        11 => round_trip::<nfs4::WriteArgs>(data),
        12 => round_trip::<nfs4::ReadResult>(data),
        13 => round_trip::<nfs4::CreateArgs>(data),
        14 => round_trip::<nfs4::SecInfoResult>(data),
        15 => round_trip::<nfs4::CbSequenceArgs>(data),
        16 => round_trip::<nfs4::CbRecallArgs>(data),
        17 => round_trip::<nfs4::TestStateIdResult>(data),
        18 => round_trip::<proto::nfs3::CreateArgs>(data),
        19 => round_trip::<proto::nfs3::SetAttrArgs>(data),
        20 => round_trip::<proto::nfs3::WriteArgs>(data),
        21 => round_trip::<proto::nlm4::LockArgs>(data),
        22 => round_trip::<proto::mount3::MountList>(data),
        24 => round_trip::<nfs4::AllocateArgs>(data),
        25 => round_trip::<nfs4::CopyArgs>(data),
        26 => round_trip::<nfs4::CopyResult>(data),
        27 => round_trip::<nfs4::CloneArgs>(data),
        28 => round_trip::<nfs4::IoAdviseArgs>(data),
        29 => round_trip::<nfs4::ReadPlusResult>(data),
        30 => round_trip::<nfs4::SeekArgs>(data),
        31 => round_trip::<nfs4::SetXattrArgs>(data),
        32 => round_trip::<nfs4::ListXattrsResult>(data),
        33 => round_trip::<nfs4::attributes::OpenArguments>(data),
        _ => round_trip::<proto::portmap::MappingList>(data),
    }
}

/// A whole server over memory: a sequence of calls, each a byte for program and procedure, a length, and
/// arguments. The handles and session that a client would know are put in where the input asks for them.
pub fn calls(data: &[u8]) {
    run(&FuzzServer::new(), data);
}

fn run(server: &FuzzServer, data: &[u8]) {
    let mut rest = data;
    for _ in 0..16 {
        let Some(([target, length], after)) = rest.split_first_chunk::<2>() else { return };
        let length = usize::from(*length).min(after.len());
        let (arguments, after) = after.split_at(length);
        rest = after;
        server.call(*target, arguments);
    }
}

struct FuzzServer {
    programs: Programs<Memory, StateService, StateService>,
    port_mapper: PortMapper,
    root: Vec<u8>,
    file: Vec<u8>,
    connection: Arc<dyn Connection>,
}

struct Nowhere;

impl Connection for Nowhere {
    fn id(&self) -> u64 {
        1
    }

    fn peer(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], 900))
    }

    fn is_open(&self) -> bool {
        true
    }

    fn call(
        &self,
        _: u32,
        _: u32,
        _: u32,
        _: Pass,
        _: Vec<u8>,
        _: Duration,
    ) -> rpc::BoxFuture<Result<Bytes, CallError>> {
        Box::pin(async { Ok(Bytes::new()) })
    }
}

/// Hosts that wait for locks: one takes what it is given, the next does not want it, the third never answers.
#[derive(Default)]
struct FuzzHosts(AtomicU32);

impl CallHosts for FuzzHosts {
    fn call(
        &self,
        _: HostRoute,
        _: ProcedureNumber,
        _: Vec<u8>,
        _: Duration,
    ) -> rpc::BoxFuture<Result<Bytes, CallError>> {
        let status = match self.0.fetch_add(1, Ordering::Relaxed) % 3 {
            0 => nlm4::Status::Granted,
            1 => nlm4::Status::Denied,
            _ => return Box::pin(std::future::pending()),
        };
        let answer = nlm4::Response { cookie: nlm4::NetObject::default(), status };
        Box::pin(std::future::ready(Ok(xdr::to_bytes(&answer))))
    }
}

struct FuzzWorld;

impl Runtime for FuzzWorld {
    fn now_ms(&self) -> u64 {
        1
    }

    fn wall_clock(&self) -> vfs::Timestamp {
        vfs::Timestamp::default()
    }

    fn sleep(&self, _: Duration) -> rpc::BoxFuture<()> {
        Box::pin(std::future::ready(()))
    }

    fn spawn(&self, task: rpc::BoxFuture<()>) {
        // One step is as far as a callback comes without an answer.
        let _ = task.now_or_never();
    }

    fn random(&self, bytes: &mut [u8]) {
        bytes.fill(7);
    }
}

/// In the input, eight bytes that stand for the root's file handle with its length.
const ROOT_MARK: &[u8] = b"\xf0ROOTFH\xf0";
/// The same for an empty file.
const FILE_MARK: &[u8] = b"\xf0FILEFH\xf0";

impl FuzzServer {
    fn new() -> Self {
        let options = MemoryOptions {
            root_mode: 0o777,
            bytes_max: 1 << 20,
            objects_max: 256,
            ..MemoryOptions::default()
        };
        let memory = Memory::new(options).expect("memory");
        let rule = Rule { squash: Squash::NONE, ..Rule::default() };
        let exports = Arc::new(Exports::single(Export::new(ExportId(1), ExportPath::root(), memory, rule)));
        let in_use = exports.load();
        let (root_export, node) = in_use.root();
        let handle = vfs::FileSystem::handle(root_export.file_system(), &node);
        let root = xdr::to_bytes(&Bytes::copy_from_slice(handle.as_bytes())).to_vec();
        let state = Arc::new(State::new(Limits { clients_max: 8, ..Limits::default() }, 1));
        let recaller = StateService::new(state, Arc::new(FuzzWorld), Arc::new(server::stable::Forgetful));
        let nfs4 = Nfs4::new(
            Arc::clone(&exports),
            recaller.clone(),
            Nfs4Options {
                delegations: true,
                identity: Bytes::from_static(b"fuzz"),
                owner_names: server::nfs4::OwnerNames::Numeric,
            },
        );
        recaller.call_hosts_by(Arc::new(FuzzHosts::default()));
        let programs = Programs::new(exports, recaller.clone(), recaller.clone())
            .with_nfs4(nfs4)
            .with_nsm1(Nsm1::new(recaller, 1));
        let registration =
            Registration { program: 100_003, version: 3, transport: Transport::Tcp, port: 2049 };
        let port_mapper = PortMapper::new(vec![registration]);
        let mut server =
            Self { programs, port_mapper, root, file: Vec::new(), connection: Arc::new(Nowhere) };
        server.file = server.create_file();
        server
    }

    /// Makes a file that everybody may lock, and returns its handle as it is sent.
    fn create_file(&self) -> Vec<u8> {
        let mut arguments = self.root.clone();
        let set = nfs3::SetAttributes { mode: Some(0o666), ..nfs3::SetAttributes::default() };
        arguments.extend_from_slice(&xdr::to_bytes(&Bytes::from_static(b"locked")));
        arguments.extend_from_slice(&xdr::to_bytes(&nfs3::CreateHow::Unchecked(set)));
        let results = self.call(8, &arguments).expect("CREATE is answered");
        let reply: nfs3::Reply<nfs3::CreateOk, nfs3::CreateFail> =
            xdr::from_bytes(results).expect("CREATE answers what it should");
        let nfs3::Reply::Ok(created) = reply else { panic!("the file is made") };
        let handle = created.object.expect("its handle is told");
        xdr::to_bytes(&Bytes::copy_from_slice(handle.as_bytes())).to_vec()
    }

    /// Makes a call, and yields the results if there are any.
    fn call(&self, target: u8, arguments: &[u8]) -> Option<Bytes> {
        let (program, version, procedure) = match target {
            0..=31 => (100_003, 3, u32::from(target)),
            32..=191 => (100_003, 4, 1),
            192..=207 => (100_005, 3, u32::from(target - 192)),
            208..=239 => (100_021, 4, u32::from(target - 208)),
            240..=247 => (100_024, 1, u32::from(target - 240)),
            248..=251 => (100_000, 2, u32::from(target - 247)),
            252..=254 => (100_000, 4, u32::from(target - 252) * 3 + 3),
            255 => (u32::from(target), 1, 0),
        };
        let header = CallHeader { xid: 1, program, version, procedure };
        let caller = Credential::None.into();
        let arguments = self.with_handles(arguments);
        let call = Call {
            header: &header,
            caller: &caller,
            peer: self.connection.peer(),
            connection: &self.connection,
            arguments: Decoder::new(arguments.into()),
        };
        let mut reply = Encoder::with_buffer(vec![0x5a; 24]);
        let outcome = match program {
            100_000 => self.port_mapper.call(call, &mut reply).now_or_never(),
            _ => self.programs.call(call, &mut reply).now_or_never(),
        };
        let length = reply.len();
        assert!(length >= 24 && reply.as_slice()[..24] == [0x5a; 24], "the head of the reply must stay");
        assert!(length <= 4 << 20, "a reply is bounded");
        let Some(Ok(_)) = outcome else { return None };
        assert_eq!(length % 4, 0, "XDR is a whole number of words");
        Some(reply.into_inner().split_off(24).into())
    }

    fn with_handles(&self, arguments: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(arguments.len() + 128);
        let mut rest = arguments;
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix(ROOT_MARK) {
                out.extend_from_slice(&self.root);
                rest = after;
            } else if let Some(after) = rest.strip_prefix(FILE_MARK) {
                out.extend_from_slice(&self.file);
                rest = after;
            } else {
                out.push(rest[0]);
                rest = &rest[1..];
            }
        }
        out
    }
}

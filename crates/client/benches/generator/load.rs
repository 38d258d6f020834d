//! The load: tasks that each have one GETATTR under way, and the processor time that they take.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use proto::nfs4::attributes::AttributeValues;
use proto::nfs4::{
    CompoundBuilder, CompoundReader, FileHandle, GetAttrArgs, Operation, PutFhArgs, SequenceArgs, SequenceId,
    SequenceResult, SessionId, SlotId,
};
use proto::{nfs3, nfs4};
use rpc::auth::SystemCredentials;
use rpc::{AuthSys, Credential};
use rpc_net::{Client, ClientOptions};
use rustix::time::{ClockId, clock_gettime};
use xdr::Decoder;

use crate::null_server::{ATTRIBUTES, FILE_BYTES};

const WARM_UP: Duration = Duration::from_millis(200);
/// As long as those of servers are.
const HANDLE: [u8; 40] = [7; 40];

#[derive(Debug, Clone, Copy)]
pub enum Version {
    V3,
    V4_1,
}

pub struct Load {
    pub address: SocketAddr,
    pub version: Version,
    pub connections: usize,
    pub in_flight: usize,
}

pub struct Rate {
    pub per_second: f64,
    /// For each second of this process's processor time.
    pub per_cpu_second: f64,
}

impl Load {
    /// Measures for `duration`, after a short warm-up, with as many threads as the library's users have.
    pub fn run(&self, duration: Duration) -> Rate {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("threads");
        let (stop, answers) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let lanes = runtime.block_on(async {
            let mut lanes = Vec::new();
            for connection in 0..self.connections {
                let client = Client::connect(self.address, options(self.version)).await.expect("connect");
                for slot in 0..self.in_flight as u32 {
                    let lane = Lane::new(client.clone(), connection as u8, slot, self.in_flight as u32);
                    let (stop, answers) = (Arc::clone(&stop), Arc::clone(&answers));
                    lanes.push(tokio::spawn(lane.drive(self.version, stop, answers)));
                }
            }
            lanes
        });
        std::thread::sleep(WARM_UP);
        let begun = (Instant::now(), processor_time(), answers.load(Ordering::Relaxed));
        std::thread::sleep(duration);
        let answered = (answers.load(Ordering::Relaxed) - begun.2) as f64;
        let processor_seconds = (processor_time() - begun.1).as_secs_f64();
        let rate = Rate {
            per_second: answered / begun.0.elapsed().as_secs_f64(),
            per_cpu_second: answered / processor_seconds,
        };
        stop.store(true, Ordering::Relaxed);
        runtime.block_on(async {
            for lane in lanes {
                lane.await.expect("no lane fails");
            }
        });
        rate
    }
}

/// As the library has them for a mount of the version.
fn options(version: Version) -> ClientOptions {
    let user = AuthSys { stamp: 0, machine_name: "generator".into(), uid: 1000, gid: 1000, gids: vec![1000] };
    ClientOptions {
        credentials: SystemCredentials::shared(Credential::Sys(user)),
        retransmit: matches!(version, Version::V3),
        attempt_timeout: matches!(version, Version::V3).then_some(Duration::from_secs(60)),
        ..ClientOptions::default()
    }
}

/// User and system time of all threads of this process.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Makes one request after the other; over NFSv4.1 in a slot of its own.
struct Lane {
    client: Client,
    handle3: nfs3::FileHandle,
    handle4: PutFhArgs,
    sequence: SequenceArgs,
}

impl Lane {
    fn new(client: Client, connection: u8, slot: u32, slots: u32) -> Self {
        Self {
            client,
            handle3: nfs3::FileHandle::new(&HANDLE).expect("a handle of NFSv3"),
            handle4: PutFhArgs { object: FileHandle(bytes::Bytes::from_static(&HANDLE)) },
            sequence: SequenceArgs {
                session: SessionId([connection; 16]),
                sequence: SequenceId(1),
                slot: SlotId(slot),
                highest_slot: SlotId(slots - 1),
                cache_this: false,
            },
        }
    }

    async fn drive(mut self, version: Version, stop: Arc<AtomicBool>, answers: Arc<AtomicU64>) {
        while !stop.load(Ordering::Relaxed) {
            let size = match version {
                Version::V3 => self.nfs3().await,
                Version::V4_1 => self.nfs4().await,
            };
            assert_eq!(size, Some(FILE_BYTES), "the answer to GETATTR");
            answers.fetch_add(1, Ordering::Relaxed);
        }
    }

    async fn nfs3(&mut self) -> Option<u64> {
        let arguments = nfs3::GetAttrArgs { object: self.handle3 };
        let procedure = nfs3::Procedure::GetAttr.number();
        let answer = self.client.call(nfs3::PROGRAM, nfs3::VERSION, procedure, |to| to.put(&arguments)).await;
        let mut results = answer.expect("an answer").results;
        let reply: nfs3::Reply<nfs3::GetAttrOk, ()> = results.get().expect("a reply of GETATTR");
        reply.into_result().ok().map(|ok| ok.attributes.size)
    }

    async fn nfs4(&mut self) -> Option<u64> {
        let answer = self
            .client
            .call(nfs4::PROGRAM, nfs4::VERSION, nfs4::COMPOUND, |to| {
                let mut compound = CompoundBuilder::begin(to, 1);
                compound.push(Operation::Sequence, &self.sequence);
                compound.push(Operation::PutFh, &self.handle4);
                compound.push(Operation::GetAttr, &GetAttrArgs { wanted: ATTRIBUTES });
                compound.finish();
            })
            .await;
        let mut reader = CompoundReader::new(answer.expect("an answer").results).expect("a COMPOUND");
        let sequence: SequenceResult = ok(&mut reader, Operation::Sequence).get().expect("SEQUENCE");
        assert_eq!((sequence.slot, sequence.sequence), (self.sequence.slot, self.sequence.sequence));
        self.sequence.sequence = self.sequence.sequence.next();
        ok(&mut reader, Operation::PutFh);
        AttributeValues::decode(ok(&mut reader, Operation::GetAttr)).expect("attributes").size
    }
}

/// The body of an operation's result.
fn ok(reader: &mut CompoundReader, operation: Operation) -> &mut Decoder {
    reader.next(operation).expect("a result").expect("NFS4_OK")
}

//! Many clients with many opens: memory, and a restart with all of them.

use std::time::Instant;

use bytes::Bytes;
use proto::nfs4::*;
use rpc_net::Client as Connection;

use crate::peer::{Peer, connect};
use crate::serve::Server;

const CLIENTS: u32 = 10_000;
const OPENS_PER_CLIENT: usize = 100;
const FILES: usize = 10_000;
const LOCKS_PER_CLIENT: usize = 10;
/// Opens of one COMPOUND.
const BATCH: usize = 25;

pub async fn measure() {
    let mut server = Server::start();
    for index in 0..FILES {
        std::fs::write(server.directory().join(index.to_string()), b"").unwrap();
    }
    let connection = connect(server.address).await;
    let handles = handles(&connection).await;
    println!(
        "\n{CLIENTS} clients with a session each, {OPENS_PER_CLIENT} opens and {LOCKS_PER_CLIENT} locks each"
    );
    let mut meter = Meter { bytes: server.resident_bytes() };
    let mut peers = Vec::new();
    for number in 0..CLIENTS {
        let mut peer = Peer::new(&connection, number).await;
        peer.reclaim_complete().await;
        peers.push(peer);
    }
    meter.print("client with its session", CLIENTS as usize, &server);
    let mut opens = Vec::new();
    for (number, peer) in peers.iter_mut().enumerate() {
        opens.push(open_all(peer, number, &handles, OpenClaim::Handle).await);
    }
    meter.print("open", CLIENTS as usize * OPENS_PER_CLIENT, &server);
    for ((number, peer), opens) in peers.iter_mut().enumerate().zip(&opens) {
        lock_some(peer, number, &handles, opens).await;
    }
    meter.print("lock", CLIENTS as usize * LOCKS_PER_CLIENT, &server);
    restart(&mut server, &handles).await;
}

struct Meter {
    bytes: u64,
}

impl Meter {
    fn print(&mut self, what: &str, count: usize, server: &Server) {
        let now = server.resident_bytes();
        let each = now.saturating_sub(self.bytes) as f64 / count as f64;
        println!("  {count:>9} x {what:<24} {each:>8.0} bytes each, {:.0} MB in all", now as f64 / 1e6);
        self.bytes = now;
    }
}

async fn handles(connection: &Connection) -> Vec<FileHandle> {
    let mut peer = Peer::new(connection, u32::MAX).await;
    peer.reclaim_complete().await;
    let mut handles = Vec::new();
    for index in 0..FILES {
        let name = Bytes::from(index.to_string());
        let mut results = peer
            .compound(|c| {
                c.push(Operation::PutRootFh, &())
                    .push(Operation::Lookup, &LookupArgs { name })
                    .push(Operation::GetFh, &());
            })
            .await;
        for operation in [Operation::PutRootFh, Operation::Lookup] {
            results.ok(operation);
        }
        let found: GetFhResult = results.body(Operation::GetFh);
        handles.push(found.object);
    }
    handles
}

/// The files of a client: every file has as many users.
fn files_of(number: usize) -> impl Iterator<Item = usize> {
    (0..OPENS_PER_CLIENT).map(move |index| (number * OPENS_PER_CLIENT + index) % FILES)
}

async fn open_all(peer: &mut Peer, number: usize, handles: &[FileHandle], claim: OpenClaim) -> Vec<StateId> {
    let open = OpenArgs {
        sequence: 0,
        share_access: share::BOTH | share::WANT_NO_DELEGATION,
        share_deny: 0,
        owner: StateOwner { client: ClientId(0), owner: Bytes::from_static(b"owner") },
        create: None,
        claim,
    };
    let files: Vec<usize> = files_of(number).collect();
    let mut opens = Vec::new();
    for batch in files.chunks(BATCH) {
        let mut results = peer
            .compound(|c| {
                for file in batch {
                    let object = handles[*file].clone();
                    c.push(Operation::PutFh, &PutFhArgs { object }).push(Operation::Open, &open);
                }
            })
            .await;
        for _ in batch {
            results.ok(Operation::PutFh);
            let opened: OpenResult = results.body(Operation::Open);
            opens.push(opened.state_id);
        }
    }
    opens
}

async fn lock_some(peer: &mut Peer, number: usize, handles: &[FileHandle], opens: &[StateId]) {
    let some: Vec<_> = files_of(number).zip(opens).take(LOCKS_PER_CLIENT).collect();
    peer.compound(|c| {
        for (file, open) in some {
            let owner = StateOwner { client: ClientId(0), owner: Bytes::from_static(b"locker") };
            let locker =
                Locker::New(NewLockOwner { open_sequence: 0, open_state_id: *open, lock_sequence: 0, owner });
            // Each client has bytes of its own.
            let offset = number as u64 * 8;
            let lock = LockArgs { kind: LockType::Write, reclaim: false, offset, length: 8, locker };
            c.push(Operation::PutFh, &PutFhArgs { object: handles[file].clone() })
                .push(Operation::Lock, &lock);
        }
    })
    .await;
}

/// Kills the server, starts it again, and lets every client reclaim its opens.
async fn restart(server: &mut Server, handles: &[FileHandle]) {
    server.kill();
    let start = Instant::now();
    server.start_again();
    println!("  restart: ready after {:.0} ms", start.elapsed().as_secs_f64() * 1e3);
    let connection = connect(server.address).await;
    let start = Instant::now();
    for number in 0..CLIENTS {
        let mut peer = Peer::new(&connection, number).await;
        open_all(&mut peer, number as usize, handles, OpenClaim::Previous(DelegationType::None)).await;
        peer.reclaim_complete().await;
    }
    let seconds = start.elapsed().as_secs_f64();
    let opens = CLIENTS as usize * OPENS_PER_CLIENT;
    println!(
        "    all {CLIENTS} clients have reclaimed {opens} opens after {seconds:.1} s, one client after the \
         other"
    );
}

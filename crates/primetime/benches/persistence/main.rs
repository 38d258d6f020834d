//! What persistent sessions cost: directories made and renamed on a durable export, with them and without, in
//! turns: `cargo bench -p primetime --bench persistence`.
//!
//! The load generator is raw sockets, on the same cores. Nothing here is asserted but that every request
//! succeeds.

#![allow(missing_docs, unreachable_pub, dead_code, clippy::unwrap_used, clippy::print_stdout)]

#[path = "../../tests/persistent_sessions/peer.rs"]
mod peer;
#[path = "../../tests/persistent_sessions/process.rs"]
mod process;

use std::time::{Duration, Instant};

use peer::{Line, bytes, compound};
use process::Place;
use proto::nfs4::attributes::AttributeValues;
use proto::nfs4::*;

const SECONDS: Duration = Duration::from_secs(2);
const ROUNDS: usize = 5;

fn main() {
    for in_flight in [1, 16] {
        println!(
            "CREATE and RENAME of directories on a durable export, 1 connection x {in_flight} in flight"
        );
        let mut all = Vec::new();
        for round in 1..=ROUNDS {
            let [without, with] = [false, true].map(|persistent| per_second(persistent, in_flight));
            let ratio = with / without;
            println!("  round {round}: without {without:>7.0}/s   with {with:>7.0}/s   {ratio:.2}");
            all.push(ratio);
        }
        all.sort_by(f64::total_cmp);
        println!("  median {:.2}", all[all.len() / 2]);
    }
}

/// Requests a second, half of them CREATE and half RENAME, with so many slots busy.
fn per_second(persistent: bool, in_flight: u32) -> f64 {
    let place = Place::new();
    let process = place.start(persistent);
    let mut line = Line::new(process.address());
    let session = line.session(in_flight, persistent);
    let mut sequences = vec![0; in_flight as usize];
    let mut send = |line: &mut Line, slot: u32| {
        let sequence = &mut sequences[slot as usize];
        *sequence += 1;
        line.send(slot, &request(session, slot, *sequence, in_flight));
    };
    (0..in_flight).for_each(|slot| send(&mut line, slot));
    let (start, mut replies) = (Instant::now(), 0);
    while start.elapsed() < SECONDS {
        let reply = line.receive();
        assert_eq!(reply.status, Status::Ok);
        replies += 1;
        send(&mut line, reply.xid);
    }
    f64::from(replies) / start.elapsed().as_secs_f64()
}

fn request(session: SessionId, slot: u32, sequence: u32, in_flight: u32) -> Vec<u8> {
    let head = SequenceArgs {
        session,
        sequence: SequenceId(sequence),
        slot: SlotId(slot),
        highest_slot: SlotId(in_flight - 1),
        cache_this: true,
    };
    let name = |what: &str| bytes(&format!("{what}-{slot}-{}", (sequence - 1) / 2));
    compound(|c| {
        c.push(Operation::Sequence, &head).push(Operation::PutRootFh, &());
        if sequence % 2 == 1 {
            let made = CreateArgs { kind: CreateType::Directory, name: name("made") };
            c.push(Operation::Create, &(made, AttributeValues::default()));
        } else {
            let moved = RenameArgs { old_name: name("made"), new_name: name("moved") };
            c.push(Operation::SaveFh, &()).push(Operation::Rename, &moved);
        }
    })
}

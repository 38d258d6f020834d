//! Replays what the fuzz targets have found worth keeping.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "the corpus is files")]
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "../../../fuzz/bodies.rs"]
mod bodies;
#[path = "../../../fuzz/gss.rs"]
mod gss;
#[path = "../../../fuzz/sequences/mod.rs"]
mod sequences;

use std::fs;
use std::path::Path;

use proto::nfs4::{Operation, Status};

fn replay(target: &str, body: fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut inputs = 0;
    for entry in fs::read_dir(&corpus).unwrap() {
        body(&fs::read(entry.unwrap().path()).unwrap());
        inputs += 1;
    }
    assert!(inputs > 10, "the corpus of {target} is there");
}

#[test]
fn records_of_the_corpus_do_no_harm() {
    replay("records", bodies::records);
}

#[test]
fn types_of_the_corpus_do_no_harm() {
    replay("types", bodies::types);
}

#[test]
fn calls_of_the_corpus_do_no_harm() {
    replay("calls", bodies::calls);
}

#[test]
fn gss_calls_of_the_corpus_reach_no_service() {
    replay("gss", gss::gss);
}

#[test]
fn sequences_of_the_corpus_do_no_harm() {
    replay("sequences", |data| drop(sequences::sequences(data)));
}

#[test]
fn random_sequences_do_no_harm_and_reach_far() {
    let mut reached = sequences::Reached::new();
    for seed in 0..2_000 {
        reached.extend(sequences::sequences(&random_bytes(seed, 500)));
    }
    let has = |operation: Operation, status: Status| reached.contains(&(operation.number(), status.code()));
    assert!(has(Operation::Open, Status::Delay), "held until the end");
    assert!(has(Operation::Open, Status::ShareDenied));
    assert!(has(Operation::Lock, Status::Denied));
    assert!(has(Operation::DelegReturn, Status::Ok));
    assert!(has(Operation::Close, Status::Ok) && has(Operation::Close, Status::LocksHeld));
    for since_2 in [Operation::Allocate, Operation::Deallocate, Operation::ReadPlus, Operation::Seek] {
        assert!(has(since_2, Status::Ok) && has(since_2, Status::BadStateId), "{since_2}");
    }
    for between in [Operation::Copy, Operation::Clone] {
        assert!(has(between, Status::NoFileHandle) && has(between, Status::BadStateId), "{between}");
    }
    for xattrs in [Operation::SetXattr, Operation::GetXattr, Operation::ListXattrs, Operation::RemoveXattr] {
        assert!(has(xattrs, Status::Ok), "{xattrs}");
    }
    assert!(has(Operation::ExchangeId, Status::ClientIdInUse));
    assert!(has(Operation::Sequence, Status::SequenceFalseRetry));
    assert!(reached.len() > 100, "{} ways for operations to end", reached.len());
}

/// The same for the same seed (xorshift64*).
fn random_bytes(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 56) as u8
    };
    (0..length).map(|_| next()).collect()
}

//! Replays what the fuzz target of replies has found worth keeping.

#![allow(missing_docs, clippy::unwrap_used)]

#[path = "../../../fuzz/replies/mod.rs"]
mod replies;

use std::fs;
use std::path::Path;

use tokio::runtime::{Builder, Runtime};

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().start_paused(true).build().unwrap()
}

#[test]
fn unaltered_replies_let_the_client_finish() {
    for version in 0..3 {
        let reached = replies::replies(&runtime(), &[version, 0xff]);
        assert!(reached.connected);
        assert!(reached.succeeded >= 25, "{reached:?}");
        // SEEK and extended attributes need NFSv4.2.
        assert_eq!(reached.failed, if version == 2 { 0 } else { 4 }, "{reached:?}");
    }
}

#[test]
fn replies_of_the_corpus_do_no_harm() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/replies");
    let (mut inputs, mut altered) = (0, 0);
    for entry in fs::read_dir(&corpus).unwrap() {
        altered += replies::replies(&runtime(), &fs::read(entry.unwrap().path()).unwrap()).altered;
        inputs += 1;
    }
    assert!(inputs > 10, "the corpus is there");
    assert!(altered > 100, "{altered} replies altered");
}

#[test]
fn random_alterations_of_replies_do_no_harm() {
    let mut connected = 0;
    for seed in 0..300 {
        connected += u32::from(replies::replies(&runtime(), &random_script(seed)).connected);
    }
    assert!(connected > 50, "{connected} of 300 clients connected");
}

/// The same for the same seed (xorshift64*). One reply in sixteen is altered.
fn random_script(seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 56) as u8
    };
    let mut script = vec![seed as u8, 0xff];
    for _ in 0..200 {
        let byte = next();
        script.push(if next() % 16 == 0 { byte } else { 0 });
    }
    script
}

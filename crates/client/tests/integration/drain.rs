//! Written data leave steadily: the writer goes on as fast as the server takes them, and is never far ahead of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use client::{Client, Options, Version};

use crate::fixture::{WRITE, pattern};
use crate::peer::{Peer, WRITE_BYTES};

/// In WRITEs.
const BUDGET: u64 = 16;
/// How many more WRITEs are answered before a COMMIT is.
const COMMIT_LAG: u64 = 6;
const ROUNDS: u64 = 200;

/// Waits until `count` is at least `wanted`; when it does not come to that, tells what it was.
async fn reaches(count: &AtomicU64, wanted: u64, what: &str) {
    let arrived = async {
        while count.load(Ordering::SeqCst) < wanted {
            tokio::time::sleep(Duration::from_micros(100)).await;
        }
    };
    if tokio::time::timeout(Duration::from_secs(20), arrived).await.is_err() {
        panic!("{what}: {} instead of {wanted}", count.load(Ordering::SeqCst));
    }
}

async fn writes_one_by_one(piece_bytes: u64) {
    let (peer, url) = Peer::listen(63).await;
    let options = Options {
        versions: vec![Version::V4_1],
        write_bytes_max: WRITE_BYTES as u32,
        dirty_bytes_max: (BUDGET * WRITE_BYTES) as usize,
        ..Options::default()
    };
    let client = Client::connect(&url, options).await.unwrap();
    peer.state.lock().commit_lag = COMMIT_LAG;
    peer.answer_writes(0);
    let file = client.open("/file", WRITE).await.unwrap();
    let taken = Arc::new(AtomicU64::new(0));
    let data = pattern((ROUNDS * WRITE_BYTES) as usize);
    let writer = tokio::spawn({
        let (file, taken, data) = (file.clone(), Arc::clone(&taken), data.clone());
        async move {
            for at in (0..data.len()).step_by(piece_bytes as usize) {
                file.write_at(at as u64, data.slice(at..at + piece_bytes as usize)).await.unwrap();
                taken.fetch_add(piece_bytes, Ordering::SeqCst);
            }
        }
    });
    // What is answered and not yet stable holds its part of the budget until its COMMIT is answered, and no longer. The
    // next WRITE is answered only when the COMMIT of the last has arrived: two answers at once make one COMMIT of both.
    let commits = Arc::clone(&peer.state.lock().commits);
    let ahead_min = BUDGET - COMMIT_LAG;
    let ahead_max = (BUDGET + 1) * WRITE_BYTES;
    for answered in 0..ROUNDS - BUDGET {
        peer.answer_writes(answered);
        reaches(&commits, answered, &format!("with {answered} WRITEs answered, COMMITs sent")).await;
        let wanted = (answered + ahead_min) * WRITE_BYTES;
        reaches(&taken, wanted, &format!("with {answered} WRITEs answered, bytes taken")).await;
        let taken = taken.load(Ordering::SeqCst);
        assert!(
            taken <= answered * WRITE_BYTES + ahead_max,
            "{taken} bytes taken, {answered} WRITEs answered"
        );
    }
    peer.answer_writes(u64::MAX);
    writer.await.unwrap();
    file.close().await.unwrap();
    assert!(peer.state.lock().content == data);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writer_moves_with_every_write_that_is_answered() {
    writes_one_by_one(WRITE_BYTES).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writer_of_small_pieces_moves_with_every_write_that_is_answered() {
    writes_one_by_one(WRITE_BYTES / 4).await;
}

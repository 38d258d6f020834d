//! Written data leave steadily: the writer goes on as fast as the server takes them, and is never far ahead
//! of it.

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

/// Waits until `holds` answers nothing; when it does not come to that, tells what it answered.
async fn until(holds: impl Fn() -> Option<String>) {
    let came = async {
        while holds().is_some() {
            tokio::time::sleep(Duration::from_micros(100)).await;
        }
    };
    if tokio::time::timeout(Duration::from_secs(20), came).await.is_err() {
        panic!("{}", holds().unwrap_or_else(|| "late".to_owned()));
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
    for answered in 0..ROUNDS - BUDGET {
        peer.answer_writes(answered);
        // One more WRITE's bytes and they are made stable: what is answered keeps its part of the budget no
        // longer than that.
        until(|| {
            let state = peer.state.lock();
            let (bytes, arrived) = (state.uncovered_bytes(answered), state.written.len() as u64);
            // Those that come later would be answered all at once, and their COMMITs wait for WRITEs that
            // nobody lets be answered.
            let is_behind = arrived < answered || bytes >= WRITE_BYTES;
            is_behind.then(|| {
                format!("{bytes} bytes of {answered} WRITEs, of {arrived} there, are under no COMMIT")
            })
        })
        .await;
        let stable = {
            let state = peer.state.lock();
            let stable = state.stable_bytes(answered);
            let answered_before = state.bytes_of(answered.saturating_sub(COMMIT_LAG));
            assert!(stable + WRITE_BYTES > answered_before, "{stable} bytes stable after {answered} WRITEs");
            stable
        };
        // The budget is given out by sizes of a WRITE: a piece begins the last one, and the next piece waits
        // for a size more.
        let wanted = stable + (BUDGET - 1) * WRITE_BYTES + piece_bytes;
        until(|| {
            let taken = taken.load(Ordering::SeqCst);
            (taken < wanted)
                .then(|| format!("{taken} bytes taken instead of {wanted}, {answered} WRITEs answered"))
        })
        .await;
        let taken = taken.load(Ordering::SeqCst);
        assert!(taken <= stable + BUDGET * WRITE_BYTES, "{taken} bytes taken, {stable} stable");
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

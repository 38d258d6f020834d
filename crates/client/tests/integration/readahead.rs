//! What is fetched ahead of a sequential reader.

use client::{Client, Options, Version};

use crate::fixture::{READ, pattern};
use crate::peer::Peer;

/// What a READ fetches.
const PIECE_BYTES: u64 = 4096;
/// What the reader reads at a time.
const READ_BYTES: u64 = 4 * PIECE_BYTES;
/// The second read has all of the rest fetched.
const FILE_BYTES: u64 = 6 * READ_BYTES;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readahead_is_asked_for_in_the_order_of_reading() {
    let (peer, url) = Peer::listen(63).await;
    let content = pattern(FILE_BYTES as usize);
    peer.state.lock().content = content.to_vec();
    let options =
        Options { versions: vec![Version::V4_1], read_bytes_max: PIECE_BYTES as u32, ..Options::default() };
    let client = Client::connect(&url, options).await.unwrap();
    let file = client.open("/file", READ).await.unwrap();
    // On a worker of the runtime, where tasks that are begun together run in any order.
    let reader = tokio::spawn(async move {
        for at in (0..FILE_BYTES).step_by(READ_BYTES as usize) {
            let data = file.read_at(at, READ_BYTES as usize).await.unwrap();
            assert!(data == content[at as usize..(at + READ_BYTES) as usize]);
        }
        file.close().await.unwrap();
    });
    reader.await.unwrap();
    let reads = peer.state.lock().reads.clone();
    let ahead: Vec<u64> = reads.into_iter().filter(|offset| *offset >= 2 * READ_BYTES).collect();
    let in_order: Vec<u64> = (2 * READ_BYTES..FILE_BYTES).step_by(PIECE_BYTES as usize).collect();
    assert_eq!(ahead, in_order);
}

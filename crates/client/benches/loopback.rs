//! What the client itself costs, over loopback against primetime's own server in the same process: `cargo
//! bench -p primetime-client`. Figures of one run are comparable with each other and with nothing else.

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use client::{Client, LockKind, OpenOptions, Options, Url, Version};
use netlab::relay::{LinkOptions, Relay};
use server::exports::{Rule, Squash};
use server_shell::{Running, ServeOptions};

const FILES: usize = 1000;
const LARGE_BYTES: usize = 1 << 30;
const READ: OpenOptions = OpenOptions::new().read(true);

#[tokio::main]
async fn main() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = ServeOptions::new(directory.path());
    options.exports[0].asynchronous = true;
    options.exports[0].options = Rule { squash: Squash::NONE, ..Rule::default() }.into();
    let server = Running::start(&options).await.unwrap();
    std::fs::write(directory.path().join("large"), vec![7; LARGE_BYTES]).unwrap();
    for index in 0..FILES {
        std::fs::write(directory.path().join(format!("{index}")), [7; 4096]).unwrap();
    }
    let relay = Relay::start(server.address(), LinkOptions::round_trip_ms(10.0)).unwrap();
    for (version, delegations) in [(Version::V3, false), (Version::V4_1, false), (Version::V4_1, true)] {
        for (address, delay) in [(server.address(), "no delay"), (relay.address(), "10 ms")] {
            println!("-- version {version}, delegations {delegations}, {delay}");
            let url: Url = format!("nfs://{address}/").parse().unwrap();
            let options = Options { versions: vec![version], delegations, ..Options::default() };
            let client = Client::connect(&url, options).await.unwrap();
            if address == server.address() {
                measure_requests(&client).await;
            }
            measure_streams(&client).await;
            client.shutdown().await.unwrap();
        }
    }
    relay.shutdown().await;
    server.stop().await.unwrap();
}

async fn measure_requests(client: &Client) {
    per_operation("null call", 20_000, 1, || {
        let client = client.clone();
        async move { client.null().await.unwrap() }
    })
    .await;
    per_operation("null call, 32 at once", 100_000, 32, || {
        let client = client.clone();
        async move { client.null().await.unwrap() }
    })
    .await;
    for pass in ["first", "second"] {
        let next = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        per_operation(&format!("open, lock, read 4 KiB, unlock, close: {pass} time"), FILES, 1, || {
            let (client, next) = (client.clone(), Arc::clone(&next));
            async move {
                let index = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                let file = client.open(format!("/{index}"), READ).await.unwrap();
                file.lock(.., LockKind::Shared).await.unwrap();
                assert_eq!(file.read_at(0, 4096).await.unwrap().len(), 4096);
                file.unlock(..).await.unwrap();
                file.close().await.unwrap();
            }
        })
        .await;
    }
    let file = client.open("/0", READ).await.unwrap();
    per_operation("read 4 KiB from the cache", 1_000_000, 1, || {
        let file = file.clone();
        async move { assert_eq!(file.read_at(0, 4096).await.unwrap().len(), 4096) }
    })
    .await;
    let run = rand::random::<u32>();
    let next = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    per_operation("create a file and write 4 KiB, 16 at once", 4000, 16, || {
        let (client, next) = (client.clone(), Arc::clone(&next));
        async move {
            let index = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let new = OpenOptions::new().write(true).create_new(true);
            let file = client.open(format!("/new-{run}-{index}"), new).await.unwrap();
            file.write_at(0, Bytes::from_static(&[1; 4096])).await.unwrap();
            file.close().await.unwrap();
        }
    })
    .await;
}

async fn measure_streams(client: &Client) {
    let started = Instant::now();
    let file = client.open("/large", READ).await.unwrap();
    for at in (0..LARGE_BYTES).step_by(65536) {
        assert_eq!(file.read_at(at as u64, 65536).await.unwrap().len(), 65536);
    }
    throughput("sequential read, 64 KiB at a time", started);
    let started = Instant::now();
    let file =
        client.open("/written", OpenOptions::new().write(true).create(true).truncate(true)).await.unwrap();
    let data = Bytes::from(vec![9; 65536]);
    for at in (0..LARGE_BYTES).step_by(65536) {
        file.write_at(at as u64, data.clone()).await.unwrap();
    }
    file.close().await.unwrap();
    throughput("sequential write, 64 KiB at a time", started);
    client.remove_file("/written").await.unwrap();
}

async fn per_operation<F: Future<Output = ()> + Send>(
    what: &str,
    count: usize,
    at_once: usize,
    operation: impl Fn() -> F,
) {
    use futures_util::stream::{self, StreamExt};
    let started = Instant::now();
    stream::iter(0..count).for_each_concurrent(at_once, |_| operation()).await;
    let seconds = started.elapsed().as_secs_f64();
    println!("{what}: {:.2} us each, {:.0} per second", seconds * 1e6 / count as f64, count as f64 / seconds);
}

fn throughput(what: &str, started: Instant) {
    let seconds = started.elapsed().as_secs_f64();
    println!("{what}: {:.0} MB/s", LARGE_BYTES as f64 / 1e6 / seconds);
}

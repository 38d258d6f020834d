//! How steadily written data leave over a link of limited rate: `cargo bench -p primetime-client --bench
//! steady`. Prints, for each version, what the writer was rid of and what crossed the link in each second,
//! once the writer has filled its budget.

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use client::{Client, OpenOptions, Options, Url, Version};
use netlab::relay::{LinkOptions, Relay};
use server::exports::{Rule, Squash};
use server_shell::{Running, ServeOptions};

const RATE_BYTES_PER_SECOND: u64 = 20_000_000;
const SECONDS: usize = 15;
/// While the budget for dirty data fills, the writer is as fast as memory.
const FILLING: Duration = Duration::from_secs(5);
const PIECE_BYTES: usize = 65_536;

#[tokio::main]
async fn main() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = ServeOptions::new(directory.path());
    // Data are made stable for real.
    options.exports[0].options = Rule { squash: Squash::NONE, ..Rule::default() }.into();
    let server = Running::start(&options).await.unwrap();
    for version in [Version::V3, Version::V4_1] {
        let link = LinkOptions::round_trip_ms(1.0).with_rate(RATE_BYTES_PER_SECOND);
        let relay = Relay::start(server.address(), link).unwrap();
        let url: Url = format!("nfs://{}/", relay.address()).parse().unwrap();
        let options = Options { versions: vec![version], ..Options::default() };
        let client = Client::connect(&url, options).await.unwrap();
        measure(version, &client, &relay).await;
        client.remove_file("/written").await.unwrap();
        client.shutdown().await.unwrap();
        relay.shutdown().await;
    }
    server.stop().await.unwrap();
}

async fn measure(version: Version, client: &Client, relay: &Relay) {
    let new = OpenOptions::new().write(true).create(true).truncate(true);
    let file = client.open("/written", new).await.unwrap();
    let (taken, done) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let writer = tokio::spawn({
        let (taken, done) = (Arc::clone(&taken), Arc::clone(&done));
        async move {
            let data = Bytes::from(vec![9; PIECE_BYTES]);
            while !done.load(Ordering::Relaxed) {
                let at = taken.load(Ordering::Relaxed);
                file.write_at(at, data.clone()).await.unwrap();
                taken.fetch_add(data.len() as u64, Ordering::Relaxed);
            }
            file.close().await.unwrap();
        }
    });
    tokio::time::sleep(FILLING).await;
    let counts = || [taken.load(Ordering::Relaxed), relay.stats().bytes_to_target];
    let mut seconds = tokio::time::interval(Duration::from_secs(1));
    seconds.tick().await;
    let mut last = counts();
    let mut rates = [Vec::new(), Vec::new()];
    for _ in 0..SECONDS {
        seconds.tick().await;
        let now = counts();
        for (rates, (now, last)) in rates.iter_mut().zip(now.into_iter().zip(last)) {
            rates.push((now - last) as f64 / 1e6);
        }
        last = now;
    }
    done.store(true, Ordering::Relaxed);
    writer.await.unwrap();
    for (what, rates) in ["taken from the writer", "sent over the link"].into_iter().zip(&rates) {
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        let min = rates.iter().copied().fold(f64::INFINITY, f64::min);
        println!("version {version}, {what}: {min:.1} MB in the least second, {mean:.1} MB in the mean");
    }
}

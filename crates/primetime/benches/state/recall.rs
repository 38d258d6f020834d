//! How long an open waits for a delegation to come back.

use std::time::{Duration, Instant};

use client::{Client, OpenOptions, Options, Url, Version};
use netlab::relay::{LinkOptions, Relay};

use crate::serve::Server;

const FILES: usize = 1000;
const READ: OpenOptions = OpenOptions::new().read(true);
const WRITE: OpenOptions = OpenOptions::new().write(true);

pub async fn measure() {
    println!("OPEN for writing, {FILES} files one after the other: free, and delegated to another client");
    for round_trip_ms in [0.0, 10.0] {
        let server = Server::start();
        for index in 0..2 * FILES {
            std::fs::write(server.directory().join(index.to_string()), b"content").unwrap();
        }
        // Each client has a link of its own, so both are as far away as the other.
        let links = [(); 2]
            .map(|()| Relay::start(server.address, LinkOptions::round_trip_ms(round_trip_ms)).unwrap());
        let holder = connect(&links[0]).await;
        let writer = connect(&links[1]).await;
        hold(&holder).await;
        let free = open_all(&writer, FILES..2 * FILES).await;
        let held = open_all(&writer, 0..FILES).await;
        let recalls = holder.tap().snapshot().callbacks.get("CB_RECALL").copied().unwrap_or(0);
        println!(
            "  round trip {round_trip_ms:>4} ms: free {:.3} ms, delegated {:.3} ms, {recalls} recalls; the \
             recall adds {:.3} ms",
            median_ms(&free),
            median_ms(&held),
            median_ms(&held) - median_ms(&free)
        );
        if round_trip_ms > 0.0 {
            let round_trips = (median_ms(&held) - median_ms(&free)) / round_trip_ms;
            println!(
                "    = {round_trips:.2} round trips (goal: at most 2); slowest {:.1} ms",
                slowest_ms(&held)
            );
        }
        let _ = (holder.shutdown().await, writer.shutdown().await);
    }
}

async fn connect(link: &Relay) -> Client {
    let url: Url = format!("nfs://{}/", link.address()).parse().unwrap();
    let options = Options { versions: vec![Version::V4_1], ..Options::default() };
    Client::connect(&url, options).await.unwrap()
}

/// Opens the first half of the files, so that they are delegated.
async fn hold(client: &Client) {
    // The first open may come before the callback path was seen to work.
    drop(client.open("/0", READ).await.unwrap());
    for index in 0..FILES {
        let file = client.open(format!("/{index}"), READ).await.unwrap();
        file.close().await.unwrap();
    }
}

async fn open_all(client: &Client, indices: std::ops::Range<usize>) -> Vec<Duration> {
    let mut times = Vec::new();
    for index in indices {
        let start = Instant::now();
        let file = client.open(format!("/{index}"), WRITE).await.unwrap();
        times.push(start.elapsed());
        file.close().await.unwrap();
    }
    times.sort_unstable();
    times
}

fn median_ms(times: &[Duration]) -> f64 {
    times[times.len() / 2].as_secs_f64() * 1e3
}

fn slowest_ms(times: &[Duration]) -> f64 {
    times.last().unwrap().as_secs_f64() * 1e3
}

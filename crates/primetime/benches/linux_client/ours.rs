//! The client library, by one thread on the core of the lab, through a link of the same delay.

use std::fs::File as LocalFile;
use std::time::Instant;

use bytes::Bytes;
use client::{Client, Descend, Location, LockKind, OpenOptions, Options, TreeOptions, Url};
use netlab::{LinkOptions, Relay, affinity};

use crate::place::Place;
use crate::{Arm, Measured, Results, Wanted};

const READ: OpenOptions = OpenOptions::new().read(true);
const ROUNDS: usize = 10;
const FILE_BYTES: usize = 4096;

pub(crate) fn measure(place: &Place, wanted: &Wanted, delay_ms: u32) -> Results {
    affinity::pin_current_thread(*affinity::allowed_cpus().unwrap().last().unwrap()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut results = Results::new();
    for arm in wanted.arms.iter().copied() {
        let server = place.server(arm);
        let relay = (delay_ms > 0)
            .then(|| Relay::start(server, LinkOptions::round_trip_ms(f64::from(delay_ms))).unwrap());
        let address = relay.as_ref().map_or(server, Relay::address);
        for workload in wanted.workloads.iter().copied() {
            let measured = runtime.block_on(async {
                // Caches are cold, but for what the workload itself warms.
                let url: Url = format!("nfs://{address}/").parse().unwrap();
                let options = Options {
                    versions: vec![arm.version],
                    mount_port: Some(address.port()),
                    ..Options::default()
                };
                let client = Client::connect(&url, options).await.unwrap();
                let measured = run(&client, place, arm, workload, wanted.size.files).await;
                client.shutdown().await.unwrap();
                measured
            });
            results.insert((arm.name, workload), measured);
        }
    }
    results
}

async fn run(client: &Client, place: &Place, arm: Arm, workload: &str, files: usize) -> Measured {
    let home = format!("/ours-{}", arm.name);
    // It is there from the second workload on.
    let _ = client.create_dir(&home, 0o755).await;
    if workload == "small-file-read" {
        read_all(client, files).await;
    }
    let before = client.tap().snapshot();
    let begun = Instant::now();
    match workload {
        "locked-read" => locked_read(client, files, ROUNDS, 1).await,
        "locked-read-once" => locked_read(client, files, 1, ROUNDS).await,
        "small-file-read" => {
            for _ in 0..ROUNDS {
                read_all(client, files).await;
            }
        }
        "create" => create(client, &home, files).await,
        "create-4k" => create_4k(client, &home, files).await,
        tree => on_tree(client, place, &home, tree).await,
    }
    let seconds = begun.elapsed().as_secs_f64();
    Measured { seconds, requests: client.tap().snapshot().since(&before).requests_total() }
}

async fn read_all(client: &Client, files: usize) {
    for number in 1..=files {
        let file = client.open(format!("/f{number}"), READ).await.unwrap();
        assert_eq!(file.read_at(0, FILE_BYTES).await.unwrap().len(), FILE_BYTES);
        file.close().await.unwrap();
    }
}

async fn locked_read(client: &Client, files: usize, opens: usize, rounds: usize) {
    for _ in 0..opens {
        for number in 1..=files {
            let file = client.open(format!("/f{number}"), READ).await.unwrap();
            for _ in 0..rounds {
                file.lock(.., LockKind::Shared).await.unwrap();
                assert_eq!(file.read_at(0, FILE_BYTES).await.unwrap().len(), FILE_BYTES);
                file.unlock(..).await.unwrap();
            }
            file.close().await.unwrap();
        }
    }
}

async fn create(client: &Client, home: &str, files: usize) {
    for number in 1..=files {
        client.create_file(format!("{home}/c{number}"), 0o644).await.unwrap();
    }
}

async fn create_4k(client: &Client, home: &str, files: usize) {
    let block = Bytes::from(vec![b'x'; FILE_BYTES]);
    for number in 1..=files {
        let options = OpenOptions::new().write(true).create_new(true);
        let file = client.open(format!("{home}/k{number}"), options).await.unwrap();
        file.write_at(0, block.clone()).await.unwrap();
        file.close().await.unwrap();
    }
}

async fn on_tree(client: &Client, place: &Place, home: &str, workload: &str) {
    let options = TreeOptions::default();
    let (tree, copy) = (format!("{home}/tree"), format!("{home}/copy"));
    let report = match workload {
        "tree-extract" => {
            let archive = LocalFile::open(place.tar()).unwrap();
            client.extract_tar(archive, home, &options).await
        }
        "tree-copy" => client.copy_tree(&Location::remote(&tree), &Location::remote(&copy), &options).await,
        "tree-list" => client.list_tree(&copy, &options, |_| Descend::Into).await,
        _ => client.remove_tree(&copy, &options).await,
    };
    report.unwrap().into_result().unwrap();
}

//! A file system that hangs beside one that does not, and the promises of the server (docs/operating.md).

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod frozen;
mod load;
mod peer;

use std::time::{Duration, Instant};

use frozen::FrozenDisk;
use load::{Hanging, exercise, exercise_all};
use peer::{Peer, Server};

/// Rounds of operations on the healthy export while the other hangs.
const ROUNDS: usize = 40;

/// Prints the 99th percentiles over so many rounds: `PRIMETIME_STALL_ROUNDS=20000 cargo test --test stall
/// -- --nocapture`.
const LONG: &str = "PRIMETIME_STALL_ROUNDS";

#[test]
fn frozen_export_does_not_hold_up_another_one() {
    let Some(disk) = FrozenDisk::new() else { return };
    let well = tempfile::tempdir().unwrap();
    let server = Server::start(&[("/frozen", &disk.path()), ("/well", well.path())]);
    let rounds = std::env::var(LONG).ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(ROUNDS);
    server.runtime().block_on(async {
        let healthy = Peer::connect(server.address()).await;
        let well = healthy.mount("/well").await;
        let before = exercise_all(&healthy, well, rounds, "before").await;
        for count in [1, 10, 1000] {
            let hanging = Hanging::prepare(server.address(), "/frozen", count).await;
            disk.freeze();
            let hanging = hanging.start();
            // Those that are made in place are found within this time or the next.
            tokio::time::sleep(Duration::from_millis(100)).await;
            let during = exercise_all(&healthy, well, rounds, &count.to_string()).await;
            let newcomer = Peer::connect(server.address()).await;
            let mounted = newcomer.mount("/well").await;
            assert_eq!(exercise(&newcomer, mounted, &format!("new-{count}")).await.len(), load::OPERATIONS);
            assert_eq!(hanging.answered(), 0, "the file system is frozen");
            disk.thaw();
            assert_eq!(hanging.finish().await, count, "each is done once the file system goes on");
            println!(
                "{count} requests hang: 99th percentile {:?}, without {:?}",
                percentile(during),
                percentile(before.clone())
            );
        }
    });
}

#[test]
fn frozen_export_is_served_in_place_again_after_a_thaw() {
    let Some(disk) = FrozenDisk::new() else { return };
    let well = tempfile::tempdir().unwrap();
    let server = Server::start(&[("/frozen", &disk.path()), ("/well", well.path())]);
    server.runtime().block_on(async {
        for _ in 0..2 {
            let hanging = Hanging::prepare(server.address(), "/frozen", 5).await;
            disk.freeze();
            let hanging = hanging.start();
            tokio::time::sleep(Duration::from_millis(100)).await;
            assert_eq!(hanging.answered(), 0);
            disk.thaw();
            assert_eq!(hanging.finish().await, 5);
            let peer = Peer::connect(server.address()).await;
            let root = peer.mount("/frozen").await;
            assert_eq!(exercise(&peer, root, "thawed").await.len(), load::OPERATIONS);
        }
    });
}

#[test]
fn two_frozen_exports_do_not_hold_up_a_third() {
    let Some(disks) = FrozenDisk::new().zip(FrozenDisk::new()) else { return };
    let well = tempfile::tempdir().unwrap();
    let server = Server::start(&[
        ("/frozen", &disks.0.path()),
        ("/frozen-too", &disks.1.path()),
        ("/well", well.path()),
    ]);
    server.runtime().block_on(async {
        let healthy = Peer::connect(server.address()).await;
        let well = healthy.mount("/well").await;
        let first = Hanging::prepare(server.address(), "/frozen", 100).await;
        let second = Hanging::prepare(server.address(), "/frozen-too", 100).await;
        disks.0.freeze();
        disks.1.freeze();
        let (first, second) = (first.start(), second.start());
        exercise_all(&healthy, well, ROUNDS, "both").await;
        assert_eq!((first.answered(), second.answered()), (0, 0), "both are frozen");
        disks.0.thaw();
        assert_eq!(first.finish().await, 100);
        // One goes on hanging.
        exercise_all(&healthy, well, ROUNDS, "one").await;
        assert_eq!(second.answered(), 0);
        disks.1.thaw();
        assert_eq!(second.finish().await, 100);
    });
}

fn percentile(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() * 99 / 100]
}

/// How long `work` took, and what it gave.
async fn timed<T>(work: impl Future<Output = T>) -> (Duration, T) {
    let began = Instant::now();
    let given = work.await;
    (began.elapsed(), given)
}

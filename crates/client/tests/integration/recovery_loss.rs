//! What the server takes away from a client: leases that ran out, revocations, networks that fail.

use std::time::Duration;

use client::{Client, Error, LockKind, Options, Version};
use server_shell::ServeOptions;
use server_shell::control::Control;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

use crate::fixture::{
    Fixture, READ, WRITE, asked, connect, in_every_version, read_whole, try_to_connect, write_whole,
};
use crate::relay::Relay;

in_every_version! {
    a_soft_mount_gives_up_and_says_what_is_uncertain
    a_hard_mount_waits_for_its_server
}

fn impatient(options: &mut Options) {
    options.soft = true;
    options.timeout = Duration::from_millis(400);
    options.retransmissions = 1;
}

/// On a busy machine an answer may take longer than such a mount waits for one.
async fn until_answered<T>(ask: impl AsyncFn() -> Result<T, Error>) -> T {
    let answered = async {
        loop {
            match ask().await {
                Err(Error::Timeout { .. }) => {}
                answer => return answer.unwrap(),
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), answered).await.expect("the server is there")
}

async fn a_soft_mount_gives_up_and_says_what_is_uncertain(version: Version) {
    let fixture = Fixture::new().await;
    let relay = Relay::new(fixture.address()).await;
    std::fs::write(fixture.path("file"), "data").unwrap();
    let client = until_answered(async || try_to_connect(relay.address(), version, impatient).await).await;
    let file = until_answered(async || client.open("/file", READ).await).await;
    relay.block().await;
    client.forget("/file").await.unwrap();
    assert!(matches!(file.read_at(0, 10).await, Err(Error::Timeout { .. })));
    let made = client.create_dir("/made", 0o755).await;
    assert!(matches!(made, Err(Error::UncertainOutcome { .. })), "{made:?}");
    relay.unblock();
    assert_eq!(until_answered(async || file.read_at(0, 10).await).await, "data");
    file.close().await.unwrap();
}

async fn a_hard_mount_waits_for_its_server(version: Version) {
    let fixture = Fixture::new().await;
    let relay = Relay::new(fixture.address()).await;
    let hurried = |options: &mut Options| options.timeout = Duration::from_millis(50);
    let client = until_answered(async || try_to_connect(relay.address(), version, hurried).await).await;
    write_whole(&client, "/file", "data").await;
    relay.block().await;
    let making = tokio::spawn({
        let client = client.clone();
        async move { client.create_dir("/made", 0o755).await }
    });
    // Who does not want to wait for ever does not.
    let reading = async {
        client.forget("/file").await.unwrap();
        read_whole(&client, "/file").await
    };
    assert!(tokio::time::timeout(Duration::from_millis(300), reading).await.is_err());
    assert!(!making.is_finished());
    relay.unblock();
    making.await.unwrap().unwrap();
    assert!(fixture.path("made").is_dir());
    assert_eq!(read_whole(&client, "/file").await, "data");
}

pub fn short_lease(options: &mut ServeOptions) {
    options.limits.lease_seconds = 1;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_that_others_got_after_the_lease_is_lost_and_its_data_stay_here() {
    let fixture = Fixture::with(short_lease).await;
    let relay = Relay::new(fixture.address()).await;
    let one = connect(relay.address(), Version::V4_1, |_| {}).await;
    let other = fixture.client(Version::V4_1).await;
    write_whole(&one, "/locked", "before").await;
    write_whole(&one, "/plain", "plain").await;
    let locked = one.open("/locked", WRITE).await.unwrap();
    let plain = one.open("/plain", WRITE).await.unwrap();
    locked.lock(.., LockKind::Exclusive).await.unwrap();
    relay.block().await;
    locked.write_at(0, "doomed".into()).await.unwrap();
    let theirs = other.open("/locked", WRITE).await.unwrap();
    theirs.lock(.., LockKind::Exclusive).await.unwrap();
    theirs.write_at(0, "theirs".into()).await.unwrap();
    theirs.close().await.unwrap();
    relay.unblock();
    assert!(matches!(locked.sync_all().await, Err(Error::Revoked)));
    assert!(matches!(locked.read_at(0, 10).await, Err(Error::Revoked)));
    assert_eq!(std::fs::read(fixture.path("locked")).unwrap(), b"theirs");
    assert!(matches!(locked.unlock(..).await, Err(Error::Revoked)));
    assert_eq!(locked.read_at(0, 10).await.unwrap(), "theirs");
    plain.write_at(0, "again".into()).await.unwrap();
    plain.close().await.unwrap();
    assert_eq!(std::fs::read(fixture.path("plain")).unwrap(), b"again");
    one.shutdown().await.unwrap();
}

/// Has a delegation of a file whose data are cached.
async fn delegated(client: &Client, fixture: &Fixture) -> client::File {
    std::fs::write(fixture.path("file"), b"old").unwrap();
    for _ in 0..2 {
        read_whole(client, "/file").await;
    }
    let before = client.tap().snapshot();
    let file = client.open("/file", READ).await.unwrap();
    assert_eq!(file.read_at(0, 10).await.unwrap(), "old");
    assert_eq!(asked(&client.tap().snapshot().since(&before)), [""; 0]);
    file
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn disconnected_client_reads_no_stale_data_after_its_lease() {
    let fixture = Fixture::with(short_lease).await;
    let relay = Relay::new(fixture.address()).await;
    let one = connect(relay.address(), Version::V4_1, |_| {}).await;
    let other = fixture.client(Version::V4_1).await;
    let file = delegated(&one, &fixture).await;
    file.lock(.., LockKind::Shared).await.unwrap();
    let second = one.open("/file", READ).await.unwrap();
    relay.block().await;
    // Recalled in vain, and revoked when the lease is over.
    write_whole(&other, "/file", "new").await;
    let reading = tokio::spawn(async move { second.read_at(0, 10).await });
    assert!(tokio::time::timeout(Duration::from_millis(200), one.open("/file", READ)).await.is_err());
    assert!(!reading.is_finished(), "what is cached may be old");
    relay.unblock();
    assert_eq!(reading.await.unwrap().unwrap(), "new");
    assert!(matches!(file.read_at(0, 10).await, Err(Error::Revoked)), "its lock is lost");
    assert!(matches!(file.unlock(..).await, Err(Error::Revoked)));
    assert_eq!(file.read_at(0, 10).await.unwrap(), "new");
}

/// Takes everything away that is held of a file.
async fn revoke(socket: &std::path::Path, path: &str) {
    let mut stream = UnixStream::connect(socket).await.unwrap();
    let command = format!("{{\"version\":1,\"command\":\"revoke\",\"file\":\"{path}\"}}\n");
    stream.write_all(command.as_bytes()).await.unwrap();
    let mut lines = BufReader::new(stream).lines();
    let mut answer = String::new();
    while let Some(line) = lines.next_line().await.unwrap() {
        answer = line;
    }
    assert!(answer.contains("end"), "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn revoked_state_is_freed_and_opened_again() {
    let fixture = Fixture::new().await;
    let socket = fixture.root().join("control.sock");
    let (reloads, _reloads) = tokio::sync::mpsc::channel(1);
    let _control = Control::start(socket.clone(), fixture.server.controlled(), reloads).unwrap();
    let client = fixture.client(Version::V4_1).await;
    write_whole(&client, "/plain", "plain").await;
    write_whole(&client, "/locked", "locked").await;
    let delegated = delegated(&client, &fixture).await;
    let plain = client.open("/plain", WRITE).await.unwrap();
    let locked = client.open("/locked", WRITE).await.unwrap();
    locked.lock(.., LockKind::Exclusive).await.unwrap();
    for path in ["/plain", "/locked", "/file"] {
        revoke(&socket, path).await;
    }
    std::fs::write(fixture.path("file"), b"new").unwrap();
    let before = client.tap().snapshot();
    plain.write_at(0, "PLAIN".into()).await.unwrap();
    plain.close().await.unwrap();
    assert_eq!(std::fs::read(fixture.path("plain")).unwrap(), b"PLAIN");
    assert!(matches!(locked.read_at(0, 10).await, Err(Error::Revoked)));
    assert!(matches!(locked.unlock(..).await, Err(Error::Revoked)));
    assert_eq!(locked.read_at(0, 10).await.unwrap(), "locked");
    while delegated.read_at(0, 10).await.unwrap() != "new" {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let freed = |counts: &client::Snapshot| counts.operations.get("FREE_STATEID").copied();
    while freed(&client.tap().snapshot().since(&before)) < Some(5) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

//! Certificates of clients that are not trusted any more.

use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, SystemTime};

use rpc_net::Client;
use testkit::authority::{Authority, Issued};

use crate::fixture::{ECHO, Fixture, PROGRAM, connect, echoes, files, trust};

async fn client_of(fixture: &Fixture, authority: &Authority, issued: &Issued) -> Client {
    let client = connect(fixture, &trust(authority, "localhost"), Some(&files(issued))).await.unwrap();
    echoes(&client, 4).await;
    client
}

/// Expects that the client's connection has ended, and that it cannot have another one.
async fn is_shut_out(fixture: &Fixture, client: &Client) {
    fixture.service.disconnected.notified().await;
    let calls = fixture.service.calls.load(SeqCst);
    let outcome = client.call(PROGRAM, 1, ECHO, |_| ()).await;
    assert!(outcome.is_err(), "{outcome:?}");
    assert_eq!(fixture.service.calls.load(SeqCst), calls);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn revoked_certificate_ends_its_connection_and_no_other() {
    let authority = Authority::new();
    let fixture = Fixture::start(&authority, Some(&authority)).await;
    let (ann, ben) = (authority.issue("ann"), authority.issue("ben"));
    let ann_client = client_of(&fixture, &authority, &ann).await;
    let ben_client = client_of(&fixture, &authority, &ben).await;
    let anonymous = connect(&fixture, &trust(&authority, "localhost"), None).await.unwrap();
    fixture.upgrade.review(SystemTime::now()).unwrap();
    echoes(&ann_client, 4).await;
    authority.revoke(&[&ann]);
    // The first call sees that a file has changed, the second one that it is complete.
    for _ in 0..2 {
        fixture.upgrade.review(SystemTime::now()).unwrap();
    }
    is_shut_out(&fixture, &ann_client).await;
    for client in [&ben_client, &anonymous] {
        echoes(client, 4).await;
        assert_eq!(client.generation(), 1);
    }
    authority.revoke(&[]);
    fixture.upgrade.reload().unwrap();
    echoes(&ann_client, 4).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn authority_that_was_taken_away_ends_connections() {
    let authority = Authority::new();
    let fixture = Fixture::start(&authority, Some(&authority)).await;
    let client = client_of(&fixture, &authority, &authority.issue("ann")).await;
    let other = Authority::new();
    let own = std::fs::read(authority.certificate()).unwrap();
    std::fs::copy(other.certificate(), authority.certificate()).unwrap();
    fixture.upgrade.reload().unwrap();
    // The client trusts the server's authority still.
    std::fs::write(authority.certificate(), own).unwrap();
    is_shut_out(&fixture, &client).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn list_of_revoked_certificates_that_is_broken_changes_nothing() {
    let authority = Authority::new();
    let fixture = Fixture::start(&authority, Some(&authority)).await;
    let client = client_of(&fixture, &authority, &authority.issue("ann")).await;
    let list = authority.revoke(&[]);
    std::fs::write(&list, "no PEM").unwrap();
    fixture.upgrade.review(SystemTime::now()).unwrap();
    let error = fixture.upgrade.review(SystemTime::now()).unwrap_err().to_string();
    assert!(error.contains("lists of revoked certificates"), "{error}");
    // It is said once.
    fixture.upgrade.review(SystemTime::now()).unwrap();
    echoes(&client, 4).await;
    assert_eq!(client.generation(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificate_that_expires_ends_its_connection() {
    let authority = Authority::new();
    let fixture = Fixture::start(&authority, Some(&authority)).await;
    let day = Duration::from_secs(24 * 3600);
    let expiry = SystemTime::now() + day;
    let ann = client_of(&fixture, &authority, &authority.issue_until("ann", expiry)).await;
    let ben = client_of(&fixture, &authority, &authority.issue_until("ben", expiry + day)).await;
    fixture.upgrade.review(SystemTime::now()).unwrap();
    echoes(&ann, 4).await;
    fixture.upgrade.review(expiry + day / 2).unwrap();
    fixture.service.disconnected.notified().await;
    echoes(&ben, 4).await;
    assert_eq!(ben.generation(), 1);
    // It has not expired by the clock of handshakes.
    echoes(&ann, 4).await;
    assert_eq!(ann.generation(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_shows_a_renewed_certificate_on_its_next_connection() {
    let authority = Authority::new();
    let fixture = Fixture::start(&authority, Some(&authority)).await;
    let (old, new) = (authority.issue("ann"), authority.issue("ben"));
    let client = client_of(&fixture, &authority, &old).await;
    let serial = || fixture.service.peers.lock().last().unwrap().as_ref().unwrap().serial.clone();
    std::fs::write(&old.certificate, "no PEM").unwrap();
    client.disconnect();
    echoes(&client, 4).await;
    assert_eq!(serial(), old.serial);
    std::fs::copy(&new.certificate, &old.certificate).unwrap();
    std::fs::copy(&new.key, &old.key).unwrap();
    client.disconnect();
    echoes(&client, 4).await;
    assert_eq!(serial(), new.serial);
}

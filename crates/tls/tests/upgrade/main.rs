//! Calls over TLS, and handshakes that are refused.

#![allow(missing_docs, clippy::unwrap_used)]

mod fixture;
mod leaving;
mod trust;

use std::io::{ErrorKind, Read, Write};
use std::sync::atomic::Ordering::SeqCst;

use fixture::{ECHO, Fixture, PROGRAM, connect, echoes, files, probe, trust};
use rpc::CallError;
use testkit::authority::Authority;
use testkit::wire::RawCall;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_every_size_pass_unchanged_in_both_directions() {
    let authority = Authority::new();
    let fixture = Fixture::start(&authority, None).await;
    let client = connect(&fixture, &trust(&authority, "localhost"), None).await.unwrap();
    // Below, at and above one TLS record, and above what is encrypted at a time.
    for bytes in [0, 4, 1000, 16 << 10, (16 << 10) + 4, 300 << 10, 1 << 20] {
        echoes(&client, bytes).await;
    }
    let many = (0..64).map(|number| {
        let client = client.clone();
        tokio::spawn(async move { echoes(&client, number * 4096).await })
    });
    for call in many.collect::<Vec<_>>() {
        call.await.unwrap();
    }
    assert_eq!(fixture.service.failed_upgrades.load(SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_sees_the_certificate_of_its_client() {
    let authority = Authority::new();
    let fixture = Fixture::start(&authority, Some(&authority)).await;
    let ann = authority.issue("ann");
    let named = connect(&fixture, &trust(&authority, "localhost"), Some(&files(&ann))).await.unwrap();
    echoes(&named, 4).await;
    let seen = fixture.service.peers.lock().last().unwrap().clone().unwrap();
    assert_eq!((&seen.der[..], &seen.serial), (&ann.der[..], &ann.serial));
    assert_eq!(seen.dns_names, ["ann"]);
    let other_key = authority.issue("ann");
    let same_authority =
        connect(&fixture, &trust(&authority, "localhost"), Some(&files(&other_key))).await.unwrap();
    echoes(&same_authority, 4).await;
    let other = fixture.service.peers.lock().last().unwrap().clone().unwrap();
    assert!(other.authority_sha256 == seen.authority_sha256 && seen.authority_sha256.is_some());
    assert_ne!(other.key_sha256, seen.key_sha256);
    let nameless = connect(&fixture, &trust(&authority, "localhost"), None).await.unwrap();
    echoes(&nameless, 4).await;
    assert_eq!(fixture.service.peers.lock().last().unwrap(), &None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_refuses_a_server_of_another_name_or_authority() {
    let authority = Authority::new();
    let fixture = Fixture::start(&authority, None).await;
    for trust in [trust(&authority, "elsewhere.example"), trust(&Authority::new(), "localhost")] {
        let error = connect(&fixture, &trust, None).await.unwrap_err();
        assert!(error.to_string().contains("certificate"), "{error}");
    }
    let by_address = connect(&fixture, &trust(&authority, "127.0.0.1"), None).await.unwrap();
    echoes(&by_address, 4).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_refuses_a_certificate_of_another_authority() {
    let authority = Authority::new();
    let fixture = Fixture::start(&authority, Some(&authority)).await;
    let other = Authority::new();
    let stranger = other.issue("ann");
    // In TLS 1.3 the client learns of it behind the handshake.
    let connected = connect(&fixture, &trust(&authority, "localhost"), Some(&files(&stranger))).await;
    let CallError::Connect(error) = connected.unwrap_err() else { panic!("not refused at once") };
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    assert!(error.to_string().contains("refuses our certificate"), "{error}");
    fixture.service.disconnected.notified().await;
    assert_eq!(fixture.service.failed_upgrades.load(SeqCst), 1);
    assert_eq!(fixture.service.calls.load(SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn garbage_in_the_place_of_a_handshake_closes_the_connection() {
    let authority = Authority::new();
    let fixture = Fixture::start(&authority, None).await;
    let client_hello_of_tls_1_2 = b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x03";
    let endless_record = [&b"\x16\x03\x03\x40\x00"[..], &[1; 0x4000]].concat();
    for garbage in [&b"GET / HTTP/1.0\r\n\r\n"[..], &[0; 64], client_hello_of_tls_1_2, &endless_record] {
        let mut stream = probe(&fixture);
        stream.write_all(garbage).unwrap();
        let mut rest = Vec::new();
        // An alert, the end, or a reset with garbage unread.
        let _ = stream.read_to_end(&mut rest);
        assert!(rest.is_empty() || rest[0] == 0x15, "{rest:?}");
        fixture.service.disconnected.notified().await;
    }
    assert_eq!(fixture.service.failed_upgrades.load(SeqCst), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reloaded_certificate_is_shown_to_the_next_connection() {
    let authority = Authority::new();
    let fixture = Fixture::start(&authority, None).await;
    let first = connect(&fixture, &trust(&authority, "localhost"), None).await.unwrap();
    let other = Authority::new();
    std::fs::write(&fixture.files.certificate, b"no PEM").unwrap();
    assert!(fixture.upgrade.reload().unwrap_err().to_string().contains("PEM"));
    connect(&fixture, &trust(&authority, "localhost"), None).await.unwrap();
    let issued = other.issue("localhost");
    std::fs::copy(&issued.certificate, &fixture.files.certificate).unwrap();
    std::fs::copy(&issued.key, &fixture.files.key).unwrap();
    fixture.upgrade.reload().unwrap();
    echoes(&connect(&fixture, &trust(&other, "localhost"), None).await.unwrap(), 4).await;
    assert!(connect(&fixture, &trust(&authority, "localhost"), None).await.is_err());
    echoes(&first, 4).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handshake_without_a_probe_is_served_as_well() {
    let authority = Authority::new();
    let fixture = Fixture::start(&authority, None).await;
    let mut stream = fixture::handshake_at_once(&fixture, &authority);
    let call = RawCall::new(9, (PROGRAM, 1, ECHO)).with_bytes(&7u32.to_be_bytes()).record();
    stream.write_all(&call).unwrap();
    // The record mark, six words of the head, and the argument.
    let mut reply = [0; 32];
    stream.read_exact(&mut reply).unwrap();
    assert_eq!((&reply[4..8], &reply[28..]), (&9u32.to_be_bytes()[..], &7u32.to_be_bytes()[..]));
    // A second handshake inside the first is no record.
    stream.write_all(b"\x16\x03\x01\x00\x05hello").unwrap();
    assert_eq!(stream.read(&mut reply).unwrap(), 0);
}

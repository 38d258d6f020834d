//! What servers do rarely.

use std::time::Duration;

use client::{Client, LockKind, Options, Version};
use proto::nfs4::{Operation, Status, sequence_flags};

use crate::fixture::{READ, WRITE, pattern};
use crate::peer::Peer;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delay_is_waited_out_wherever_it_comes() {
    let (peer, client) = Peer::start().await;
    for operation in [Operation::Sequence, Operation::PutFh, Operation::GetAttr, Operation::Open] {
        peer.fail(operation, &[Status::Delay; 3]);
        client.open("/file", WRITE).await.unwrap().close().await.unwrap();
        assert!(peer.state.lock().failures[&operation].is_empty(), "{operation}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_close_that_fails_does_not_take_the_request_with_it() {
    let (peer, client) = Peer::start().await;
    for status in [Status::BadStateId, Status::Stale, Status::Delay] {
        peer.fail(Operation::Close, &[status]);
        client.open("/file", WRITE).await.unwrap().close().await.unwrap();
        let file = client.open("/file", WRITE).await.unwrap();
        assert!(peer.state.lock().failures[&Operation::Close].is_empty(), "{status:?}");
        file.write_at(0, "data".into()).await.unwrap();
        file.close().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_file_whose_close_fails_is_looked_up_and_closed() {
    let (peer, client) = Peer::start().await;
    let before = client.tap().snapshot();
    client.create_file("/file", 0o644).await.unwrap();
    let counts = client.tap().snapshot().since(&before);
    assert_eq!(counts.operations["CLOSE"], 1);
    assert!(!counts.operations.contains_key("GETFH"), "nobody wants the handle of an empty file");
    peer.fail(Operation::Close, &[Status::Delay]);
    client.create_file("/file", 0o644).await.unwrap();
    let closed = async {
        while peer.state.lock().closed < 2 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), closed).await.expect("the second file is closed as well");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_session_is_replaced_and_the_request_carried_out() {
    let (peer, client) = Peer::start().await;
    for status in [Status::BadSession, Status::DeadSession, Status::SequenceMisordered] {
        let before = peer.state.lock().sessions;
        peer.fail(Operation::Sequence, &[status]);
        client.metadata("/").await.unwrap();
        client.forget("/").await.unwrap();
        client.metadata("/").await.unwrap();
        assert_eq!(peer.state.lock().sessions, before + 1);
    }
    let before = client.tap().snapshot();
    peer.fail(Operation::Sequence, &[Status::BadSession]);
    peer.fail(Operation::CreateSession, &[Status::StaleClientId]);
    client.forget("/").await.unwrap();
    client.metadata("/").await.unwrap();
    let counts = client.tap().snapshot().since(&before);
    assert_eq!((counts.requests["EXCHANGE_ID"].requests, counts.requests["CREATE_SESSION"].requests), (1, 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_gone_after_a_restart_is_lost_alone() {
    let (peer, client) = Peer::start().await;
    let file = client.open("/file", WRITE).await.unwrap();
    let other = client.open("/file", WRITE).await.unwrap();
    peer.fail(Operation::Sequence, &[Status::BadSession]);
    peer.fail(Operation::CreateSession, &[Status::StaleClientId]);
    peer.fail(Operation::Open, &[Status::Stale, Status::Ok, Status::Stale]);
    client.forget("/").await.unwrap();
    client.metadata("/").await.unwrap();
    file.write_at(0, "lost".into()).await.unwrap();
    assert_eq!(file.close().await.unwrap_err().kind(), std::io::ErrorKind::StaleNetworkFileHandle);
    assert!(peer.state.lock().written.is_empty());
    other.write_at(0, "kept".into()).await.unwrap();
    other.close().await.unwrap();
    assert_eq!(peer.state.lock().content, b"kept");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn taking_locks_back_begins_again_where_it_was_interrupted() {
    for requests_before in 0..4 {
        let (peer, client) = Peer::start().await;
        let file = client.open("/file", WRITE).await.unwrap();
        for range in [0..10, 20..30] {
            file.lock(range, LockKind::Exclusive).await.unwrap();
        }
        let locked = std::mem::take(&mut peer.state.lock().locks);
        assert_eq!(locked, [(0, false), (20, false)]);
        peer.fail(Operation::CreateSession, &[Status::StaleClientId]);
        // What tells of the restart, then OPEN, LOCK, LOCK and RECLAIM_COMPLETE up to one that finds no
        // session.
        peer.fail(Operation::Sequence, &[Status::BadSession]);
        peer.fail(Operation::Sequence, &vec![Status::Ok; requests_before]);
        peer.fail(Operation::Sequence, &[Status::BadSession]);
        client.forget("/").await.unwrap();
        client.metadata("/").await.unwrap();
        assert!(peer.state.lock().failures[&Operation::Sequence].is_empty());
        let taken_back = peer.state.lock().locks.clone();
        assert_eq!(taken_back[taken_back.len() - 2..], [(0, true), (20, true)], "behind {requests_before}");
        file.unlock(..).await.unwrap();
        assert_eq!(peer.state.lock().unlocked, [0], "behind {requests_before}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delegation_that_was_taken_back_before_an_interruption_stays() {
    let (peer, client) = Peer::start().await;
    // At first, and when it is taken back. Nobody asks for what it has.
    peer.state.lock().delegations = [true, true, false].into();
    let file = client.open("/file", READ).await.unwrap();
    file.lock(.., LockKind::Shared).await.unwrap();
    assert!(peer.state.lock().locks.is_empty(), "the delegation grants it");
    peer.fail(Operation::CreateSession, &[Status::StaleClientId]);
    // What tells of the restart, then OPEN, and RECLAIM_COMPLETE which finds no session.
    peer.fail(Operation::Sequence, &[Status::BadSession, Status::Ok, Status::BadSession]);
    client.forget("/").await.unwrap();
    client.metadata("/").await.unwrap();
    assert!(peer.state.lock().failures[&Operation::Sequence].is_empty());
    assert!(peer.state.lock().delegations.is_empty(), "the open was taken back twice");
    let before = client.tap().snapshot();
    file.try_lock(.., LockKind::Shared).await.unwrap();
    file.unlock(..).await.unwrap();
    assert_eq!(client.tap().snapshot().since(&before).requests_total(), 0, "it is held still");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn data_that_a_restart_may_have_lost_are_written_again() {
    let (peer, client) = Peer::start().await;
    let data = pattern(3 * 4096);
    let file = client.open("/file", WRITE).await.unwrap();
    file.write_at(0, data.clone()).await.unwrap();
    file.metadata().await.unwrap();
    assert_eq!(peer.state.lock().written.len(), 3);
    {
        let mut state = peer.state.lock();
        state.verifier = 1;
        state.content.clear();
    }
    file.sync_all().await.unwrap();
    let state = peer.state.lock();
    assert_eq!(state.written.len(), 6);
    assert!(state.content == data);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_error_of_a_write_is_told_by_sync_and_only_once() {
    let (peer, client) = Peer::start().await;
    let file = client.open("/file", WRITE).await.unwrap();
    peer.fail(Operation::Write, &[Status::NoSpace]);
    file.write_at(0, "data".into()).await.unwrap();
    assert_eq!(file.sync_all().await.unwrap_err().kind(), std::io::ErrorKind::StorageFull);
    file.sync_all().await.unwrap();
    file.write_at(0, "data".into()).await.unwrap();
    file.close().await.unwrap();
    assert_eq!(peer.state.lock().content, b"data");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_server_decides_how_many_slots_are_used() {
    let (peer, client) = Peer::start_with(0).await;
    client.metadata("/").await.unwrap();
    let tasks: Vec<_> = (0..20)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move {
                client.open("/file", WRITE).await.unwrap().close().await.unwrap();
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(peer.state.lock().slots.keys().max(), Some(&0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_falls_back_to_the_minor_version_of_the_server() {
    let (peer, url) = Peer::listen(7).await;
    peer.fail(Operation::ExchangeId, &[Status::MinorVersionMismatch]);
    let client = Client::connect(&url, Options::default()).await.unwrap();
    assert_eq!(client.version(), Version::V4_1);
    assert_eq!(client.tap().snapshot().requests["EXCHANGE_ID"].requests, 2);
    client.open("/file", WRITE).await.unwrap().close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_whose_way_back_is_broken_is_replaced_and_what_is_held_stays() {
    let (peer, client) = Peer::start().await;
    let file = client.open("/file", WRITE).await.unwrap();
    let (before, sessions) = (client.tap().snapshot(), peer.state.lock().sessions);
    peer.state.lock().status_flags = sequence_flags::BACKCHANNEL_FAULT;
    file.write_at(0, "data".into()).await.unwrap();
    file.sync_all().await.unwrap();
    let replaced = async {
        while peer.state.lock().sessions == sessions {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), replaced).await.expect("there is another session");
    file.write_at(4, "more".into()).await.unwrap();
    file.close().await.unwrap();
    let seen = peer.state.lock();
    assert_eq!((&seen.content[..], seen.sessions), (&b"datamore"[..], sessions + 1));
    drop(seen);
    let counts = client.tap().snapshot().since(&before);
    assert!(
        ["EXCHANGE_ID", "OPEN"].iter().all(|name| !counts.operations.contains_key(name)),
        "it is known still"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn moved_file_system_is_reported_where_it_is_used() {
    let (peer, client) = Peer::start().await;
    peer.state.lock().status_flags = sequence_flags::LEASE_MOVED;
    client.metadata("/").await.unwrap();
    client.forget("/").await.unwrap();
    peer.fail(Operation::GetAttr, &[Status::Moved]);
    let error = client.metadata("/").await.unwrap_err();
    assert!(error.to_string().contains("NFS4ERR_MOVED"), "{error}");
    client.open("/file", WRITE).await.unwrap().close().await.unwrap();
    assert_eq!(peer.state.lock().sessions, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn read_of_a_file_of_claimed_size_ends_at_its_end() {
    for claimed_size in [1 << 50, (1 << 63) - 1] {
        let (peer, client) = Peer::start().await;
        peer.state.lock().content = b"short".to_vec();
        peer.state.lock().claimed_size = Some(claimed_size);
        assert_eq!(client.read("/file").await.unwrap(), "short");
        let reads = peer.state.lock().reads.len();
        assert!(reads <= 2048, "{reads} READs for a file of one");
    }
}

//! Messages that cross each other while a caller waits in the server's queue.

use std::net::Ipv4Addr;
use std::time::Duration;

use proto::nlm4::{self, Status};
use rpc::{CallError, Refusal, Transport};
use tokio::task::JoinHandle;

use super::peer::{LockRequest, Peer};
use crate::error::Result;
use crate::file::File;
use crate::lock::LockKind;

const SOON: Duration = Duration::from_millis(1);

/// Waits for an exclusive lock of the first bytes.
fn wait(file: &File, end: u64) -> JoinHandle<Result<()>> {
    let file = file.clone();
    tokio::spawn(async move { file.lock(..end, LockKind::Exclusive).await })
}

const fn lock(end: u64) -> LockRequest {
    LockRequest::Lock(0, end, true, true)
}

/// A caller whose request is in the queue, and the lock that it waits for.
async fn queued(peer: &Peer) -> (File, JoinHandle<Result<()>>, nlm4::Lock) {
    let file = peer.file().await;
    let waiting = wait(&file, 10);
    let asked = peer.answer(lock(10), Status::Blocked).await;
    (file, waiting, asked)
}

async fn gone(waiting: JoinHandle<Result<()>>) {
    waiting.abort();
    assert!(waiting.await.unwrap_err().is_cancelled());
}

#[tokio::test]
async fn granted_wakes_the_caller_and_lock_confirms() {
    let peer = Peer::start().await;
    let (file, waiting, asked) = queued(&peer).await;
    assert_eq!(peer.granted(&asked).await, Status::Granted);
    let again = peer.answer(lock(10), Status::Granted).await;
    assert_eq!(again, asked, "the same owner");
    waiting.await.unwrap().unwrap();
    assert_eq!(file.inner().held_locks(), [(0..10, LockKind::Exclusive)]);
    assert_eq!(peer.granted(&asked).await, Status::Granted, "our answer was lost");
    let unlocking = tokio::spawn(async move { file.unlock(..).await });
    peer.answer(LockRequest::Unlock(0, 0), Status::Granted).await;
    unlocking.await.unwrap().unwrap();
    assert_eq!(peer.granted(&asked).await, Status::Denied);
}

#[tokio::test]
async fn granted_before_the_reply_blocked_is_not_lost() {
    let peer = Peer::start().await;
    let file = peer.file().await;
    let waiting = wait(&file, 10);
    let first = peer.next().await;
    assert_eq!(peer.granted(first.lock.as_ref().unwrap()).await, Status::Granted);
    first.answer(Status::Blocked);
    peer.answer(lock(10), Status::Granted).await;
    waiting.await.unwrap().unwrap();
}

#[tokio::test]
async fn granted_that_the_server_took_back_leads_to_another_wait() {
    let peer = Peer::start().await;
    let (_file, waiting, asked) = queued(&peer).await;
    for _ in 0..2 {
        assert_eq!(peer.granted(&asked).await, Status::Granted);
        peer.answer(lock(10), Status::Blocked).await;
    }
    assert_eq!(peer.granted(&asked).await, Status::Granted);
    peer.answer(lock(10), Status::Granted).await;
    waiting.await.unwrap().unwrap();
}

#[tokio::test]
async fn lost_granted_is_made_up_for_by_asking_again() {
    let peer = Peer::with_pause(SOON).await;
    let (_file, waiting, _) = queued(&peer).await;
    peer.answer(lock(10), Status::Blocked).await;
    peer.answer(lock(10), Status::Granted).await;
    waiting.await.unwrap().unwrap();
}

#[tokio::test]
async fn server_whose_calls_never_arrive_is_polled() {
    let peer = Peer::with_pause(SOON).await;
    for _ in 0..3 {
        let (file, waiting, _) = queued(&peer).await;
        peer.answer(lock(10), Status::Granted).await;
        waiting.await.unwrap().unwrap();
        let closing = tokio::spawn(file.close());
        peer.answer(LockRequest::Unlock(0, 0), Status::Granted).await;
        closing.await.unwrap().unwrap();
    }
    let waiting = wait(&peer.file().await, 10);
    peer.answer(LockRequest::Lock(0, 10, true, false), Status::Denied).await;
    peer.answer(LockRequest::Lock(0, 10, true, false), Status::Granted).await;
    waiting.await.unwrap().unwrap();
}

#[tokio::test]
async fn caller_that_gives_up_leaves_the_queue() {
    let peer = Peer::start().await;
    let (_file, waiting, asked) = queued(&peer).await;
    gone(waiting).await;
    assert_eq!(peer.answer(LockRequest::Cancel(0, 10, true), Status::Granted).await, asked);
    assert_eq!(peer.answer(LockRequest::Unlock(0, 10), Status::Granted).await, asked);
    assert_eq!(peer.granted(&asked).await, Status::Denied, "the server releases it");
}

#[tokio::test]
async fn caller_that_gives_up_before_the_reply_blocked_leaves_the_queue() {
    let peer = Peer::start().await;
    let waiting = wait(&peer.file().await, 10);
    let first = peer.next().await;
    gone(waiting).await;
    first.answer(Status::Blocked);
    peer.answer(LockRequest::Cancel(0, 10, true), Status::Denied).await;
    peer.answer(LockRequest::Unlock(0, 10), Status::Granted).await;
}

#[tokio::test]
async fn lock_granted_to_a_caller_that_has_given_up_is_unlocked() {
    let peer = Peer::start().await;
    let (file, waiting, asked) = queued(&peer).await;
    assert_eq!(peer.granted(&asked).await, Status::Granted);
    let again = peer.next().await;
    assert_eq!(again.asked, lock(10));
    gone(waiting).await;
    again.answer(Status::Granted);
    peer.answer(LockRequest::Unlock(0, 10), Status::Granted).await;
    // The answer to UNLOCK is on its way.
    while !file.inner().held_locks().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(peer.granted(&asked).await, Status::Denied);
}

#[tokio::test]
async fn granted_that_crosses_cancel_is_unlocked() {
    let peer = Peer::start().await;
    let (_file, waiting, asked) = queued(&peer).await;
    gone(waiting).await;
    let cancel = peer.next().await;
    assert_eq!(cancel.asked, LockRequest::Cancel(0, 10, true));
    assert_eq!(peer.granted(&asked).await, Status::Denied);
    cancel.answer(Status::Denied);
    peer.answer(LockRequest::Unlock(0, 10), Status::Granted).await;
}

#[tokio::test]
async fn giving_up_keeps_what_the_owner_held_before() {
    let peer = Peer::start().await;
    let file = peer.file().await;
    let holder = file.clone();
    let shared = tokio::spawn(async move { holder.try_lock(4..8, LockKind::Shared).await });
    peer.answer(LockRequest::Lock(4, 4, false, false), Status::Granted).await;
    shared.await.unwrap().unwrap();
    let waiting = wait(&file, 10);
    let asked = peer.answer(lock(10), Status::Blocked).await;
    gone(waiting).await;
    let cancel = peer.next().await;
    assert_eq!(cancel.asked, LockRequest::Cancel(0, 10, true));
    // A server may take back all that the owner has of the range when it is denied.
    assert_eq!(peer.granted(&asked).await, Status::Granted);
    cancel.answer(Status::Denied);
    peer.answer(LockRequest::Unlock(0, 4), Status::Granted).await;
    peer.answer(LockRequest::Unlock(8, 2), Status::Granted).await;
    peer.answer(LockRequest::Lock(4, 4, false, false), Status::Granted).await;
    assert_eq!(file.inner().held_locks(), [(4..8, LockKind::Shared)]);
}

#[tokio::test]
async fn denied_upgrade_keeps_the_shared_lock() {
    let peer = Peer::start().await;
    let file = peer.file().await;
    let owner = file.clone();
    let locking = tokio::spawn(async move {
        owner.try_lock(..10, LockKind::Shared).await.unwrap();
        owner.try_lock(..10, LockKind::Exclusive).await.unwrap_err()
    });
    peer.answer(LockRequest::Lock(0, 10, false, false), Status::Granted).await;
    peer.answer(LockRequest::Lock(0, 10, true, false), Status::Denied).await;
    locking.await.unwrap();
    assert_eq!(file.inner().held_locks(), [(0..10, LockKind::Shared)]);
}

#[tokio::test]
async fn owners_of_two_clients_of_a_host_have_different_process_numbers() {
    let mut processes = Vec::new();
    for _ in 0..2 {
        let peer = Peer::start().await;
        let (file, waiting, asked) = queued(&peer).await;
        processes.push((file.inner().id, asked.process));
        waiting.abort();
    }
    assert_eq!(processes[0].0, processes[1].0, "as both clients count their files");
    assert_ne!(processes[0].1, processes[1].1);
}

#[tokio::test]
async fn grace_period_of_a_restarted_server_delays_lock_and_cancel() {
    let peer = Peer::with_pause(SOON).await;
    let (_file, waiting, _) = queued(&peer).await;
    peer.answer(lock(10), Status::DeniedGracePeriod).await;
    peer.answer(lock(10), Status::Blocked).await;
    // Until the caller has gone it asks again.
    let next = peer.next().await;
    gone(waiting).await;
    assert_eq!(next.asked, lock(10));
    next.answer(Status::Blocked);
    peer.answer(LockRequest::Cancel(0, 10, true), Status::DeniedGracePeriod).await;
    peer.answer(LockRequest::Cancel(0, 10, true), Status::Granted).await;
    peer.answer(LockRequest::Unlock(0, 10), Status::Granted).await;
}

#[tokio::test]
async fn granted_message_is_answered_by_granted_res() {
    let peer = Peer::start().await;
    let (_file, waiting, asked) = queued(&peer).await;
    peer.granted_message(&asked).await;
    let mut next = [peer.next().await, peer.next().await];
    next.sort_by_key(|request| request.lock.is_none());
    let [again, answer] = next;
    assert_eq!(
        (again.asked.clone(), answer.asked.clone()),
        (lock(10), LockRequest::GrantedRes("grant".into(), Status::Granted))
    );
    again.answer(Status::Granted);
    waiting.await.unwrap().unwrap();
    let other = nlm4::Lock { offset: 5, ..asked };
    peer.granted_message(&other).await;
    let answer = peer.next().await;
    assert_eq!(answer.asked, LockRequest::GrantedRes("grant".into(), Status::Denied));
}

#[tokio::test]
async fn granted_from_another_host_is_denied() {
    let peer = Peer::start().await;
    let (_file, waiting, asked) = queued(&peer).await;
    let stranger = Ipv4Addr::new(127, 0, 0, 2).into();
    assert_eq!(peer.granted_from(stranger, &asked).await, Status::Denied);
    assert_eq!(peer.granted(&asked).await, Status::Granted);
    peer.answer(lock(10), Status::Granted).await;
    waiting.await.unwrap().unwrap();
}

#[tokio::test]
async fn lock_manager_has_no_other_procedures() {
    let peer = Peer::start().await;
    for transport in [Transport::Udp, Transport::Tcp] {
        let from = (transport, Ipv4Addr::LOCALHOST.into());
        let null = peer.send(from, (nlm4::PROGRAM, nlm4::VERSION, 0), &()).await;
        assert!(null.unwrap().is_empty());
        for procedure in (1..30).filter(|procedure| ![5, 10].contains(procedure)) {
            let refused = peer.send(from, (nlm4::PROGRAM, nlm4::VERSION, procedure), &()).await;
            assert!(matches!(refused, Err(CallError::Refused(Refusal::ProcedureUnavailable))));
        }
        for (numbers, refusal) in [
            ((nlm4::PROGRAM, 3, 0), Refusal::ProgramMismatch { low: 4, high: 4 }),
            ((100_003, 3, 0), Refusal::ProgramUnavailable),
            ((nlm4::PROGRAM, nlm4::VERSION, 5), Refusal::GarbageArguments),
        ] {
            let refused = peer.send(from, numbers, &7_u32).await;
            assert!(matches!(refused, Err(CallError::Refused(why)) if why == refusal));
        }
    }
}

#[tokio::test]
async fn shutdown_leaves_the_queue_first() {
    let peer = Peer::start().await;
    let (_file, waiting, _) = queued(&peer).await;
    let client = peer.client.clone();
    let ending = tokio::spawn(async move { client.shutdown().await });
    peer.answer(LockRequest::Cancel(0, 10, true), Status::Granted).await;
    peer.answer(LockRequest::Unlock(0, 10), Status::Granted).await;
    ending.await.unwrap().unwrap();
    waiting.await.unwrap().unwrap_err();
}

#[tokio::test]
async fn only_the_first_caller_of_a_client_waits_at_the_server() {
    let peer = Peer::start().await;
    let (first, waiting, asked) = queued(&peer).await;
    let second = peer.file().await;
    let next = wait(&second, 10);
    assert_eq!(peer.granted(&asked).await, Status::Granted);
    peer.answer(lock(10), Status::Granted).await;
    waiting.await.unwrap().unwrap();
    let closing = tokio::spawn(first.close());
    peer.answer(LockRequest::Unlock(0, 0), Status::Granted).await;
    closing.await.unwrap().unwrap();
    let of_second = peer.answer(lock(10), Status::Granted).await;
    assert_ne!(of_second.owner, asked.owner);
    next.await.unwrap().unwrap();
}

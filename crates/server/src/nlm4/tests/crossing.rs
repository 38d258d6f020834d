//! Messages of NLM that cross: a lock that its host does not believe to hold must not stay.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use futures_util::FutureExt;
use proto::nlm4::*;
use rpc::{CallHeader, Refusal};

use super::lab::{ANN, Answer, BOB, EVE, Lab};
use crate::fixture::{Head, user};

const GRANTED: u32 = 5;

/// Bob is being granted the lock of Ann, who had it before; the host of Bob has not answered.
fn granting() -> Lab {
    let lab = Lab::new();
    lab.take(ANN, 1);
    lab.take(BOB, 2);
    lab.set_answer(Answer::Later);
    lab.give_back(ANN, 1);
    lab.run();
    assert_eq!((lab.called(), lab.holder()), (vec![(BOB.into(), GRANTED)], Some(2)));
    lab
}

const ANSWERS: [Answer; 5] = [
    Answer::Status(Status::Granted),
    Answer::Status(Status::Denied),
    Answer::Status(Status::DeniedGracePeriod),
    Answer::Timeout,
    Answer::OnlyMessages,
];

#[test]
fn unlock_that_overtakes_the_answer_to_granted_frees_the_lock() {
    for answer in ANSWERS {
        let lab = granting();
        lab.give_back(BOB, 2);
        assert_eq!(lab.holder(), None, "{answer:?}");
        lab.set_answer(answer);
        lab.pass(15);
        assert_eq!((lab.holder(), lab.called()), (None, vec![]), "{answer:?}: not called again");
        assert!(!lab.services.lock_waiters().has_waiters(), "{answer:?}");
    }
}

#[test]
fn unlock_that_overtakes_the_answer_to_granted_serves_the_next_waiter() {
    let lab = Lab::new();
    lab.take(ANN, 1);
    lab.take(BOB, 2);
    lab.take(EVE, 3);
    lab.set_answer(Answer::Later);
    lab.give_back(ANN, 1);
    lab.run();
    lab.give_back(BOB, 2);
    lab.set_answer(Answer::Status(Status::Granted));
    lab.pass(1);
    assert_eq!((lab.holder(), lab.called()), (Some(3), vec![(BOB.into(), GRANTED), (EVE.into(), GRANTED)]));
    lab.give_back(EVE, 3);
    lab.pass(30);
    assert_eq!(lab.holder(), None);
}

#[test]
fn unlock_of_a_part_leaves_the_rest_of_a_grant_whatever_the_answer() {
    for (answer, left) in [(Status::Granted, true), (Status::Denied, false)] {
        let lab = Lab::new();
        lab.take_range(ANN, 1, (50, 1), true);
        assert_eq!(lab.take_range(BOB, 2, (0, 50), true), Status::Granted);
        assert_eq!(lab.take_range(BOB, 2, (0, 100), true), Status::Blocked);
        lab.set_answer(Answer::Later);
        lab.give_back(ANN, 1);
        lab.run();
        lab.give_back_range(BOB, 2, (0, 10));
        lab.set_answer(Answer::Status(answer));
        lab.run();
        let free = |offset| lab.take_range(EVE, 3, (offset, 1), true) == Status::Granted;
        assert!(free(0) && free(9), "unlocked, and not locked again");
        assert!(!free(10) && !free(49), "held before");
        assert_eq!(free(60), !left, "the rest of the grant, {answer}");
    }
}

#[test]
fn a_lock_that_is_taken_during_a_grant_survives_the_denial_of_it() {
    let lab = granting();
    // Another thread of the process, of the same owner.
    assert_eq!(lab.take_range(BOB, 2, (0, 10), true), Status::Granted);
    lab.set_answer(Answer::Status(Status::Denied));
    lab.pass(1);
    assert_eq!(lab.take_range(EVE, 3, (10, 1), true), Status::Granted, "the grant was denied");
    assert_eq!(lab.take_range(EVE, 3, (9, 1), true), Status::Blocked, "the lock was not");
}

#[test]
fn cancel_that_crosses_granted_frees_the_lock_whatever_the_answer() {
    for answer in ANSWERS {
        let lab = granting();
        assert_eq!(lab.cancel(BOB, 2), Status::Granted);
        lab.set_answer(answer);
        lab.pass(15);
        assert_eq!((lab.holder(), lab.called()), (None, vec![]), "{answer:?}");
    }
}

#[test]
fn a_host_that_restarts_during_a_grant_leaves_no_lock_whatever_the_answer() {
    for (answer, by_notify) in ANSWERS.into_iter().flat_map(|answer| [(answer, true), (answer, false)]) {
        let lab = granting();
        if by_notify {
            lab.notify(BOB, 900, BOB);
        } else {
            lab.call::<()>(BOB, Procedure::FreeAll, &Notify { name: BOB.into(), state: 3 });
        }
        lab.set_answer(answer);
        lab.pass(15);
        assert_eq!((lab.holder(), lab.called()), (None, vec![]), "{answer:?}");
    }
}

#[test]
fn a_denial_of_the_only_copy_of_granted_frees_the_lock() {
    let lab = granting();
    lab.set_answer(Answer::Status(Status::Denied));
    lab.pass(1);
    assert_eq!(lab.holder(), None);
}

#[test]
fn denial_of_a_later_copy_of_granted_leaves_the_lock() {
    for ends_by_cancel in [false, true] {
        let lab = granting();
        // The host accepts the first copy and the answer is lost; it denies the second, for no process
        // waits any more.
        lab.set_answer(Answer::Timeout);
        lab.run();
        lab.set_answer(Answer::Status(Status::Denied));
        lab.pass(2);
        assert_eq!((lab.holder(), lab.called()), (Some(2), vec![(BOB.into(), GRANTED)]));
        // A process that has given up sends UNLOCK when CANCEL is denied, as Linux does.
        if ends_by_cancel {
            assert_eq!(lab.cancel(BOB, 2), Status::Denied, "it does not wait");
        }
        lab.give_back(BOB, 2);
        lab.pass(15);
        assert_eq!((lab.holder(), lab.called()), (None, vec![]));
    }
}

#[test]
fn an_answer_to_an_earlier_grant_does_not_end_a_later_one() {
    let lab = granting();
    lab.give_back(BOB, 2);
    lab.take(EVE, 3);
    assert_eq!(lab.take(BOB, 2), Status::Blocked);
    // The answer to the first GRANTED.
    lab.set_answer(Answer::Status(Status::Denied));
    lab.run();
    lab.set_answer(Answer::Later);
    lab.give_back(EVE, 3);
    lab.run();
    assert_eq!((lab.holder(), lab.called()), (Some(2), vec![(BOB.into(), GRANTED)]));
    lab.set_answer(Answer::Status(Status::Granted));
    lab.pass(15);
    assert_eq!(lab.holder(), Some(2));
}

#[test]
fn unlock_of_the_range_that_is_waited_for_ends_the_wait() {
    let lab = Lab::new();
    lab.take(ANN, 1);
    lab.take(BOB, 2);
    lab.give_back(BOB, 2);
    lab.give_back(ANN, 1);
    lab.pass(1);
    assert_eq!((lab.holder(), lab.called()), (None, vec![]));
}

#[test]
fn unlock_of_another_range_leaves_the_wait() {
    let lab = Lab::new();
    lab.take_range(ANN, 1, (10, 1), true);
    lab.take_range(BOB, 2, (10, 1), true);
    lab.give_back(BOB, 2);
    lab.give_back(ANN, 1);
    lab.pass(1);
    assert_eq!((lab.holder(), lab.called()), (Some(2), vec![(BOB.into(), GRANTED)]));
}

#[test]
fn a_repeated_notify_leaves_the_locks_that_were_taken_since() {
    let lab = Lab::new();
    lab.take(BOB, 2);
    lab.notify_state(BOB, 900, BOB, 5);
    assert_eq!(lab.take(BOB, 4), Status::Granted);
    lab.notify_state(BOB, 900, BOB, 5);
    assert_eq!(lab.holder(), Some(4), "a copy of the first");
    lab.notify_state(BOB, 900, BOB, 7);
    assert_eq!(lab.holder(), None, "another restart");
}

/// A call that is being carried out: the record of its host is not yet on stable storage.
type Pending<'a> = Pin<Box<dyn Future<Output = Result<Bytes, Refusal>> + 'a>>;

fn answer(mut call: Pending<'_>, lab: &Lab) -> Status {
    lab.disk.is_stalled.store(false, Ordering::SeqCst);
    let results = call.as_mut().now_or_never().expect("the record is written").unwrap();
    xdr::from_bytes::<Response>(results).unwrap().status
}

#[test]
fn unlock_that_overtakes_a_lock_call_ends_it() {
    type Message = (&'static str, fn(&Lab));
    let messages: [Message; 4] = [
        ("UNLOCK", |lab| lab.give_back(BOB, 2)),
        ("CANCEL", |lab| assert_eq!(lab.cancel(BOB, 2), Status::Granted)),
        ("NOTIFY", |lab| lab.notify(BOB, 900, BOB)),
        ("FREE_ALL", |lab| {
            lab.call::<()>(BOB, Procedure::FreeAll, &Notify { name: BOB.into(), state: 3 });
        }),
    ];
    for ((name, message), is_free) in messages.into_iter().flat_map(|of| [(of, true), (of, false)]) {
        let lab = Lab::new();
        if !is_free {
            lab.take(ANN, 1);
        }
        lab.disk.is_stalled.store(true, Ordering::SeqCst);
        let header = header(Procedure::Lock);
        let args = xdr::to_bytes(&lab.arguments(BOB, 2, (0, 0), true));
        let mut call: Pending<'_> = Box::pin(lab.server.send(&header, peer(), args));
        assert!(call.as_mut().now_or_never().is_none());
        message(&lab);
        assert_eq!(answer(call, &lab), Status::Denied, "{name}");
        if !is_free {
            lab.give_back(ANN, 1);
        }
        lab.pass(15);
        assert_eq!((lab.holder(), lab.called()), (None, vec![]), "{name}: neither held nor waited for");
    }
}

#[test]
fn unshare_that_overtakes_a_share_call_ends_it() {
    let lab = Lab::new();
    lab.disk.is_stalled.store(true, Ordering::SeqCst);
    let header = header(Procedure::Share);
    let args = super::share_args(lab.file, 1, ShareAccess::Read, ShareMode::DenyBoth);
    let mut call: Pending<'_> = Box::pin(lab.server.send(&header, peer(), xdr::to_bytes(&args)));
    assert!(call.as_mut().now_or_never().is_none());
    lab.call::<ShareResponse>(BOB, Procedure::Unshare, &args);
    lab.disk.is_stalled.store(false, Ordering::SeqCst);
    let results = call.as_mut().now_or_never().expect("the record is written").unwrap();
    assert_eq!(xdr::from_bytes::<ShareResponse>(results).unwrap().status, Status::Denied);
    assert_eq!(lab.state.nlm_hosts(b"").len(), 0);
}

#[test]
fn a_lock_call_that_is_overtaken_by_another_owner_goes_on() {
    let lab = Lab::new();
    lab.disk.is_stalled.store(true, Ordering::SeqCst);
    let header = header(Procedure::Lock);
    let args = xdr::to_bytes(&lab.arguments(BOB, 2, (0, 0), true));
    let mut call: Pending<'_> = Box::pin(lab.server.send(&header, peer(), args));
    assert!(call.as_mut().now_or_never().is_none());
    lab.give_back(BOB, 3);
    lab.give_back(ANN, 2);
    lab.give_back_range(BOB, 2, (5, 5));
    assert_eq!(answer(call, &lab), Status::Granted);
    assert_eq!(lab.holder(), Some(2));
}

fn header(procedure: Procedure) -> Head {
    let header = CallHeader { xid: 1, program: PROGRAM, version: VERSION, procedure: procedure.number() };
    (header, user(0).into())
}

fn peer() -> SocketAddr {
    SocketAddr::new(BOB.parse().unwrap(), 900)
}

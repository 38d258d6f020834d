//! Locks that are waited for.

use proto::nlm4::*;

use super::lab::{ANN, Answer, BOB, EVE, Lab};

const GRANTED: u32 = 5;
const GRANTED_MESSAGE: u32 = 10;

fn granted(host: &str) -> (String, u32) {
    (host.into(), GRANTED)
}

#[test]
fn waiter_gets_granted_with_the_lock() {
    let lab = Lab::new();
    assert_eq!(lab.take(ANN, 1), Status::Granted);
    assert_eq!(lab.take(BOB, 2), Status::Blocked);
    lab.pass(5);
    assert_eq!(lab.called(), [], "nothing is free");
    lab.give_back(ANN, 1);
    assert_eq!(lab.holder(), Some(2), "nobody comes in between");
    lab.run();
    let calls = std::mem::take(&mut *lab.hosts.calls.lock());
    let [(route, procedure, arguments)] = &calls[..] else { panic!("{calls:?}") };
    assert_eq!((route.address.to_string().as_str(), *procedure), (BOB, (PROGRAM, VERSION, GRANTED)));
    let arguments: TestArgs = xdr::from_bytes(arguments.clone()).unwrap();
    assert_eq!(
        (arguments.lock, arguments.exclusive),
        (lab.lock(BOB, 2, (0, 0)), true),
        "the lock as it was asked for"
    );
    lab.pass(60);
    assert_eq!((lab.called(), lab.holder()), (vec![], Some(2)), "it was told once, and keeps the lock");
    assert_eq!(lab.cancel(BOB, 2), Status::Denied, "it does not wait any more");
}

#[test]
fn waiters_get_the_lock_in_order_of_request() {
    let lab = Lab::new();
    lab.take(ANN, 1);
    for (host, process) in [(BOB, 2), (EVE, 3), (ANN, 4)] {
        assert_eq!(lab.take(host, process), Status::Blocked);
        // To ask again is not to go to the end.
        assert_eq!(lab.take(BOB, 2), Status::Blocked);
    }
    for (host, process) in [(ANN, 1), (BOB, 2), (EVE, 3)] {
        lab.give_back(host, process);
        lab.run();
    }
    assert_eq!(lab.called(), [granted(BOB), granted(EVE), granted(ANN)]);
    assert_eq!(lab.holder(), Some(4));
}

#[test]
fn readers_that_wait_get_their_locks_together() {
    let lab = Lab::new();
    lab.take(ANN, 1);
    for process in [2, 3] {
        assert_eq!(lab.take_range(BOB, process, (0, 0), false), Status::Blocked);
    }
    assert_eq!(lab.take_range(EVE, 4, (0, 0), true), Status::Blocked);
    lab.give_back(ANN, 1);
    lab.run();
    assert_eq!(lab.called(), [granted(BOB), granted(BOB)]);
    lab.give_back(BOB, 2);
    lab.run();
    assert_eq!(lab.called(), [], "one still reads");
    lab.give_back(BOB, 3);
    lab.run();
    assert_eq!(lab.called(), [granted(EVE)]);
}

#[test]
fn a_lock_that_is_made_less_lets_others_in() {
    let lab = Lab::new();
    lab.take(ANN, 1);
    assert_eq!(lab.take_range(BOB, 2, (0, 0), false), Status::Blocked);
    assert_eq!(lab.take_range(ANN, 1, (0, 0), false), Status::Granted, "a writer becomes a reader");
    lab.run();
    assert_eq!(lab.called(), [granted(BOB)]);
}

#[test]
fn cancelled_waiter_gets_no_lock_and_blocks_none() {
    let lab = Lab::new();
    lab.take(ANN, 1);
    lab.take(BOB, 2);
    lab.take(EVE, 3);
    assert_eq!(lab.cancel(BOB, 2), Status::Granted);
    assert_eq!(lab.cancel(BOB, 2), Status::Denied);
    lab.give_back(ANN, 1);
    lab.run();
    assert_eq!(lab.called(), [granted(EVE)]);
}

#[test]
fn cancel_during_granted_passes_the_lock_on() {
    let lab = Lab::new();
    lab.take(ANN, 1);
    lab.take(BOB, 2);
    lab.take(EVE, 3);
    lab.set_answer(Answer::Later);
    lab.give_back(ANN, 1);
    lab.run();
    assert_eq!((lab.called(), lab.holder()), (vec![granted(BOB)], Some(2)));
    assert_eq!(lab.cancel(BOB, 2), Status::Granted);
    lab.set_answer(Answer::Status(Status::Granted));
    lab.pass(1);
    // Bob's late answer does not matter.
    assert_eq!((lab.called(), lab.holder()), (vec![granted(EVE)], Some(3)));
}

#[test]
fn denied_grant_goes_to_the_next_and_the_owner_keeps_what_it_had() {
    let lab = Lab::new();
    assert_eq!(lab.take_range(ANN, 1, (0, 10), false), Status::Granted);
    assert_eq!(lab.take_range(BOB, 2, (0, 10), false), Status::Granted);
    assert_eq!(lab.take_range(BOB, 2, (0, 10), true), Status::Blocked, "more than it has");
    lab.set_answer(Answer::Status(Status::Denied));
    lab.give_back(ANN, 1);
    lab.run();
    assert_eq!(lab.called(), [granted(BOB)]);
    assert_eq!(lab.take_range(EVE, 3, (0, 10), false), Status::Granted, "bob reads again");
    assert_eq!(lab.take_range(EVE, 3, (0, 10), true), Status::Blocked);
    assert_eq!(lab.cancel(BOB, 2), Status::Denied, "its request has gone");
}

#[test]
fn silent_host_loses_the_lock_to_the_next_and_gets_it_by_asking_again() {
    let lab = Lab::new();
    lab.take(ANN, 1);
    lab.take(BOB, 2);
    lab.take(BOB, 5);
    lab.take(EVE, 3);
    lab.set_answer(Answer::Timeout);
    lab.give_back(ANN, 1);
    lab.pass(9);
    assert_eq!(lab.holder(), Some(2), "the lock is kept for it for a while");
    assert!(lab.called().len() > 5, "and it is called again");
    lab.set_answer(Answer::Status(Status::Granted));
    lab.set_answer(Answer::Timeout);
    lab.pass(3);
    assert_eq!(
        lab.holder(),
        Some(3),
        "then it is the next one's, and not that of another process of the silent host"
    );
    lab.set_answer(Answer::Status(Status::Granted));
    lab.pass(1);
    lab.called();
    assert_eq!(lab.take(BOB, 2), Status::Blocked, "it asks again, and waits again");
    lab.give_back(EVE, 3);
    lab.run();
    assert_eq!((lab.called(), lab.holder()), (vec![granted(BOB)], Some(2)));
}

#[test]
fn a_silent_host_that_does_not_ask_again_is_forgotten() {
    let lab = Lab::new();
    lab.take(ANN, 1);
    lab.take(BOB, 2);
    lab.set_answer(Answer::Timeout);
    lab.give_back(ANN, 1);
    lab.pass(75);
    assert_eq!(lab.holder(), None);
    assert_eq!(lab.cancel(BOB, 2), Status::Denied);
    assert!(!lab.services.lock_waiters().has_waiters());
}

#[test]
fn retry_during_granted_keeps_the_lock() {
    let lab = Lab::new();
    lab.take(ANN, 1);
    lab.take(BOB, 2);
    lab.set_answer(Answer::Later);
    lab.give_back(ANN, 1);
    lab.run();
    assert_eq!(lab.take(BOB, 2), Status::Granted);
    // It does not wait any more when the call arrives, and so denies it.
    lab.set_answer(Answer::Status(Status::Denied));
    lab.pass(20);
    assert_eq!(lab.holder(), Some(2));
}

#[test]
fn a_host_in_its_own_grace_period_is_told_again() {
    let lab = Lab::new();
    lab.take(ANN, 1);
    lab.take(BOB, 2);
    lab.set_answer(Answer::Status(Status::DeniedGracePeriod));
    lab.give_back(ANN, 1);
    lab.pass(2);
    assert!(lab.called().len() > 1);
    lab.set_answer(Answer::Status(Status::Granted));
    lab.pass(30);
    assert_eq!(lab.holder(), Some(2));
}

#[test]
fn a_host_that_only_speaks_in_messages_answers_by_a_message() {
    let lab = Lab::new();
    lab.take(ANN, 1);
    lab.take(BOB, 2);
    lab.set_answer(Answer::OnlyMessages);
    lab.give_back(ANN, 1);
    lab.run();
    let cookie = {
        let calls = lab.hosts.calls.lock();
        xdr::from_bytes::<TestArgs>(calls.last().unwrap().2.clone()).unwrap().cookie
    };
    assert_eq!(lab.called(), [granted(BOB), (BOB.into(), GRANTED_MESSAGE)]);
    let answer = |from: &str, cookie: &NetObject, status| {
        lab.call::<()>(from, Procedure::GrantedRes, &Response { cookie: cookie.clone(), status });
    };
    // Of others, and with a cookie that is none, it says nothing.
    answer(EVE, &cookie, Status::Denied);
    answer(BOB, &NetObject::default(), Status::Denied);
    assert_eq!(lab.holder(), Some(2));
    answer(BOB, &cookie, Status::Granted);
    lab.pass(30);
    assert_eq!((lab.holder(), lab.called()), (Some(2), vec![]));
    // A second answer comes too late.
    answer(BOB, &cookie, Status::Denied);
    assert_eq!(lab.holder(), Some(2));
}

#[test]
fn messages_are_answered_by_calls() {
    let lab = Lab::new();
    let args = lab.arguments(ANN, 1, (0, 0), true);
    lab.call::<()>(ANN, Procedure::LockMsg, &args);
    assert_eq!(lab.holder(), Some(1));
    let test = TestArgs { cookie: super::cookie(), exclusive: true, lock: lab.lock(BOB, 2, (0, 0)) };
    lab.call::<()>(BOB, Procedure::TestMsg, &test);
    lab.call::<()>(BOB, Procedure::LockMsg, &lab.arguments(BOB, 2, (0, 0), true));
    let cancel = CancelArgs { cookie: super::cookie(), block: true, exclusive: true, lock: test.lock };
    lab.call::<()>(BOB, Procedure::CancelMsg, &cancel);
    lab.call::<()>(ANN, Procedure::UnlockMsg, &UnlockArgs { cookie: super::cookie(), lock: args.lock });
    assert_eq!(lab.holder(), None);
    lab.run();
    let calls = std::mem::take(&mut *lab.hosts.calls.lock());
    let results: Vec<_> = calls
        .iter()
        .map(|(route, (_, _, procedure), result)| {
            let status = match procedure {
                11 => match xdr::from_bytes::<TestResponse>(result.clone()).unwrap().result {
                    TestResult::Denied(holder) => {
                        assert_eq!(holder.process, 1);
                        Status::Denied
                    }
                    TestResult::Other(status) => status,
                },
                _ => xdr::from_bytes::<Response>(result.clone()).unwrap().status,
            };
            (route.address.to_string(), *procedure, status)
        })
        .collect();
    let expected = [
        (ANN, 12, Status::Granted),
        (BOB, 11, Status::Denied),
        (BOB, 12, Status::Blocked),
        (BOB, 13, Status::Granted),
        (ANN, 14, Status::Granted),
    ];
    assert_eq!(results, expected.map(|(host, procedure, status)| (host.to_owned(), procedure, status)));
}

#[test]
fn a_storm_of_requests_finds_its_bound_and_others_their_locks() {
    let lab = Lab::new();
    lab.take(ANN, 1);
    let mut answers = [0; 2];
    for process in 0..100_000 {
        match lab.take_range(EVE, process, (0, 0), true) {
            Status::Blocked => answers[0] += 1,
            Status::DeniedNoLocks => answers[1] += 1,
            status => panic!("{status}"),
        }
    }
    assert_eq!(answers, [512, 100_000 - 512]);
    assert_eq!(lab.take(BOB, 1), Status::Blocked, "half of the queue is left to others");
    let other = lab.server.file(lab.server.root, "other", 0o666);
    let lock = |process| Lock { caller_name: BOB.into(), ..super::lock(other, process, 0, 0) };
    let take = |process| {
        let args = LockArgs { block: true, ..super::lock_args(lock(process), true) };
        lab.call::<Response>(BOB, Procedure::Lock, &args).status
    };
    assert_eq!((take(1), take(2)), (Status::Granted, Status::Blocked));
    // Of those that wait nobody answers; the storm is over when its host has restarted.
    lab.set_answer(Answer::Timeout);
    lab.give_back(ANN, 1);
    lab.pass(20);
    assert_eq!(lab.holder(), None, "nothing is kept for the others of a silent host");
    lab.notify(EVE, 900, EVE);
    lab.set_answer(Answer::Status(Status::Granted));
    assert_eq!(lab.take(EVE, 1), Status::Granted);
}

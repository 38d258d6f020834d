//! Every rule complains when it is broken, and not when it is nearly broken.

mod holders;

use proto::nfs4::Status;

use super::script::*;
use super::{counters, denials, expected, left, names, once, recalls};
use crate::action::{Action, Create, Done, Outcome};
use crate::history::{History, Violation, What};
use crate::host::LIMITS;

const LEASE_MS: u64 = LIMITS.lease_seconds as u64 * 1000;

/// What a checker says of a history.
fn told(check: fn(&History) -> Result<(), Violation>, build: impl FnOnce(&mut Script)) -> String {
    let mut script = Script::new();
    build(&mut script);
    check(&script.history).map_or_else(|violation| violation.0, |()| "fine".into())
}

fn assert_told(what: &str, part: &str) {
    assert!(what.contains(part), "{what}");
}

fn value(value: u64) -> Done {
    Done { value, ..Done::default() }
}

#[test]
fn a_number_that_is_written_twice_or_left_out_is_found() {
    let numbers = |numbers: [(u64, u64); 3]| {
        told(counters::check, |s| {
            for (number, job) in numbers {
                s.done(0, write(id(1), number, job), Done::default());
            }
        })
    };
    assert_eq!(numbers([(1, 7), (2, 8), (3, 9)]), "fine");
    assert_eq!(numbers([(1, 7), (2, 8), (2, 8)]), "fine", "the same job may not know that it has written");
    assert_told(&numbers([(1, 7), (2, 8), (2, 9)]), "is 2 for job 9 after [(2, 8)]");
    assert_told(&numbers([(1, 7), (2, 8), (1, 7)]), "is 1 for job 7 after [(2, 8)]");
    assert_told(&numbers([(1, 7), (2, 8), (4, 9)]), "is 4 for job 9 after [(2, 8)]");
}

#[test]
fn a_number_that_is_read_wrongly_is_found() {
    let reads = |number| {
        told(counters::check, |s| {
            s.done(0, write(id(1), 1, 7), Done::default());
            s.done(1, read(id(2)), value(number));
        })
    };
    assert_eq!(reads(1), "fine");
    assert_told(&reads(0), "is read as 0, and is one of {1}");
}

#[test]
fn a_retry_that_is_carried_out_again_is_found() {
    let again = |outcome: Outcome| {
        told(once::check, |s| {
            let tag = s.done(0, lock(), gives(id(1)));
            s.answer(tag, outcome);
        })
    };
    assert_eq!(again(Outcome::Done(gives(id(1)))), "fine");
    assert_eq!(again(Outcome::Refused(Status::BadSession)), "fine");
    assert_told(&again(Outcome::Done(gives(id(2)))), "answered otherwise");
    assert_told(&again(Outcome::Failed(Status::Denied)), "answered otherwise");
    assert_told(&again(Outcome::Failed(Status::RetryUncachedReply)), "answered otherwise");
}

#[test]
fn another_request_in_the_same_place_is_found() {
    let what = told(once::check, |s| {
        let first = s.done(0, lock(), gives(id(1)));
        let second = s.asked(0, lock());
        s.history.requests.insert(second, s.history.requests[&first].clone());
        s.answer(second, Outcome::Done(gives(id(1))));
    });
    assert_told(&what, "another request");
}

#[test]
fn a_recall_that_leads_to_nothing_is_found() {
    let used = |waits: u64, action: fn() -> Action, done: fn() -> Done| {
        told(recalls::check, |s| {
            s.delegated(0, 1);
            s.log(What::Recalled { hold: 1 });
            s.wait(waits);
            s.done(0, action(), done());
        })
    };
    let test = || Action::Test { state_id: id(1) };
    let good = || Done { tested: Some(Status::Ok), ..Done::default() };
    let revoked = || Done { tested: Some(Status::DelegationRevoked), ..Done::default() };
    let long = LIMITS.recall_ms + 5000;
    assert_eq!(used(LIMITS.recall_ms, || give_back(id(1)), Done::default), "fine");
    assert_told(&used(long, || give_back(id(1)), Done::default), "still good");
    assert_told(&used(long, || read(id(1)), Done::default), "still good");
    assert_told(&used(long, test, good), "still good");
    assert_eq!(used(long, test, revoked), "fine");
}

#[test]
fn a_holder_that_flushes_without_end_is_found() {
    let flushes = |times: u32, action: fn() -> Action| {
        told(recalls::check, |s| {
            s.delegated(0, 1);
            s.log(What::Recalled { hold: 1 });
            for _ in 0..times {
                s.wait(LIMITS.recall_ms * 9 / 10);
                s.done(0, action(), Done::default());
            }
            s.wait(LIMITS.recall_ms * 9 / 10);
            s.done(0, give_back(id(1)), Done::default());
        })
    };
    for action in [|| read(id(1)), || write(id(101), 1, 1), lock] {
        assert_eq!(flushes(0, action), "fine");
        assert_eq!(flushes(3, action), "fine");
        assert_told(&flushes(5, action), "still good");
    }
    assert_told(&flushes(1, || read(id(101))), "still good");
}

#[test]
fn unexpected_answer_is_detected() {
    assert_eq!(told(expected::check, |_| ()), "fine");
    let what = told(expected::check, |s| s.log(What::Unexpected("a surprise".into())));
    assert_told(&what, "a surprise");
}

#[test]
fn names_that_are_made_or_removed_twice_are_found() {
    let then = |action: Action, outcome: Outcome| {
        told(names::check, |s| {
            s.done(0, create(Create::Exclusive(5)), Done::default());
            s.done(0, rename("f", "g"), Done::default());
            s.done(0, create(Create::Exclusive(6)), Done::default());
            let tag = s.asked(1, action);
            s.answer(tag, outcome);
        })
    };
    let done = || Outcome::Done(Done::default());
    let failed = Outcome::Failed;
    assert_eq!(then(create(Create::Exclusive(6)), done()), "fine", "a retry");
    assert_told(&then(create(Create::Exclusive(5)), done()), "f was Present");
    assert_told(&then(create(Create::Exclusive(6)), failed(Status::Exists)), "f was Present");
    assert_told(&then(create(Create::Guarded), done()), "f was Present");
    assert_eq!(then(create(Create::Guarded), failed(Status::Exists)), "fine");
    assert_eq!(then(remove("g"), done()), "fine");
    assert_told(&then(remove("g"), failed(Status::NoEntry)), "g was Present");
    assert_told(&then(remove("h"), done()), "h was Absent");
    assert_told(&then(rename("h", "i"), done()), "h was Absent");
    assert_told(&then(rename("g", "i"), failed(Status::NoEntry)), "g was Present");
}

#[test]
fn a_failure_that_has_made_a_name_is_found() {
    let fails = |between: fn(&mut Script)| {
        told(names::check, |s| {
            s.failed(0, create(Create::Guarded), Status::Grace);
            between(s);
            s.failed(0, create(Create::Guarded), Status::Exists);
        })
    };
    assert_told(&fails(|_| ()), "f was Absent");
    let crashed = fails(|s| {
        s.asked(1, create(Create::Guarded));
        s.log(What::Boot { remembers: true });
    });
    assert_eq!(crashed, "fine", "what was under way may have happened");
}

#[test]
fn a_denial_that_nothing_explains_is_found() {
    let denied = |between: fn(&mut Script)| {
        told(denials::check, |s| {
            s.locks(0, 1);
            between(s);
            s.failed(1, lock(), Status::Denied);
        })
    };
    assert_eq!(denied(|_| ()), "fine");
    let unlocked = denied(|s| {
        s.done(0, unlock(id(1)), Done::default());
    });
    assert_told(&unlocked, "nobody has it");
    assert_told(&denied(|s| s.log(What::Boot { remembers: true })), "nobody has it");
    assert_told(&denied(|s| s.session(0, 2)), "nobody has it");
    assert_eq!(denied(|s| s.session(0, 1)), "fine");
    let asked = told(denials::check, |s| {
        s.asked(0, lock());
        s.failed(1, lock(), Status::Denied);
    });
    assert_eq!(asked, "fine", "what is under way may have happened");
}

#[test]
fn a_lock_that_stays_without_its_host_is_found() {
    let left = |accepts: bool, gives_back: bool| {
        told(left::check, |s| {
            if accepts {
                let (client, holding) = (crate::stranger::NOBODY, locked());
                s.log(What::Held { life: life(2), client, hold: 1, state_id: id(1), holding });
            }
            if gives_back {
                s.log(What::Released { hold: 1 });
            }
            s.log(What::Left(vec!["127.0.0.1 host 2".into()]));
        })
    };
    assert_eq!(left(true, false), "fine");
    assert_told(&left(true, true), "does not know it");
    assert_told(&left(false, false), "does not know it");
}

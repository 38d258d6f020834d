//! The rules about what is held.

use proto::nfs4::{Status, share};

use super::{LEASE_MS, assert_told, told};
use crate::action::{Action, Done, Outcome};
use crate::checks::holders;
use crate::checks::script::*;
use crate::history::{Holding, What};
use crate::host::LIMITS;
use crate::stranger::NOBODY;

#[test]
fn a_lock_that_somebody_else_has_must_not_be_given() {
    let taken = |build: fn(&mut Script)| {
        told(holders::check, |s| {
            s.locks(0, 1);
            build(s);
            s.done(1, lock(), gives(id(2)));
        })
    };
    assert_told(&taken(|_| ()), "which excludes");
    assert_told(&taken(|s| s.wait(LEASE_MS - 100)), "which excludes");
    assert_eq!(taken(|s| s.wait(LEASE_MS)), "fine", "its lease is over");
    assert_eq!(taken(|s| s.log(What::Released { hold: 1 })), "fine");
    assert_told(&taken(|s| s.log(What::Boot { remembers: true })), "which excludes");
    assert_eq!(taken(|s| s.log(What::Boot { remembers: false })), "fine", "nobody remembers");
    let renewed = taken(|s| {
        s.wait(LEASE_MS);
        s.done(0, Action::Nothing, Done::default());
    });
    assert_told(&renewed, "which excludes");
}

#[test]
fn a_lock_of_a_client_without_a_lease_lasts_as_long_as_the_server() {
    let taken = |build: fn(&mut Script)| {
        told(holders::check, |s| {
            let (state_id, holding) = (id(1), locked());
            s.log(What::Held { life: life(5), client: NOBODY, hold: 1, state_id, holding });
            build(s);
            s.done(1, lock(), gives(id(2)));
        })
    };
    assert_told(&taken(|s| s.wait(LEASE_MS * 2)), "which excludes");
    assert_eq!(taken(|s| s.log(What::Released { hold: 1 })), "fine");
    assert_eq!(taken(|s| s.log(What::Boot { remembers: true })), "fine", "NLM's locks are not reclaimed");
}

#[test]
fn a_lock_that_a_host_is_called_with_while_another_client_has_it_is_found() {
    let granted = |gives_back: bool| {
        told(holders::check, |s| {
            s.locks(0, 1);
            if gives_back {
                s.log(What::Released { hold: 1 });
            }
            let (state_id, holding) = (id(2), locked());
            s.log(What::Held { life: life(5), client: NOBODY, hold: 2, state_id, holding });
        })
    };
    assert_told(&granted(false), "is granted");
    assert_eq!(granted(true), "fine");
}

#[test]
fn incomplete_reclaim_may_lose_all_at_a_restart() {
    let what = told(holders::check, |s| {
        s.connect(0, 1);
        s.locks(0, 1);
        s.log(What::Boot { remembers: true });
        s.done(1, lock(), gives(id(2)));
    });
    assert_eq!(what, "fine");
}

#[test]
fn conflicting_grants_are_detected() {
    // Both are answered before either knows.
    let what = told(holders::check, |s| {
        s.done(0, lock(), gives(id(1)));
        s.done(1, lock(), gives(id(2)));
        s.held(0, 1, id(1), locked());
        s.held(1, 2, id(2), locked());
    });
    assert_told(&what, "has Lock");
}

#[test]
fn an_open_that_somebody_else_denies_must_not_be_given() {
    let opens = |access, deny| {
        told(holders::check, |s| {
            let holding =
                Holding::Share { file: "f".into(), owner: 0, access: share::READ, deny: share::WRITE };
            s.done(0, open(share::READ, share::WRITE), gives(id(1)));
            s.held(0, 1, id(1), holding);
            s.done(1, open(access, deny), gives(id(2)));
        })
    };
    assert_eq!(opens(share::READ, 0), "fine");
    assert_told(&opens(share::WRITE, 0), "which excludes");
    assert_told(&opens(share::READ, share::READ), "which excludes");
}

#[test]
fn an_open_that_its_own_owner_denies_must_not_be_given() {
    let opens = |access, deny| {
        told(holders::check, |s| {
            let holding =
                Holding::Share { file: "f".into(), owner: 0, access: share::READ, deny: share::WRITE };
            s.done(0, open(share::READ, share::WRITE), gives(id(1)));
            s.held(0, 1, id(1), holding);
            s.done(0, open(access, deny), gives(id(1)));
        })
    };
    assert_eq!(opens(share::READ, share::WRITE), "fine");
    assert_told(&opens(share::WRITE, 0), "excludes");
    assert_told(&opens(share::READ, share::READ), "excludes");
}

#[test]
fn use_of_state_granted_elsewhere_is_detected() {
    let late = |action: Action, outcome: Outcome| {
        told(holders::check, |s| {
            s.locks(0, 1);
            s.wait(LEASE_MS);
            s.locks(1, 2);
            let tag = s.asked(0, action);
            s.answer(tag, outcome);
        })
    };
    let done = || Outcome::Done(Done::default());
    assert_eq!(late(write(id(1), 1, 7), Outcome::Failed(Status::BadStateId)), "fine");
    assert_told(&late(write(id(1), 1, 7), done()), "succeeds with what is void");
    assert_told(&late(unlock(id(1)), done()), "succeeds with what is void");
    let after_restart = told(holders::check, |s| {
        s.locks(0, 1);
        s.log(What::Boot { remembers: true });
        s.done(0, write(id(1), 1, 7), Done::default());
    });
    assert_told(&after_restart, "succeeds with what is void");
}

#[test]
fn held_state_must_be_known_to_the_server() {
    let told_bad = |build: fn(&mut Script)| {
        told(holders::check, |s| {
            s.locks(0, 1);
            build(s);
            s.failed(0, write(id(1), 1, 7), Status::BadStateId);
        })
    };
    assert_told(&told_bad(|_| ()), "though there is");
    assert_eq!(told_bad(|s| s.log(What::Boot { remembers: true })), "fine");
    assert_eq!(told_bad(|s| s.log(What::Released { hold: 1 })), "fine");
}

#[test]
fn delegation_is_recalled_and_given_time_before_others_write() {
    let writer = |waits: u64| {
        told(holders::check, |s| {
            s.delegated(0, 1);
            s.failed(1, open(share::BOTH, 0), Status::Delay);
            s.wait(waits);
            s.done(0, Action::Nothing, Done::default());
            s.done(1, open(share::BOTH, 0), gives(id(2)));
        })
    };
    assert_told(&writer(LIMITS.recall_ms - 1000), "which excludes");
    assert_eq!(writer(LIMITS.recall_ms), "fine");
}

#[test]
fn memory_that_is_out_of_date_is_found() {
    let remembers = |value| {
        told(holders::check, |s| {
            s.done(0, write(id(3), 1, 7), Done::default());
            s.delegated(0, 1);
            s.log(What::ReadMemory { hold: 1, cell: cell(), value });
        })
    };
    assert_eq!(remembers(1), "fine");
    assert_told(&remembers(0), "has it as 0");
}

#[test]
fn reclaim_of_state_granted_elsewhere_is_detected() {
    let takes_back = |between: fn(&mut Script)| {
        told(holders::check, |s| {
            s.locks(0, 1);
            between(s);
            s.log(What::Boot { remembers: true });
            s.done(0, relock(), gives(id(3)));
        })
    };
    assert_eq!(takes_back(|_| ()), "fine");
    let lost = |s: &mut Script| {
        s.wait(LEASE_MS);
        s.locks(1, 2);
        s.done(1, unlock(id(2)), Done::default());
        s.log(What::Released { hold: 2 });
    };
    assert_told(&takes_back(lost), "takes back");
}

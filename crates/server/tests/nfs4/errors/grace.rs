//! What is refused while clients reclaim, and what is refused to those that reclaim.

use proto::nfs4::attributes::AttributeValues;
use proto::nfs4::*;

use super::arguments::{lock, put, set, write};
use super::lab::{Lab, Options};
use super::ledger::{Ledger, Step, step};
use crate::peer::{Peer, open};

pub fn run(ledger: &Ledger) {
    nothing_new_in_the_grace_period(ledger);
    delegations_of_a_life_before(ledger);
    reclaim_of_a_lock_that_was_not_held_fails(ledger);
    reclaim_of_a_lock_of_another_client_fails(ledger);
}

/// A lab in its grace period, which waits for a client called `client 5`.
fn lab(ledger: &Ledger) -> Lab<'_> {
    Lab::with(ledger, &Options { known: vec!["client 5"], ..Options::default() })
}

fn nothing_new_in_the_grace_period(ledger: &Ledger) {
    let mut lab = lab(ledger);
    let anonymous = StateId::ANONYMOUS;
    let file = put(&lab.scene.file);
    let cut = AttributeValues { size: Some(0), ..Default::default() };
    for last in [
        step(Operation::Read, &ReadArgs { state_id: anonymous, offset: 0, count: 1 }),
        step(Operation::Write, &write(anonymous, 0)),
        set(anonymous, &cut),
        step(Operation::Lock, &lock(anonymous, "me", 0, 1)),
    ] {
        lab.expect(&[file.clone(), last], Status::Grace);
    }
    for operation in [
        Operation::LockT,
        Operation::Link,
        Operation::Open,
        Operation::Remove,
        Operation::Rename,
        Operation::WantDelegation,
    ] {
        let steps = lab.scene.good(operation);
        lab.expect(&steps, Status::Grace);
    }
}

/// Delegations do not survive a client's restart.
fn delegations_of_a_life_before(ledger: &Ledger) {
    let mut lab = Lab::new(ledger);
    let (want, claim) = (share::WANT_READ_DELEGATION, DelegationClaim::PreviousHandle);
    let asked = step(Operation::WantDelegation, &WantDelegationArgs { want, claim });
    let file = put(&lab.scene.file);
    lab.expect(&[file, asked], Status::NotSupported);
}

/// A client that has not said yet that it is done reclaiming.
fn reclaiming(lab: &Lab<'_>, owner: &str) -> Peer {
    let mut peer = Peer::stranger(&lab.server, 5, 0);
    let exchanged = peer.exchange_id(owner, 1).unwrap();
    peer.client = exchanged.client;
    peer.create_session(exchanged.sequence).unwrap();
    peer
}

fn reclaim(access: u32, deny: u32) -> Step {
    let claim = OpenClaim::Previous(DelegationType::None);
    step(Operation::Open, &OpenArgs { claim, share_deny: deny, ..open("", access, None) })
}

fn reclaim_lock(open: StateId) -> Step {
    step(Operation::Lock, &LockArgs { reclaim: true, ..lock(open, "me", 0, 1) })
}

fn reclaim_delegation() -> Step {
    let claim = DelegationClaim::Previous(DelegationType::Write);
    step(Operation::WantDelegation, &WantDelegationArgs { want: 0, claim })
}

fn reclaim_of_a_lock_that_was_not_held_fails(ledger: &Ledger) {
    let over = Lab::new(ledger);
    let mut late = reclaiming(&over, "client 5");
    let file = put(&over.scene.file);
    for last in [reclaim(share::READ, 0), reclaim_lock(over.scene.open), reclaim_delegation()] {
        assert_eq!(ledger.run(&mut late, &[file.clone(), last]).status, Status::NoGrace);
    }
    let lab = lab(ledger);
    let mut unknown = reclaiming(&lab, "client 6");
    let file = put(&lab.scene.file);
    for last in [reclaim(share::READ, 0), reclaim_lock(over.scene.open), reclaim_delegation()] {
        assert_eq!(ledger.run(&mut unknown, &[file.clone(), last]).status, Status::ReclaimBad);
    }
}

fn reclaim_of_a_lock_of_another_client_fails(ledger: &Ledger) {
    let lab = Lab::with(ledger, &Options { known: vec!["client 5", "client 6"], ..Options::default() });
    let [mut first, mut second] = ["client 5", "client 6"].map(|owner| reclaiming(&lab, owner));
    let file = put(&lab.scene.file);
    let opened = |peer: &mut Peer| {
        let mut results = ledger.run(peer, &[file.clone(), reclaim(share::BOTH, 0)]).sequenced();
        results.ok(Operation::PutFh);
        results.body::<OpenResult>(Operation::Open).state_id
    };
    let opens = [opened(&mut first), opened(&mut second)];
    let locked = ledger.run(&mut first, &[file.clone(), reclaim_lock(opens[0])]);
    assert_eq!(locked.status, Status::Ok);
    let denied = ledger.run(&mut second, &[file.clone(), reclaim_delegation()]);
    assert_eq!(denied.status, Status::ReclaimConflict);
    let denied = ledger.run(&mut second, &[file.clone(), reclaim_lock(opens[1])]);
    assert_eq!(denied.status, Status::ReclaimConflict);
    let other = put(&lab.scene.locked);
    assert_eq!(
        ledger.run(&mut first, &[other.clone(), reclaim(share::BOTH, share::BOTH)]).status,
        Status::Ok
    );
    let denied = ledger.run(&mut second, &[other, reclaim(share::READ, 0)]);
    assert_eq!(denied.status, Status::ReclaimConflict);
}

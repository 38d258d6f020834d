//! Statuses that most operations can end with, whatever they do.

use proto::nfs4::*;

use super::kinds::KINDS;
use super::lab::{Lab, expect};
use super::ledger::{Ledger, Step, step};
use super::table::table;
use crate::peer::Peer;

/// The operations of the table that run in a session.
fn in_session(ledger: &Ledger) -> Vec<Operation> {
    let outside = [Operation::Sequence, Operation::BindConnToSession];
    ledger.operations().into_iter().filter(|operation| !outside.contains(operation)).collect()
}

pub fn run(ledger: &Ledger) {
    the_table_is_complete(ledger.minor_version);
    every_operation_succeeds_as_it_should(ledger);
    arguments_end_too_early(ledger);
    no_file_handle_is_set(ledger);
    a_session_is_missing_or_in_the_wrong_place(ledger);
    the_reply_has_no_room(ledger);
    a_retry_finds_no_reply(ledger);
    every_call_of_the_back_end_fails(ledger);
}

/// An operation that is missing in the table is one that the server does not have.
fn the_table_is_complete(minor_version: u32) {
    let (table, elsewhere) = (table(), Ledger::new(minor_version));
    let mut lab = Lab::new(&elsewhere);
    for operation in Operation::ALL.iter().filter(|operation| !table.contains_key(operation)) {
        let is_known = operation.since_minor_version() <= minor_version;
        let status = if is_known { Status::NotSupported } else { Status::IllegalOperation };
        lab.expect(&[step(*operation, &())], status);
    }
}

fn every_operation_succeeds_as_it_should(ledger: &Ledger) {
    for operation in in_session(ledger) {
        let mut lab = Lab::new(ledger);
        let steps = lab.scene.good(operation);
        lab.expect(&steps, Status::Ok);
    }
}

fn arguments_end_too_early(ledger: &Ledger) {
    for operation in in_session(ledger) {
        let mut lab = Lab::new(ledger);
        let mut steps = lab.scene.good(operation);
        let last = steps.last_mut().unwrap();
        if last.arguments.pop().is_none() {
            continue;
        }
        lab.expect(&steps, Status::BadXdr);
    }
    let lab = Lab::new(ledger);
    for operation in [Operation::Sequence, Operation::BindConnToSession] {
        let steps = [Step { operation, arguments: vec![0; 8] }];
        assert_eq!(ledger.bare(&lab.peer, &steps).status, Status::BadXdr);
    }
}

fn no_file_handle_is_set(ledger: &Ledger) {
    for operation in in_session(ledger) {
        let mut lab = Lab::new(ledger);
        let last = lab.scene.good(operation).pop().unwrap();
        let results = lab.run(&[last]);
        assert!(
            matches!(results.status, Status::Ok | Status::NoFileHandle),
            "{operation}: {}",
            results.status
        );
    }
}

fn a_session_is_missing_or_in_the_wrong_place(ledger: &Ledger) {
    for operation in in_session(ledger) {
        let lab = Lab::new(ledger);
        let last = lab.scene.good(operation).pop().unwrap();
        ledger.bare(&lab.peer, std::slice::from_ref(&last));
        ledger.bare(&lab.peer, &[last.clone(), last]);
    }
    let mut lab = Lab::new(ledger);
    let bind = lab.scene.good(Operation::BindConnToSession);
    lab.expect(&bind, Status::NotOnlyOperation);
    let again = step(Operation::Sequence, &lab.peer.sequence_args(1, false));
    lab.expect(&[again], Status::SequencePosition);
}

/// A session of the lab's first client whose replies are bounded.
fn narrow_session(lab: &Lab<'_>, response_bytes_max: u32, cached_response_bytes_max: u32) -> SessionId {
    let channel = ChannelAttributes {
        response_bytes_max,
        cached_response_bytes_max,
        requests_max: 64,
        ..Peer::channel()
    };
    let arguments = CreateSessionArgs {
        client: lab.peer.client,
        sequence: SequenceId(2),
        fore_channel: channel,
        ..lab.scene.create_session()
    };
    let results = lab.ledger.bare(&lab.peer, &[step(Operation::CreateSession, &arguments)]);
    assert_eq!(results.status, Status::Ok);
    let mut results = results;
    results.body::<CreateSessionResult>(Operation::CreateSession).session
}

fn the_reply_has_no_room(ledger: &Ledger) {
    let lab = Lab::new(ledger);
    let session = narrow_session(&lab, 512, 512);
    // With the RPC head, the head of the reply and SEQUENCE's result it fills 512 bytes.
    let tag = [b't'; 432];
    for (slot, operation) in in_session(ledger).into_iter().enumerate() {
        let last = lab.scene.good(operation).pop().unwrap();
        let sequence =
            SequenceArgs { session, slot: SlotId(slot as u32), ..lab.peer.sequence_args(1, false) };
        let steps = [step(Operation::Sequence, &sequence), last];
        let results = ledger.tagged(&lab.peer, &tag, &steps);
        expect(&steps[1..], &results, Status::ReplyTooBig);
    }
    sequence_itself_has_no_room(&lab, session);
    let lab = Lab::new(ledger);
    let session = narrow_session(&lab, 8192, 512);
    for (slot, operation) in in_session(ledger).into_iter().enumerate() {
        let last = lab.scene.good(operation).pop().unwrap();
        let slot = SlotId(slot as u32);
        let sequence = SequenceArgs { session, slot, ..lab.peer.sequence_args(1, true) };
        let steps = [step(Operation::Sequence, &sequence), last];
        let results = ledger.tagged(&lab.peer, &tag, &steps);
        expect(&steps[1..], &results, Status::ReplyTooBigToCache);
    }
    sequence_itself_has_no_room(&lab, session);
}

/// A tag comes back in the reply, and may be longer than the session allows.
fn sequence_itself_has_no_room(lab: &Lab<'_>, session: SessionId) {
    let slot = SlotId(63);
    let sequence = SequenceArgs { session, slot, ..lab.peer.sequence_args(1, true) };
    let results = lab.ledger.tagged(&lab.peer, &[b't'; 500], &[step(Operation::Sequence, &sequence)]);
    assert!(matches!(results.status, Status::ReplyTooBig | Status::ReplyTooBigToCache), "{}", results.status);
    // The slot is as it was.
    let again = lab.ledger.bare(&lab.peer, &[step(Operation::Sequence, &sequence)]);
    assert_eq!(again.status, Status::Ok);
}

fn a_retry_finds_no_reply(ledger: &Ledger) {
    for operation in in_session(ledger) {
        let lab = Lab::new(ledger);
        let last = lab.scene.good(operation).pop().unwrap();
        let sequence =
            step(Operation::Sequence, &lab.peer.sequence_args(lab.peer.last_sequence() + 1, false));
        let steps = [sequence, last];
        ledger.bare(&lab.peer, &steps);
        let results = ledger.bare(&lab.peer, &steps);
        expect(&steps[1..], &results, Status::RetryUncachedReply);
    }
}

/// Each call that an operation makes fails in turn, in every way that it can.
fn every_call_of_the_back_end_fails(ledger: &Ledger) {
    for operation in in_session(ledger) {
        let mut lab = Lab::new(ledger);
        let steps = lab.scene.good(operation);
        lab.trigger.take_calls();
        lab.run(&steps);
        let calls = lab.trigger.take_calls();
        for kind in KINDS {
            for skip in 0..calls.iter().filter(|call| kind.meets(call)).count() {
                let mut lab = Lab::new(ledger);
                let steps = lab.scene.good(operation);
                lab.trigger.arm(kind, skip);
                lab.run(&steps);
                assert!(lab.trigger.has_fired(), "{operation}");
            }
        }
    }
}

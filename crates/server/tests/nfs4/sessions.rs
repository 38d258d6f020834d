//! Sessions and exactly-once (RFC 8881 §2.10, §18.34 – §18.37, §18.46).

use std::sync::Arc;

use futures_util::FutureExt;
use proto::nfs4::*;
use testkit::records::{Change, MemoryRecords, Outcome};

use crate::peer::{Peer, TestServer, open, size_only};

fn create_args(name: &str) -> OpenArgs {
    open(name, share::BOTH, Some(CreateHow::Guarded(attributes::AttributeValues::default())))
}

#[test]
fn a_cached_reply_is_replayed_byte_for_byte_and_the_request_runs_once() {
    let peer = Peer::new(&TestServer::new(), 1);
    let build = |c: &mut CompoundBuilder<'_>| {
        c.push(Operation::PutRootFh, &()).push(Operation::Open, &create_args("f"));
    };
    let first = peer.with_sequence(1, true, build);
    assert_eq!(first.status, Status::Ok);
    for _ in 0..2 {
        // Run again, a guarded create would find the file.
        assert_eq!(peer.with_sequence(1, true, build).bytes, first.bytes);
    }
    let other = peer.with_sequence(1, true, |c| {
        c.push(Operation::PutRootFh, &()).push(Operation::Open, &create_args("g"));
    });
    assert_eq!((other.status, other.count), (Status::SequenceFalseRetry, 1));
}

#[test]
fn retry_with_other_data_however_late_or_of_another_user_is_false_retry() {
    let server = TestServer::new();
    let mut peer = Peer::new(&server, 1);
    let (object, state_id) = peer.create("f");
    let write = |data: Vec<u8>| {
        let object = object.clone();
        move |c: &mut CompoundBuilder<'_>| {
            let arguments = WriteArgs { state_id, offset: 0, stable: StableHow::FileSync, data: data.into() };
            c.push(Operation::PutFh, &PutFhArgs { object }).push(Operation::Write, &arguments);
        }
    };
    let data = vec![7; 100_000];
    let sequence = peer.last_sequence() + 1;
    let first = peer.with_sequence(sequence, true, write(data.clone()));
    assert_eq!(first.status, Status::Ok);
    let mut other = data.clone();
    other[99_999] = 8;
    let results = peer.with_sequence(sequence, true, write(other));
    assert_eq!((results.status, results.count), (Status::SequenceFalseRetry, 1));
    let user = peer.over(1, 1000);
    let results = user.with_sequence(sequence, true, write(data.clone()));
    assert_eq!((results.status, results.count), (Status::SequenceFalseRetry, 1));
    // Over another connection it is the same request.
    assert_eq!(peer.over(2, 0).with_sequence(sequence, true, write(data)).bytes, first.bytes);
}

#[test]
fn a_create_that_must_wait_makes_nothing() {
    let mut peer = Peer::stranger(&TestServer::new(), 1, 0);
    let exchanged = peer.exchange_id("early", 1).unwrap();
    peer.client = exchanged.client;
    peer.create_session(exchanged.sequence).unwrap();
    let mut create = || {
        peer.compound(|c| {
            c.push(Operation::PutRootFh, &()).push(Operation::Open, &create_args("f"));
        })
        .status
    };
    assert_eq!(create(), Status::Grace, "RFC 8881 §18.51.3");
    assert_eq!(peer.reclaim_complete(), Status::Ok);
    peer.create("f");
}

#[test]
fn retry_without_kept_reply_is_retry_uncached_rep_after_sequence() {
    let peer = Peer::new(&TestServer::new(), 1);
    let build = |c: &mut CompoundBuilder<'_>| {
        c.push(Operation::PutRootFh, &()).push(Operation::GetAttr, &GetAttrArgs { wanted: size_only() });
    };
    assert_eq!(peer.with_sequence(1, false, build).status, Status::Ok);
    let mut again = peer.with_sequence(1, false, build);
    assert_eq!((again.status, again.count), (Status::RetryUncachedReply, 2));
    again.body::<SequenceResult>(Operation::Sequence);
    assert_eq!(again.next(), (Operation::PutRootFh.number(), Status::RetryUncachedReply));
    // A SEQUENCE alone can be answered anew.
    assert_eq!(peer.with_sequence(2, false, |_| {}).status, Status::Ok);
    assert_eq!(peer.with_sequence(2, false, |_| {}).status, Status::Ok);
}

#[test]
fn uncached_request_knows_false_retries_by_user_and_length() {
    let peer = Peer::new(&TestServer::new(), 1);
    let root_and = |operation: Operation| {
        move |c: &mut CompoundBuilder<'_>| {
            c.push(Operation::PutRootFh, &()).push(operation, &());
        }
    };
    assert_eq!(peer.with_sequence(1, false, root_and(Operation::GetFh)).status, Status::Ok);
    // There is nothing to give back wrongly (RFC 8881 §2.10.6.1.3).
    let other = peer.with_sequence(1, false, root_and(Operation::SaveFh));
    assert_eq!((other.status, other.count), (Status::RetryUncachedReply, 2));
    let longer = peer.with_sequence(1, false, |c| {
        root_and(Operation::GetFh)(c);
        c.push(Operation::SaveFh, &());
    });
    assert_eq!((longer.status, longer.count), (Status::SequenceFalseRetry, 1));
    let another = peer.over(1, 1000).with_sequence(1, false, root_and(Operation::GetFh));
    assert_eq!((another.status, another.count), (Status::SequenceFalseRetry, 1));
    assert_eq!(peer.with_sequence(2, false, root_and(Operation::GetFh)).status, Status::Ok);
}

#[test]
fn a_retry_may_differ_in_whether_it_wants_its_reply_kept() {
    let peer = Peer::new(&TestServer::new(), 1);
    let create = |name: &'static str| {
        move |c: &mut CompoundBuilder<'_>| {
            c.push(Operation::PutRootFh, &()).push(Operation::Open, &create_args(name));
        }
    };
    let kept = peer.with_sequence(1, true, create("f"));
    assert_eq!(kept.status, Status::Ok);
    assert_eq!(peer.with_sequence(1, false, create("f")).bytes, kept.bytes);
    assert_eq!(peer.with_sequence(1, false, create("g")).status, Status::SequenceFalseRetry);
    assert_eq!(peer.with_sequence(2, false, create("h")).status, Status::Ok);
    let again = peer.with_sequence(2, true, create("h"));
    assert_eq!((again.status, again.count), (Status::RetryUncachedReply, 2));
}

#[test]
fn sequences_and_slots_out_of_bounds_are_refused() {
    let peer = Peer::new(&TestServer::new(), 1);
    assert_eq!(peer.with_sequence(2, false, |_| {}).status, Status::SequenceMisordered);
    let status = |arguments: SequenceArgs| {
        peer.send(1, |c| {
            c.push(Operation::Sequence, &arguments);
        })
        .status
    };
    let good = peer.sequence_args(1, false);
    assert_eq!(status(SequenceArgs { slot: SlotId(4), ..good.clone() }), Status::BadSlot);
    assert_eq!(status(SequenceArgs { highest_slot: SlotId(4), ..good.clone() }), Status::BadHighSlot);
    let both = SequenceArgs { slot: SlotId(4), highest_slot: SlotId(4), ..good.clone() };
    assert_eq!(status(both), Status::BadSlot);
    assert_eq!(status(SequenceArgs { session: SessionId([9; 16]), ..good.clone() }), Status::BadSession);
    assert_eq!(status(good), Status::Ok);
}

#[test]
fn operations_stand_where_they_may() {
    let mut peer = Peer::new(&TestServer::new(), 1);
    let alone = peer.send(1, |c| {
        c.push(Operation::PutRootFh, &());
    });
    assert_eq!(alone.status, Status::OperationNotInSession);
    let sequence = peer.sequence_args(9, false);
    let twice = peer.compound(|c| {
        c.push(Operation::Sequence, &sequence);
    });
    assert_eq!((twice.status, twice.count), (Status::SequencePosition, 2));
    let session = peer.session;
    let not_alone = peer.send(1, |c| {
        c.push(Operation::DestroySession, &DestroySessionArgs { session }).push(Operation::PutRootFh, &());
    });
    assert_eq!((not_alone.status, not_alone.count), (Status::NotOnlyOperation, 1));
    let own_not_last = peer.compound(|c| {
        c.push(Operation::DestroySession, &DestroySessionArgs { session }).push(Operation::PutRootFh, &());
    });
    assert_eq!(own_not_last.status, Status::NotOnlyOperation);
    let own_last = peer.compound(|c| {
        c.push(Operation::DestroySession, &DestroySessionArgs { session });
    });
    assert_eq!(own_last.status, Status::Ok);
    assert_eq!(peer.with_sequence(9, false, |_| {}).status, Status::BadSession);
}

#[test]
fn a_read_that_would_not_fit_is_short() {
    let mut peer = Peer::new(&TestServer::new(), 1);
    let (file, state_id) = peer.create("f");
    // A READ that would not fit is short, not an error.
    let data = vec![7u8; 200_000];
    let write = WriteArgs { state_id, offset: 0, stable: StableHow::FileSync, data: data.into() };
    assert_eq!(peer.on(&file, Operation::Write, &write).status, Status::Ok);
    let mut read = peer.on(&file, Operation::Read, &ReadArgs { state_id, offset: 0, count: 200_000 });
    assert!(read.bytes.len() <= 1 << 16);
    let read: ReadResult = read.body(Operation::Read);
    assert!(!read.eof && read.data.len() > 60_000);
}

#[test]
fn a_client_is_destroyed_when_nothing_is_left() {
    let server = TestServer::new();
    let mut peer = Peer::new(&server, 1);
    assert_eq!(
        peer.compound(|c| {
            c.push(Operation::ReclaimComplete, &ReclaimCompleteArgs { one_fs: false });
        })
        .status,
        Status::CompleteAlready
    );
    let client = DestroyClientIdArgs { client: peer.client };
    let destroy = |peer: &Peer| {
        peer.send(1, |c| {
            c.push(Operation::DestroyClientId, &client);
        })
        .status
    };
    assert_eq!(destroy(&peer), Status::ClientIdBusy);
    let session = DestroySessionArgs { session: peer.session };
    assert_eq!(
        peer.send(1, |c| {
            c.push(Operation::DestroySession, &session);
        })
        .status,
        Status::Ok
    );
    assert_eq!(destroy(&peer), Status::Ok);
    assert_eq!(destroy(&peer), Status::StaleClientId);
}

#[test]
fn a_silent_client_that_cannot_be_expelled_is_waited_for_in_peace() {
    let records = MemoryRecords::new();
    records.set_outcome(Change::RemoveClient, Outcome::Failed);
    let server = TestServer::with_records(Arc::new(records));
    let mut silent = Peer::new(&server, 1);
    silent.create("f");
    server.world.advance(91_000);
    let mut other = Peer::new(&server, 2);
    let denying = OpenArgs { share_deny: share::BOTH, ..open("f", share::READ, None) };
    let held = other.begin(|c| {
        c.push(Operation::PutRootFh, &()).push(Operation::Open, &denying);
    });
    assert!(held.now_or_never().is_none(), "held, and not trying all the time");
}

#[test]
fn expulsion_goes_on_when_the_request_that_began_it_is_cancelled() {
    let records = MemoryRecords::new();
    records.plan(Change::RemoveClient, &[Outcome::Lost]);
    let server = TestServer::with_records(Arc::new(records));
    let mut silent = Peer::new(&server, 1);
    silent.create("f");
    let client = Arc::clone(server.state.session(silent.sequence_args(1, false).session).unwrap().client());
    server.world.advance(91_000);
    let mut other = Peer::new(&server, 2);
    let denying = OpenArgs { share_deny: share::BOTH, ..open("f", share::READ, None) };
    let build = |c: &mut CompoundBuilder<'_>| {
        c.push(Operation::PutRootFh, &()).push(Operation::Open, &denying);
    };
    assert!(other.begin(build).now_or_never().is_none(), "waits for the removal, and is dropped");
    assert!(client.has_state());
    server.recaller.tick().now_or_never().expect("nothing waits any more");
    assert!(!client.has_state(), "no later conflict is needed");
    assert_eq!(other.compound(build).status, Status::Ok);
}

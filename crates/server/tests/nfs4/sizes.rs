//! How long requests and replies may be (RFC 8881 §2.10.6.4), and what is kept of a reply (§2.10.6.1.3).

use futures_util::FutureExt;
use proto::nfs4::*;
use testkit::runtime::SleepEnd;

use crate::peer::{Peer, Results, TestServer, open, size_only};

/// What the RPC head adds to the bytes of a reply.
const REPLY_HEAD: u32 = 24;

fn attributes(peer: &Peer, sequence: u32, cache_this: bool) -> Results {
    peer.with_sequence(sequence, cache_this, |c| {
        c.push(Operation::PutRootFh, &());
        for _ in 0..30 {
            c.push(Operation::GetAttr, &GetAttrArgs { wanted: size_only() });
        }
    })
}

fn wide() -> ChannelAttributes {
    ChannelAttributes { operations_max: 64, cached_response_bytes_max: 1 << 16, ..Peer::channel() }
}

fn create(name: &str) -> OpenArgs {
    open(name, share::BOTH, Some(CreateHow::Guarded(attributes::AttributeValues::default())))
}

#[test]
fn reply_of_maximum_length_is_sent_and_longer_is_rep_too_big() {
    let full = attributes(&Peer::new(&TestServer::new(), 1).with_channel(wide()), 1, false);
    assert_eq!((full.status, full.count), (Status::Ok, 32));
    let length = full.bytes.len() as u32 + REPLY_HEAD;
    for (response_bytes_max, status) in [(length, Status::Ok), (length - 1, Status::ReplyTooBig)] {
        let fore = ChannelAttributes { response_bytes_max, ..wide() };
        let results = attributes(&Peer::new(&TestServer::new(), 1).with_channel(fore), 1, false);
        assert_eq!((results.status, results.count), (status, 32));
        assert!(results.bytes.len() as u32 + REPLY_HEAD <= response_bytes_max);
    }
}

#[test]
fn reply_too_big_to_cache_is_kept_up_to_the_refused_operation() {
    let full = attributes(&Peer::new(&TestServer::new(), 1).with_channel(wide()), 1, true);
    let length = full.bytes.len() as u32 + REPLY_HEAD;
    let fore = ChannelAttributes { cached_response_bytes_max: length - 1, ..wide() };
    let peer = Peer::new(&TestServer::new(), 1).with_channel(fore);
    let first = attributes(&peer, 1, true);
    assert_eq!((first.status, first.count), (Status::ReplyTooBigToCache, 32));
    assert_eq!(attributes(&peer, 1, true).bytes, first.bytes);
    assert_eq!(attributes(&peer, 2, false).status, Status::Ok, "which is not to be kept");
}

#[test]
fn change_is_refused_when_its_result_may_not_fit() {
    for (cache_this, status) in [(false, Status::ReplyTooBig), (true, Status::ReplyTooBigToCache)] {
        let bytes = 512;
        let fore = if cache_this {
            ChannelAttributes { cached_response_bytes_max: bytes, ..wide() }
        } else {
            ChannelAttributes { response_bytes_max: bytes, ..wide() }
        };
        let peer = Peer::new(&TestServer::new(), 1).with_channel(fore);
        let results = peer.with_sequence(1, cache_this, |c| {
            c.push(Operation::PutRootFh, &());
            for _ in 0..8 {
                c.push(Operation::GetAttr, &GetAttrArgs { wanted: size_only() });
            }
            c.push(Operation::Open, &create("f")).push(Operation::GetFh, &());
        });
        assert_eq!((results.status, results.count), (status, 11));
        let found = peer.with_sequence(2, false, |c| {
            c.push(Operation::PutRootFh, &()).push(Operation::Lookup, &LookupArgs { name: "f".into() });
        });
        assert_eq!(found.status, Status::NoEntry);
    }
}

#[test]
fn a_reply_that_not_even_sequence_fits_in_changes_no_slot() {
    let fore = ChannelAttributes { cached_response_bytes_max: 64, ..wide() };
    let peer = Peer::new(&TestServer::new(), 1).with_channel(fore);
    let results = peer.with_sequence(1, true, |_| {});
    assert_eq!((results.status, results.count), (Status::ReplyTooBigToCache, 1));
    assert_eq!(peer.with_sequence(1, false, |_| {}).status, Status::Ok);
}

#[test]
fn request_of_maximum_length_is_taken_and_longer_is_req_too_big() {
    let fore = ChannelAttributes { request_bytes_max: 512, ..wide() };
    let peer = Peer::new(&TestServer::new(), 1).with_channel(fore);
    // 12 for tag, minor version and count; 36 for SEQUENCE; 4 and 4 for LOOKUP, 4 for PUTROOTFH.
    let looked_up = |sequence, length| {
        peer.with_sequence(sequence, false, |c| {
            c.push(Operation::PutRootFh, &());
            c.push(Operation::Lookup, &LookupArgs { name: vec![b'n'; length].into() });
        })
    };
    let fitting = 512 - 12 - 36 - 4 - 4 - 4;
    let results = looked_up(1, fitting + 4);
    assert_eq!((results.status, results.count), (Status::RequestTooBig, 1));
    assert_eq!(looked_up(1, fitting).status, Status::NameTooLong, "the slot was not used");
}

#[test]
fn granted_number_of_operations_is_taken_and_one_more_is_too_many_ops() {
    let fore = ChannelAttributes { operations_max: 8, ..wide() };
    let peer = Peer::new(&TestServer::new(), 1).with_channel(fore);
    let compound = |operations| {
        peer.with_sequence(1, false, |c| {
            for _ in 1..operations {
                c.push(Operation::PutRootFh, &());
            }
        })
    };
    let results = compound(9);
    assert_eq!((results.status, results.count), (Status::TooManyOperations, 1));
    assert_eq!((compound(8).status, compound(8).status), (Status::Ok, Status::RetryUncachedReply));
}

#[test]
fn the_operation_after_an_uncached_sequence_says_what_it_must() {
    let mut peer = Peer::new(&TestServer::new(), 1);
    let second = |peer: &mut Peer, build: &dyn Fn(&mut CompoundBuilder<'_>)| {
        let sequence = peer.last_sequence() + 1;
        peer.compound(build);
        let mut again = peer.with_sequence(sequence, false, build);
        assert_eq!(again.count, 2);
        again.body::<SequenceResult>(Operation::Sequence);
        let second = again.next();
        (second, again.rest().remaining())
    };
    let set = SetAttrArgs { state_id: StateId::ANONYMOUS };
    let values = attributes::AttributeValues { mode: Some(0o700), ..Default::default() };
    let no_bits = 4;
    let uncached = Status::RetryUncachedReply;
    assert_eq!(
        second(&mut peer, &|c| {
            c.push(Operation::SetAttr, &(set.clone(), values.clone()));
        }),
        ((Operation::SetAttr.number(), uncached), no_bits)
    );
    assert_eq!(
        second(&mut peer, &|c| {
            c.push(Operation::SetClientId, &());
        }),
        ((Operation::SetClientId.number(), Status::NotSupported), 0)
    );
    assert_eq!(
        second(&mut peer, &|c| {
            c.push(Operation::PutRootFh, &());
        }),
        ((Operation::PutRootFh.number(), uncached), 0)
    );
}

#[test]
fn retry_of_a_long_running_request_is_delayed_and_runs_once() {
    let server = TestServer::new();
    let (mut holder, mut writer) = (Peer::new(&server, 1), Peer::new(&server, 2));
    let (file, state_id) = holder.create("f");
    holder.close(&file, state_id);
    let reading = open("f", share::READ | share::WANT_ANY_DELEGATION, None);
    let mut results = holder
        .compound(|c| {
            c.push(Operation::PutRootFh, &()).push(Operation::Open, &reading);
        })
        .sequenced();
    results.ok(Operation::PutRootFh);
    let OpenDelegation::Read(delegation) = results.body::<OpenResult>(Operation::Open).delegation else {
        panic!("not delegated");
    };
    let build = |c: &mut CompoundBuilder<'_>| {
        c.push(Operation::PutRootFh, &()).push(Operation::Open, &open("f", share::BOTH, None));
    };
    let mut held = writer.begin(build);
    assert!((&mut held).now_or_never().is_none());
    let sequence = writer.last_sequence();
    server.world.set_sleep_end(SleepEnd::AtOnce);
    for connection in [2, 3] {
        let again = writer.over(connection, 0).with_sequence(sequence, false, build);
        assert_eq!((again.status, again.count), (Status::Delay, 1));
    }
    let back = DelegReturnArgs { state_id: delegation.state_id };
    assert_eq!(holder.on(&file, Operation::DelegReturn, &back).status, Status::Ok);
    assert_eq!(held.now_or_never().expect("answered").status, Status::Ok);
    assert_eq!(writer.with_sequence(sequence, false, build).status, Status::RetryUncachedReply);
}

//! CREATE_SESSION's arguments and results (RFC 8881 §18.36.3); its own slot is tested where it is kept, in
//! `state`.

use proto::nfs4::*;

use crate::peer::{Peer, TestServer};

fn confirmed() -> Peer {
    Peer::new(&TestServer::new(), 1)
}

#[test]
fn create_session_clears_flags_that_are_not_granted() {
    let mut peer = confirmed();
    let cases = [
        (0, 0),
        (session_flags::PERSIST, 0),
        (session_flags::CONN_RDMA, 0),
        (session_flags::ALL, session_flags::CONN_BACK_CHAN),
    ];
    for (sequence, (flags, granted)) in (2..).zip(cases) {
        let asked = CreateSessionArgs { flags, ..peer.create_session_args(SequenceId(sequence)) };
        let created = peer.create_session_with(&asked).unwrap();
        assert_eq!((created.flags, created.sequence), (granted, SequenceId(sequence)));
    }
}

#[test]
fn callbacks_need_a_flavor_and_gss_handles_are_unknown() {
    let mut peer = confirmed();
    let none = CreateSessionArgs { callback_security: vec![], ..peer.create_session_args(SequenceId(2)) };
    assert_eq!(peer.create_session_with(&none).unwrap().flags, 0);
    let gss = CallbackGss { service: 1, server_handle: "s".into(), client_handle: "c".into() };
    let callback_security = vec![CallbackSecurity::None, CallbackSecurity::Gss(gss)];
    let unknown = CreateSessionArgs { callback_security, ..peer.create_session_args(SequenceId(3)) };
    assert_eq!(peer.create_session_with(&unknown).unwrap_err(), Status::NoEntry);
}

#[test]
fn errors_are_kept_in_the_slot_of_the_client_id_and_repeated() {
    let mut peer = confirmed();
    let good = |peer: &Peer, sequence| peer.create_session_args(SequenceId(sequence));
    let with_fore =
        |peer: &Peer, sequence, fore_channel| CreateSessionArgs { fore_channel, ..good(peer, sequence) };
    let bad = [
        (CreateSessionArgs { flags: 8, ..good(&peer, 2) }, Status::Invalid),
        (with_fore(&peer, 3, ChannelAttributes { requests_max: 0, ..Peer::channel() }), Status::Invalid),
        (with_fore(&peer, 4, ChannelAttributes { operations_max: 0, ..Peer::channel() }), Status::Invalid),
    ];
    for (arguments, status) in bad {
        assert_eq!(peer.create_session_with(&arguments).unwrap_err(), status);
        let repaired = good(&peer, arguments.sequence.0);
        assert_eq!(peer.create_session_with(&repaired).unwrap_err(), status, "it is a retry");
    }
    for small in [
        ChannelAttributes { response_bytes_max: 64, ..Peer::channel() },
        ChannelAttributes { request_bytes_max: 64, ..Peer::channel() },
    ] {
        let asked = with_fore(&peer, 5, small);
        assert_eq!(peer.create_session_with(&asked).unwrap_err(), Status::TooSmall);
    }
    // TOOSMALL has not moved the slot.
    assert!(peer.create_session_with(&good(&peer, 5)).is_ok());
}

#[test]
fn a_session_that_little_more_than_sequence_fits_in_works() {
    let mut peer = confirmed();
    let small = ChannelAttributes {
        request_bytes_max: 256,
        response_bytes_max: 80,
        operations_max: 1,
        ..Peer::channel()
    };
    let asked = CreateSessionArgs { fore_channel: small, ..peer.create_session_args(SequenceId(2)) };
    assert_eq!(peer.create_session_with(&asked).unwrap().fore_channel.response_bytes_max, 80);
    for _ in 0..2 {
        assert_eq!(peer.compound(|_| {}).status, Status::Ok);
    }
}

#[test]
fn a_backchannel_that_can_carry_nothing_is_too_small_where_it_is_wanted() {
    let mut peer = confirmed();
    let useless = [
        ChannelAttributes { request_bytes_max: 0, ..Peer::channel() },
        ChannelAttributes { response_bytes_max: 0, ..Peer::channel() },
        ChannelAttributes { operations_max: 1, ..Peer::channel() },
        ChannelAttributes { requests_max: 0, ..Peer::channel() },
    ];
    for (sequence, back_channel) in (2..).zip(useless) {
        let asked = CreateSessionArgs { back_channel, ..peer.create_session_args(SequenceId(sequence)) };
        assert_eq!(peer.create_session_with(&asked).unwrap_err(), Status::TooSmall);
        let unwanted = CreateSessionArgs { flags: 0, ..asked };
        assert!(peer.create_session_with(&unwanted).is_ok());
    }
}

#[test]
fn the_fore_channel_is_bounded_and_the_backchannel_only_in_bytes() {
    let mut peer = confirmed();
    let huge = ChannelAttributes {
        header_pad_bytes: 64,
        request_bytes_max: u32::MAX,
        response_bytes_max: u32::MAX,
        cached_response_bytes_max: u32::MAX,
        operations_max: u32::MAX,
        requests_max: 2560,
        rdma_ird: vec![1],
    };
    let asked = CreateSessionArgs {
        fore_channel: huge.clone(),
        back_channel: huge.clone(),
        ..peer.create_session_args(SequenceId(2))
    };
    let created = peer.create_session_with(&asked).unwrap();
    for channel in [&created.fore_channel, &created.back_channel] {
        assert_eq!((channel.header_pad_bytes, &channel.rdma_ird[..]), (0, &[][..]));
        assert!(channel.request_bytes_max < 2 << 20 && channel.response_bytes_max < 2 << 20);
        assert!(channel.cached_response_bytes_max <= 16 << 10);
    }
    assert_eq!((created.fore_channel.operations_max, created.fore_channel.requests_max), (256, 2560));
    assert_eq!((created.back_channel.operations_max, created.back_channel.requests_max), (u32::MAX, 2560));
}

#[test]
fn a_retry_gets_the_same_bytes_over_any_connection_in_a_session_or_not() {
    let mut peer = confirmed();
    let asked = peer.create_session_args(SequenceId(2));
    let create = |peer: &Peer| {
        peer.send(1, |c| {
            c.push(Operation::CreateSession, &asked);
        })
    };
    let first = create(&peer);
    assert_eq!(first.status, Status::Ok);
    assert_eq!(create(&peer).bytes, first.bytes);
    assert_eq!(create(&peer.over(9, 0)).bytes, first.bytes);
    let mut inside = peer
        .compound(|c| {
            c.push(Operation::CreateSession, &asked);
        })
        .sequenced();
    let created: CreateSessionResult = inside.body(Operation::CreateSession);
    assert_eq!(created.sequence, SequenceId(2));
    assert!(first.bytes.windows(16).any(|bytes| bytes == created.session.0));
}

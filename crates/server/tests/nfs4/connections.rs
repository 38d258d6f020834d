//! Sessions over several connections, and what becomes of callbacks when one is lost (RFC 8881 §2.10.3.1,
//! §18.33, §18.34, §18.46.3).

use proto::nfs4::*;
use rpc::Credential;

use crate::peer::{Peer, TestServer, open};

const PATHS: u32 = sequence_flags::CB_PATH_DOWN | sequence_flags::CB_PATH_DOWN_SESSION;

fn bind(peer: &Peer, direction: DirectionFromClient) -> Result<DirectionFromServer, Status> {
    let arguments = BindConnToSessionArgs { session: peer.session, direction, rdma: false };
    let mut results = peer.send(1, |c| {
        c.push(Operation::BindConnToSession, &arguments);
    });
    if results.status != Status::Ok {
        return Err(results.status);
    }
    let bound: BindConnToSessionResult = results.body(Operation::BindConnToSession);
    assert_eq!((bound.session, bound.rdma), (peer.session, false));
    Ok(bound.direction)
}

/// The flags in the result of a lone SEQUENCE.
fn flags(peer: &mut Peer) -> u32 {
    peer.compound(|_| {}).body::<SequenceResult>(Operation::Sequence).status_flags
}

#[test]
fn a_connection_is_bound_as_the_table_has_it() {
    use DirectionFromClient as Asked;
    use DirectionFromServer as Given;
    let invalid = Err(Status::Invalid);
    // What the connection has already: nothing, requests, callbacks, both.
    let rows = [
        (Asked::Fore, [Ok(Given::Fore), Ok(Given::Fore), invalid, invalid]),
        (Asked::Back, [Ok(Given::Back), invalid, Ok(Given::Back), invalid]),
        (Asked::ForeOrBoth, [Ok(Given::Both); 4]),
        (Asked::BackOrBoth, [Ok(Given::Both); 4]),
    ];
    for (asked, outcomes) in rows {
        for (index, outcome) in outcomes.into_iter().enumerate() {
            let peer = Peer::new(&TestServer::new(), 1).over(2, 1000);
            let before = [None, Some(Asked::Fore), Some(Asked::Back), Some(Asked::BackOrBoth)][index];
            before.map(|before| bind(&peer, before).unwrap());
            assert_eq!(bind(&peer, asked), outcome, "{asked:?} after {before:?}");
        }
    }
}

#[test]
fn without_a_backchannel_a_connection_is_for_requests_only() {
    let mut peer = Peer::new(&TestServer::new(), 1);
    let arguments =
        CreateSessionArgs { callback_security: vec![], ..peer.create_session_args(SequenceId(2)) };
    peer.create_session_with(&arguments).unwrap();
    for connection in [1, 2] {
        let peer = peer.over(connection, 0);
        assert_eq!(bind(&peer, DirectionFromClient::Fore), Ok(DirectionFromServer::Fore));
        assert_eq!(bind(&peer, DirectionFromClient::ForeOrBoth), Ok(DirectionFromServer::Fore));
        assert_eq!(bind(&peer, DirectionFromClient::BackOrBoth), Err(Status::Invalid));
    }
    assert_eq!(bind(&peer.over(3, 0), DirectionFromClient::Back), Err(Status::Invalid));
    let mut stranger = peer.over(4, 0);
    stranger.session = SessionId([99; 16]);
    assert_eq!(bind(&stranger, DirectionFromClient::Fore), Err(Status::BadSession));
}

#[test]
fn a_connection_that_was_bound_by_requests_may_carry_callbacks_too() {
    let peer = Peer::new(&TestServer::new(), 1);
    let second = peer.over(2, 1000);
    assert_eq!(second.with_sequence(1, false, |_| {}).status, Status::Ok);
    assert_eq!(bind(&second, DirectionFromClient::Back), Err(Status::Invalid));
    assert_eq!(bind(&second, DirectionFromClient::BackOrBoth), Ok(DirectionFromServer::Both));
}

#[test]
fn binding_stands_alone() {
    let mut peer = Peer::new(&TestServer::new(), 1);
    let arguments =
        BindConnToSessionArgs { session: peer.session, direction: DirectionFromClient::Fore, rdma: false };
    let inside = peer.compound(|c| {
        c.push(Operation::BindConnToSession, &arguments);
    });
    assert_eq!((inside.status, inside.count), (Status::NotOnlyOperation, 2));
    let first = peer.send(1, |c| {
        c.push(Operation::BindConnToSession, &arguments).push(Operation::PutRootFh, &());
    });
    assert_eq!((first.status, first.count), (Status::NotOnlyOperation, 1));
}

#[test]
fn a_connection_for_callbacks_alone_may_end_the_session() {
    let peer = Peer::new(&TestServer::new(), 1);
    let back = peer.over(2, 1000);
    bind(&back, DirectionFromClient::Back).unwrap();
    let arguments = DestroySessionArgs { session: peer.session };
    assert_eq!(back.alone(Operation::DestroySession, &arguments), Status::Ok);
}

#[test]
fn requests_go_over_any_number_of_connections() {
    let peer = Peer::new(&TestServer::new(), 1);
    for sequence in 1..300 {
        let results = peer.over(u64::from(sequence), 0).with_sequence(sequence, false, |c| {
            c.push(Operation::PutRootFh, &());
        });
        assert_eq!(results.status, Status::Ok);
    }
}

#[test]
fn a_lost_path_for_callbacks_is_told_until_it_is_back() {
    let server = TestServer::new();
    let mut peer = Peer::new(&server, 1);
    assert_eq!(flags(&mut peer), 0);
    assert_eq!(bind(&peer.over(2, 0), DirectionFromClient::BackOrBoth), Ok(DirectionFromServer::Both));
    server.disconnect(1);
    assert_eq!(flags(&mut peer), 0, "there is another");
    server.disconnect(2);
    assert_eq!((flags(&mut peer), flags(&mut peer)), (PATHS, PATHS));
    assert_eq!(bind(&peer.over(3, 0), DirectionFromClient::ForeOrBoth), Ok(DirectionFromServer::Both));
    assert_eq!(flags(&mut peer), 0);
}

#[test]
fn backchannel_in_another_session_leaves_only_one_path_down() {
    let server = TestServer::new();
    let mut first = Peer::new(&server, 1);
    let mut second = first.over(2, 0);
    second.create_session(SequenceId(2)).unwrap();
    let mut third = first.over(3, 0);
    let silent = CreateSessionArgs { flags: 0, ..third.create_session_args(SequenceId(3)) };
    third.create_session_with(&silent).unwrap();
    let mut told = || [&mut first, &mut second, &mut third].map(flags);
    let (session, client) = (sequence_flags::CB_PATH_DOWN_SESSION, sequence_flags::CB_PATH_DOWN);
    assert_eq!(told(), [0; 3]);
    server.disconnect(1);
    assert_eq!(told(), [session, 0, 0]);
    server.disconnect(2);
    assert_eq!(told(), [PATHS, PATHS, client], "on all sessions of the client");
    bind(&first.over(4, 0), DirectionFromClient::BackOrBoth).unwrap();
    let mut told = || [&mut first, &mut second, &mut third].map(flags);
    assert_eq!(told(), [0, session, 0]);
    let arguments = DestroySessionArgs { session: second.session };
    assert_eq!(second.alone(Operation::DestroySession, &arguments), Status::Ok);
    assert_eq!([flags(&mut first), flags(&mut third)], [0, 0]);
    server.disconnect(4);
    assert_eq!([flags(&mut first), flags(&mut third)], [PATHS, client]);
    let arguments = DestroySessionArgs { session: first.session };
    assert_eq!(first.alone(Operation::DestroySession, &arguments), Status::Ok);
    assert_eq!(flags(&mut third), 0, "it never wanted callbacks");
}

#[test]
fn a_retried_create_session_brings_its_path_along() {
    let server = TestServer::new();
    let mut peer = Peer::new(&server, 1);
    let arguments = peer.create_session_args(SequenceId(2));
    peer.create_session_with(&arguments).unwrap();
    server.disconnect(1);
    let mut again = peer.over(2, 0);
    again.create_session_with(&arguments).unwrap();
    assert_eq!(again.session, peer.session);
    assert_eq!(flags(&mut again), 0);
}

#[test]
fn a_backchannel_that_lost_its_numbers_is_a_fault() {
    let server = TestServer::new();
    let (mut holder, mut other) = (Peer::new(&server, 1), Peer::new(&server, 2));
    let (file, state_id) = holder.create("f");
    holder.close(&file, state_id);
    let reading = open("f", share::READ | share::WANT_ANY_DELEGATION, None);
    let granted = holder.compound(|c| {
        c.push(Operation::PutRootFh, &()).push(Operation::Open, &reading);
    });
    assert_eq!(granted.status, Status::Ok);
    *holder.callbacks.refused.lock() = Some(Status::SequenceMisordered);
    let mut held = other.begin(|c| {
        c.push(Operation::PutRootFh, &()).push(Operation::Open, &open("f", share::BOTH, None));
    });
    assert!(futures_util::FutureExt::now_or_never(&mut held).is_none());
    server.world.run();
    assert_eq!(flags(&mut holder), sequence_flags::BACKCHANNEL_FAULT);
}

#[test]
fn backchannel_ctl_changes_where_callbacks_go() {
    let server = TestServer::new();
    let mut peer = Peer::new(&server, 1);
    let control = |peer: &mut Peer, callback_program, callback_security| {
        peer.compound(|c| {
            let arguments = BackchannelCtlArgs { callback_program, callback_security };
            c.push(Operation::BackchannelCtl, &arguments);
        })
        .status
    };
    let sys = CallbackAuthSys { stamp: 1, machine_name: "m".into(), uid: 5, gid: 6, gids: vec![] };
    assert_eq!(control(&mut peer, 0x4000_0001, vec![CallbackSecurity::Sys(sys)]), Status::Ok);
    let last_call = |peer: &Peer| {
        // Binding again calls the client, to see whether it can be reached.
        bind(peer, DirectionFromClient::BackOrBoth).unwrap();
        server.world.run();
        peer.callbacks.called.lock().last().cloned().unwrap()
    };
    let (program, credential) = last_call(&peer);
    assert_eq!(program, 0x4000_0001);
    assert!(matches!(credential, Credential::Sys(sys) if sys.uid == 5));
    assert_eq!(control(&mut peer, 0x4000_0002, vec![]), Status::Ok);
    let (program, credential) = last_call(&peer);
    assert_eq!(program, 0x4000_0002);
    assert!(matches!(credential, Credential::Sys(_)), "credentials are added, not replaced");
    let gss = CallbackGss { service: 1, server_handle: "s".into(), client_handle: "c".into() };
    assert_eq!(control(&mut peer, 1, vec![CallbackSecurity::Gss(gss)]), Status::NoEntry);
    assert_eq!(last_call(&peer).0, 0x4000_0002);
    let arguments = BackchannelCtlArgs { callback_program: 1, callback_security: vec![] };
    assert_eq!(peer.alone(Operation::BackchannelCtl, &arguments), Status::OperationNotInSession);
}

#[test]
fn backchannel_ctl_gives_a_session_the_backchannel_that_it_lacked() {
    let mut peer = Peer::new(&TestServer::new(), 1);
    let arguments =
        CreateSessionArgs { callback_security: vec![], ..peer.create_session_args(SequenceId(2)) };
    peer.create_session_with(&arguments).unwrap();
    for (callback_security, status) in [(vec![], Status::Invalid), (vec![CallbackSecurity::None], Status::Ok)]
    {
        let results = peer.compound(|c| {
            let arguments = BackchannelCtlArgs { callback_program: 7, callback_security };
            c.push(Operation::BackchannelCtl, &arguments);
        });
        assert_eq!(results.status, status);
    }
    assert_eq!(bind(&peer, DirectionFromClient::ForeOrBoth), Ok(DirectionFromServer::Both));
}

/// Opens a file for reading; true when it is delegated.
fn is_delegated(peer: &mut Peer, name: &str) -> bool {
    let how = CreateHow::Unchecked(attributes::AttributeValues::default());
    let arguments = open(name, share::READ | share::WANT_READ_DELEGATION, Some(how));
    let mut results = peer
        .compound(|c| {
            c.push(Operation::PutRootFh, &()).push(Operation::Open, &arguments);
        })
        .sequenced();
    results.ok(Operation::PutRootFh);
    let opened: OpenResult = results.body(Operation::Open);
    matches!(opened.delegation, OpenDelegation::Read(_))
}

/// The longest CB_RECALL in bytes, with AUTH_NONE: RPC head 40, head of the COMPOUND 16, CB_SEQUENCE 68,
/// CB_RECALL 156.
const RECALL_BYTES: u32 = 280;

#[test]
fn backchannel_too_small_for_a_recall_gets_no_delegation() {
    let fits =
        ChannelAttributes { request_bytes_max: RECALL_BYTES, response_bytes_max: 84, ..Peer::channel() };
    for (back_channel, expected) in [
        (fits.clone(), true),
        (ChannelAttributes { request_bytes_max: RECALL_BYTES - 1, ..fits.clone() }, false),
        (ChannelAttributes { response_bytes_max: 83, ..fits }, false),
    ] {
        let server = TestServer::new();
        let mut peer = Peer::new(&server, 1);
        let asked = CreateSessionArgs { back_channel, ..peer.create_session_args(SequenceId(2)) };
        let created = peer.create_session_with(&asked).unwrap();
        assert_eq!(created.flags, session_flags::CONN_BACK_CHAN, "other callbacks fit");
        server.world.run();
        assert_eq!(is_delegated(&mut peer, "f"), expected, "{:?}", asked.back_channel);
    }
}

#[test]
fn longer_credential_without_room_for_a_recall_gets_no_delegation() {
    let server = TestServer::new();
    let mut peer = Peer::new(&server, 1);
    let back_channel = ChannelAttributes { request_bytes_max: RECALL_BYTES + 20, ..Peer::channel() };
    let asked = CreateSessionArgs { back_channel, ..peer.create_session_args(SequenceId(2)) };
    peer.create_session_with(&asked).unwrap();
    server.world.run();
    assert!(is_delegated(&mut peer, "f"));
    for (machine_name, expected) in [("", true), ("a", false)] {
        let sys =
            CallbackAuthSys { stamp: 1, machine_name: machine_name.into(), uid: 5, gid: 6, gids: vec![] };
        let results = peer.compound(|c| {
            let callback_security = vec![CallbackSecurity::Sys(sys)];
            let arguments = BackchannelCtlArgs { callback_program: 0x4000_0000, callback_security };
            c.push(Operation::BackchannelCtl, &arguments);
        });
        assert_eq!(results.status, Status::Ok);
        assert_eq!(is_delegated(&mut peer, &format!("with {machine_name}")), expected);
    }
}

#[test]
fn connection_without_callback_slots_or_operations_is_not_bound() {
    for back_channel in [
        ChannelAttributes { requests_max: 0, ..Peer::channel() },
        ChannelAttributes { operations_max: 1, ..Peer::channel() },
        ChannelAttributes { request_bytes_max: 95, ..Peer::channel() },
    ] {
        let server = TestServer::new();
        let mut peer = Peer::new(&server, 1);
        let asked = CreateSessionArgs { flags: 0, back_channel, ..peer.create_session_args(SequenceId(2)) };
        peer.create_session_with(&asked).unwrap();
        server.world.run();
        let called = peer.callbacks.called.lock().len();
        let other = peer.over(2, 0);
        assert_eq!(bind(&other, DirectionFromClient::Back), Err(Status::Invalid));
        assert_eq!(bind(&other, DirectionFromClient::ForeOrBoth), Ok(DirectionFromServer::Fore));
        let results = peer.compound(|c| {
            let callback_security = vec![CallbackSecurity::None];
            c.push(Operation::BackchannelCtl, &BackchannelCtlArgs { callback_program: 7, callback_security });
        });
        assert_eq!(results.status, Status::Invalid);
        server.world.run();
        assert!(!is_delegated(&mut peer, "f") && peer.callbacks.called.lock().len() == called);
    }
}

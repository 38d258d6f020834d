//! Clients and sessions: what the operations refuse that make, use and end them.

use bytes::Bytes;
use proto::nfs4::attributes::AttributeValues;
use proto::nfs4::*;
use state::Limits;
use testkit::runtime::SleepEnd;

use super::arguments::{exchange, put, root};
use super::lab::{Lab, Options};
use super::ledger::{Ledger, Step, step};
use crate::peer::{Peer, Results};
use crate::store::Machine;

pub fn run(ledger: &Ledger) {
    sequence(ledger);
    exchange_id(ledger);
    create_session(ledger);
    bounds(ledger);
    bind_and_control(ledger);
    ends(ledger);
    reclaim_complete(ledger);
    dead_sessions(ledger);
}

const NOBODY: SessionId = SessionId([9; 16]);

fn sequence(ledger: &Ledger) {
    let lab = Lab::new(ledger);
    let peer = &lab.peer;
    let next = peer.sequence_args(peer.last_sequence() + 1, false);
    let try_one = |arguments: SequenceArgs, rest: &[Step]| {
        let steps = [&[step(Operation::Sequence, &arguments)], rest].concat();
        ledger.bare(peer, &steps)
    };
    let cases = [
        (SequenceArgs { session: NOBODY, ..next.clone() }, Status::BadSession),
        (SequenceArgs { slot: SlotId(4000), ..next.clone() }, Status::BadSlot),
        (SequenceArgs { highest_slot: SlotId(4000), ..next.clone() }, Status::BadHighSlot),
        (SequenceArgs { sequence: SequenceId(4000), ..next.clone() }, Status::SequenceMisordered),
    ];
    for (arguments, status) in cases {
        assert_eq!(try_one(arguments, &[]).status, status);
    }
    assert_eq!(try_one(next.clone(), &vec![root(); 50]).status, Status::TooManyOperations);
    let huge = Step { arguments: vec![0; 2 << 20], ..root() };
    assert_eq!(try_one(next.clone(), &[huge]).status, Status::RequestTooBig);
    assert_eq!(try_one(next.clone(), &[root()]).status, Status::Ok);
    let another = [root(), step(Operation::SaveFh, &())];
    assert_eq!(try_one(next, &another).status, Status::SequenceFalseRetry);
}

/// EXCHANGE_ID by a user.
fn introduce(lab: &Lab<'_>, uid: u32, arguments: &ExchangeIdArgs) -> Status {
    let peer = Peer::stranger(&lab.server, 20, uid);
    lab.ledger.bare(&peer, &[step(Operation::ExchangeId, arguments)]).status
}

fn exchange_id(ledger: &Ledger) {
    let lab = Lab::new(ledger);
    let update = exchange_flags::UPDATE_CONFIRMED_RECORD;
    let protected = StateProtect::MachineCredential(ProtectedOperations {
        must_enforce: Default::default(),
        must_allow: Default::default(),
    });
    let cases = [
        (0, exchange("client 9", 1, exchange_flags::CONFIRMED), Status::Invalid),
        (0, ExchangeIdArgs { state_protect: protected, ..exchange("client 9", 1, 0) }, Status::Invalid),
        (0, exchange("client 9", 1, update), Status::NoEntry),
        (0, exchange("client 1", 2, update), Status::NotSame),
        (7, exchange("client 1", 1, 0), Status::ClientIdInUse),
        (7, exchange("client 1", 1, update), Status::NotPermitted),
    ];
    for (uid, arguments, status) in cases {
        assert_eq!(introduce(&lab, uid, &arguments), status, "{arguments:?}");
    }
}

/// CREATE_SESSION by a user.
fn make(lab: &Lab<'_>, uid: u32, arguments: &CreateSessionArgs) -> Results {
    let peer = Peer::stranger(&lab.server, 20, uid);
    lab.ledger.bare(&peer, &[step(Operation::CreateSession, arguments)])
}

/// Makes a good request a wrong one.
type Change = fn(&mut CreateSessionArgs);

fn create_session(ledger: &Ledger) {
    let cases: [(u32, Change, Status); 6] = [
        (0, |asked| asked.flags = 1 << 20, Status::Invalid),
        (0, |asked| asked.client = ClientId(9), Status::StaleClientId),
        (0, |asked| asked.sequence = SequenceId(7), Status::SequenceMisordered),
        (7, |_| {}, Status::ClientIdInUse),
        (0, |asked| asked.fore_channel.response_bytes_max = 10, Status::TooSmall),
        (0, |asked| asked.fore_channel.requests_max = 0, Status::Invalid),
    ];
    for (uid, change, status) in cases {
        let lab = Lab::new(ledger);
        let mut arguments = lab.scene.create_session();
        change(&mut arguments);
        assert_eq!(make(&lab, uid, &arguments).status, status);
    }
}

fn bounds(ledger: &Ledger) {
    // Those of the scene: two with a session, one without. An address has at most half of the table.
    let limits = Limits { clients_max: 5, sessions_per_client_max: 1, ..Limits::default() };
    let lab = Lab::with(ledger, &Options { limits, ..Options::default() });
    assert_eq!(make(&lab, 0, &lab.scene.create_session()).status, Status::Ok);
    assert_eq!(introduce(&lab, 0, &exchange("client 9", 1, 0)), Status::Delay);
    let again =
        CreateSessionArgs { client: lab.peer.client, sequence: SequenceId(2), ..lab.scene.create_session() };
    assert_eq!(make(&lab, 0, &again).status, Status::NoSpace);
}

fn bind_and_control(ledger: &Ledger) {
    let mut lab = Lab::new(ledger);
    let bind = |session, direction| {
        step(Operation::BindConnToSession, &BindConnToSessionArgs { session, direction, rdma: false })
    };
    let unknown = ledger.bare(&lab.peer, &[bind(NOBODY, DirectionFromClient::Fore)]);
    assert_eq!(unknown.status, Status::BadSession);
    let gss = CallbackSecurity::Gss(CallbackGss {
        service: 1,
        server_handle: Bytes::from_static(b"s"),
        client_handle: Bytes::from_static(b"c"),
    });
    let callback_security = vec![gss];
    let control = BackchannelCtlArgs { callback_program: 1, callback_security: callback_security.clone() };
    lab.expect(&[step(Operation::BackchannelCtl, &control)], Status::NoEntry);
    let arguments = CreateSessionArgs { callback_security, ..lab.scene.create_session() };
    assert_eq!(make(&lab, 0, &arguments).status, Status::NoEntry);
    // This connection carries callbacks as well, and keeps to it.
    let refused = ledger.bare(&lab.peer, &[bind(lab.peer.session, DirectionFromClient::Fore)]);
    assert_eq!(refused.status, Status::Invalid);
    // Without a backchannel there is no program that could be replaced.
    let mut second = Peer::stranger(&lab.server, 30, 0);
    let arguments = CreateSessionArgs {
        sequence: SequenceId(2),
        callback_security: vec![],
        ..lab.scene.create_session()
    };
    second.session = make(&lab, 0, &arguments).body::<CreateSessionResult>(Operation::CreateSession).session;
    let control = BackchannelCtlArgs { callback_program: 1, callback_security: vec![] };
    let refused = ledger.run(&mut second, &[step(Operation::BackchannelCtl, &control)]);
    assert_eq!(refused.status, Status::Invalid);
}

fn ends(ledger: &Ledger) {
    let mut lab = Lab::new(ledger);
    let own = lab.peer.client;
    let client = |client| step(Operation::DestroyClientId, &DestroyClientIdArgs { client });
    let session = |session| step(Operation::DestroySession, &DestroySessionArgs { session });
    lab.expect(&[client(ClientId(9))], Status::StaleClientId);
    lab.expect(&[client(own)], Status::ClientIdBusy);
    let stranger = Peer::stranger(&lab.server, 30, 1000);
    for (last, status) in [
        (client(lab.scene.client), Status::WrongCredential),
        (session(lab.peer.session), Status::ConnectionNotBoundToSession),
    ] {
        assert_eq!(ledger.bare(&stranger, &[last]).status, status);
    }
    lab.expect(&[session(NOBODY)], Status::BadSession);
    let steps = [session(lab.peer.session), root()];
    let results = lab.run(&steps);
    assert_eq!((results.count, results.status), (2, Status::NotOnlyOperation));
    under_way(ledger);
}

/// A request that waits for a delegation keeps its slot and its session.
fn under_way(ledger: &Ledger) {
    let mut lab = Lab::new(ledger);
    let mut other = lab.client(7, 0);
    let write = crate::peer::open("g", share::WRITE | share::WANT_NO_DELEGATION, None);
    let mut waiting = other.begin(|c| {
        c.push(Operation::PutRootFh, &()).push(Operation::Open, &write);
    });
    assert!(futures_util::FutureExt::now_or_never(&mut waiting).is_none());
    let (session, direction) = (other.session, DirectionFromClient::Fore);
    let bind = BindConnToSessionArgs { session, direction, rdma: false };
    assert_eq!(lab.peer.alone(Operation::BindConnToSession, &bind), Status::Ok);
    let ended = step(Operation::DestroySession, &DestroySessionArgs { session });
    lab.expect(&[ended], Status::Delay);
    let retry = [
        step(Operation::Sequence, &other.sequence_args(other.last_sequence(), false)),
        root(),
        step(Operation::Open, &write),
    ];
    lab.server.world.set_sleep_end(SleepEnd::AtOnce);
    assert_eq!(ledger.bare(&other, &retry).status, Status::Delay);
}

fn reclaim_complete(ledger: &Ledger) {
    let mut lab = Lab::new(ledger);
    let complete = |one_fs| step(Operation::ReclaimComplete, &ReclaimCompleteArgs { one_fs });
    lab.expect(&[complete(false)], Status::CompleteAlready);
    lab.expect(&[put(&lab.scene.pipe.clone()), complete(true)], Status::Ok);
}

/// A persistent session whose server was started anew takes no request but those of before (RFC 8881
/// §2.10.6.5).
fn dead_sessions(ledger: &Ledger) {
    let mut machine = Machine::new();
    let mut peer = Peer::new(&machine.start(), 1);
    let asked =
        CreateSessionArgs { flags: session_flags::PERSIST, ..peer.create_session_args(SequenceId(2)) };
    peer.create_session_with(&asked).unwrap();
    let made = peer.with_sequence(1, true, |c| {
        let made = CreateArgs { kind: CreateType::Fifo, name: "a".into() };
        c.push(Operation::PutRootFh, &()).push(Operation::Create, &(made, AttributeValues::default()));
    });
    assert_eq!(made.status, Status::Ok);
    let peer = peer.after_restart(&machine.start());
    let (session, direction) = (peer.session, DirectionFromClient::Fore);
    for last in [
        step(Operation::Sequence, &peer.sequence_args(2, false)),
        step(Operation::BindConnToSession, &BindConnToSessionArgs { session, direction, rdma: false }),
    ] {
        assert_eq!(ledger.bare(&peer, &[last]).status, Status::DeadSession);
    }
}

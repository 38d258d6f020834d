//! What the tests say to a state.

use std::sync::Arc;

use bytes::Bytes;
use proto::nfs4::{ChannelAttributes, ClientId, SequenceId, SessionId, Status, Verifier, share};
use state::{
    Client, ClientAddress, ConnectionId, CreateSession, ExchangeId, ExchangedId, FileId, Limits, Now, Open,
    OpenClaim, Opened, Principal, Session, State,
};

pub const T0: Now = Now(1000);
/// When a client that was last heard of at [`T0`] has no lease any more.
pub const LATE: Now = Now(T0.0 + 90_001);

pub fn state() -> State {
    State::new(Limits::default(), 42)
}

pub fn asked(owner: &str, verifier: u8, who: &str) -> ExchangeId {
    ExchangeId {
        owner: Bytes::copy_from_slice(owner.as_bytes()),
        verifier: Verifier([verifier; 8]),
        principal: principal(who),
        address: ClientAddress::default(),
        update: false,
        minor_version: 1,
    }
}

pub fn principal(who: &str) -> Principal {
    Principal(Bytes::copy_from_slice(who.as_bytes()))
}

pub fn exchange(
    state: &State,
    owner: &str,
    verifier: u8,
    who: &str,
    now: Now,
) -> Result<ExchangedId, Status> {
    state.exchange_id(&asked(owner, verifier, who), now)
}

pub fn channel() -> ChannelAttributes {
    ChannelAttributes {
        header_pad_bytes: 0,
        request_bytes_max: 1 << 20,
        response_bytes_max: 1 << 20,
        cached_response_bytes_max: 4096,
        operations_max: 16,
        requests_max: 4,
        rdma_ird: vec![],
    }
}

pub fn request(state: &State, client: ClientId, sequence: u32, who: &str, id: u8) -> CreateSession {
    CreateSession {
        client,
        sequence: SequenceId(sequence),
        principal: principal(who),
        channels: state::negotiate_channels(&channel(), &channel(), false, state.limits()),
        flags: 0,
        id: SessionId([id; 16]),
        connection: ConnectionId(1),
    }
}

/// A session of a new client, whose principal has the owner's name.
pub fn session(state: &State, owner: &str) -> Arc<Session> {
    let exchanged = exchange(state, owner, 1, owner, T0).unwrap();
    let id = owner.bytes().next().unwrap();
    state.create_session(&request(state, exchanged.client, 1, owner, id), T0).unwrap();
    let session = state.session(SessionId([id; 16])).unwrap();
    session.client().set_recorded();
    state.reclaim_complete(session.client()).unwrap();
    session
}

pub fn client(state: &State, owner: &str) -> Arc<Client> {
    Arc::clone(session(state, owner).client())
}

pub fn open(state: &State, client: &Arc<Client>) -> Opened {
    let open = Open {
        file: FileId(7, 1),
        owner: Bytes::from_static(b"o"),
        claim: OpenClaim::New,
        access: share::READ,
        deny: 0,
        delegate: None,
        timestamps: false,
        delegation_alone: false,
    };
    state.open(client, &open, T0).unwrap()
}

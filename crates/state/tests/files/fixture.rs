//! Clients that open files.

use std::sync::Arc;

use bytes::Bytes;
use proto::nfs4::{ChannelAttributes, SessionId, Verifier, share};
use state::{
    Client, ClientAddress, ConnectionId, CreateSession, DelegationKind, ExchangeId, FileId, Now, Open,
    OpenClaim, Opened, Principal, State,
};

pub const FILE: FileId = FileId(7, 1);
pub const T0: Now = Now(1000);

pub fn client(state: &State, name: &'static str) -> Arc<Client> {
    client_at(state, name, &ClientAddress::default())
}

/// A client that comes from this address.
pub fn client_at(state: &State, name: &'static str, address: &ClientAddress) -> Arc<Client> {
    let principal = Principal(Bytes::from_static(name.as_bytes()));
    let asked = ExchangeId {
        owner: Bytes::from_static(name.as_bytes()),
        verifier: Verifier([1; 8]),
        principal: principal.clone(),
        address: address.clone(),
        update: false,
        minor_version: 1,
    };
    let exchanged = state.exchange_id(&asked, T0).unwrap();
    let channel = ChannelAttributes {
        header_pad_bytes: 0,
        request_bytes_max: 1 << 20,
        response_bytes_max: 1 << 20,
        cached_response_bytes_max: 4096,
        operations_max: 16,
        requests_max: 4,
        rdma_ird: vec![],
    };
    let request = CreateSession {
        client: exchanged.client,
        sequence: exchanged.sequence,
        principal,
        channels: state::negotiate_channels(&channel, &channel, false, state.limits()),
        flags: 0,
        id: SessionId([name.as_bytes()[0]; 16]),
        connection: ConnectionId(1),
    };
    let session = state.session(state.create_session(&request, T0).unwrap().created().session).unwrap();
    session.client().set_recorded();
    state.reclaim_complete(session.client()).unwrap();
    Arc::clone(session.client())
}

pub fn open(state: &State, client: &Arc<Client>, file: FileId, delegate: Option<DelegationKind>) -> Opened {
    let owner = Bytes::from_static(b"o");
    let claim = OpenClaim::New;
    state
        .open(
            client,
            &Open {
                file,
                owner,
                claim,
                access: share::READ,
                deny: 0,
                delegate,
                timestamps: false,
                delegation_alone: false,
            },
            T0,
        )
        .unwrap()
}

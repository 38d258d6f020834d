//! NFSv4.1 in as few words as possible: many clients over one connection.

use std::net::SocketAddr;

use bytes::Bytes;
use proto::nfs4::*;
use rpc::auth::SystemCredentials;
use rpc::net::{Client as Connection, ClientOptions};
use rpc::{AuthSys, Credential};
use xdr::Encoder;

/// One client with a session.
pub struct Peer {
    connection: Connection,
    session: SessionId,
    sequence: u32,
}

pub async fn connect(address: SocketAddr) -> Connection {
    let root = AuthSys { stamp: 0, machine_name: Bytes::new(), uid: 0, gid: 0, gids: vec![] };
    let credentials = SystemCredentials::shared(Credential::Sys(root));
    Connection::connect(address, ClientOptions { credentials, ..ClientOptions::default() }).await.unwrap()
}

impl Peer {
    pub async fn new(connection: &Connection, number: u32) -> Self {
        let owner = ClientOwner { verifier: Verifier([1; 8]), id: format!("client {number}").into() };
        let arguments =
            ExchangeIdArgs { owner, flags: 0, state_protect: StateProtect::None, implementation: vec![] };
        let mut results = send(connection, |c| {
            c.push(Operation::ExchangeId, &arguments);
        })
        .await;
        let known: ExchangeIdResult = results.next(Operation::ExchangeId).unwrap().unwrap().get().unwrap();
        let channel = ChannelAttributes {
            header_pad_bytes: 0,
            request_bytes_max: 1 << 16,
            response_bytes_max: 1 << 16,
            cached_response_bytes_max: 4096,
            operations_max: 64,
            requests_max: 16,
            rdma_ird: vec![],
        };
        let arguments = CreateSessionArgs {
            client: known.client,
            sequence: known.sequence,
            flags: 0,
            fore_channel: channel.clone(),
            back_channel: channel,
            callback_program: 0x4000_0000,
            callback_security: vec![CallbackSecurity::None],
        };
        let mut results = send(connection, |c| {
            c.push(Operation::CreateSession, &arguments);
        })
        .await;
        let made: CreateSessionResult =
            results.next(Operation::CreateSession).unwrap().unwrap().get().unwrap();
        Self { connection: connection.clone(), session: made.session, sequence: 0 }
    }

    /// Says that nothing is left to reclaim.
    pub async fn reclaim_complete(&mut self) {
        self.compound(|c| {
            c.push(Operation::ReclaimComplete, &ReclaimCompleteArgs { one_fs: false });
        })
        .await;
    }

    /// A COMPOUND of which every operation must succeed; its results after SEQUENCE's.
    pub async fn compound(&mut self, build: impl FnOnce(&mut CompoundBuilder<'_>)) -> CompoundReader {
        self.sequence += 1;
        let arguments = SequenceArgs {
            session: self.session,
            sequence: SequenceId(self.sequence),
            slot: SlotId(0),
            highest_slot: SlotId(0),
            cache_this: false,
        };
        let mut results = send(&self.connection, |c| {
            c.push(Operation::Sequence, &arguments);
            build(c);
        })
        .await;
        let _: SequenceResult = results.next(Operation::Sequence).unwrap().unwrap().get().unwrap();
        results
    }
}

async fn send(connection: &Connection, build: impl FnOnce(&mut CompoundBuilder<'_>)) -> CompoundReader {
    let arguments = |to: &mut Encoder| {
        let mut builder = CompoundBuilder::begin(to, 1);
        build(&mut builder);
        builder.finish();
    };
    let reply = connection.call(PROGRAM, VERSION, COMPOUND, arguments).await.unwrap();
    let results = CompoundReader::new(reply.results).unwrap();
    assert_eq!(results.status, Status::Ok);
    results
}

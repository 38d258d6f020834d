//! NFSv4.1 in as few words as possible: many clients over one connection.

use std::net::SocketAddr;

use bytes::Bytes;
use proto::nfs4::*;
use rpc::auth::SystemCredentials;
use rpc::{AuthSys, BoxFuture, Credential};
use rpc_net::{Client as Connection, ClientOptions};
use testkit::compound::Results;
use testkit::session::{Session, Transport, channel, exchange_id};

const SLOTS: u32 = 16;

/// One client with a session.
pub struct Peer {
    wire: Wire,
    session: Session,
}

/// The connection that the clients share.
struct Wire(Connection);

impl Transport for Wire {
    fn compound(&mut self, arguments: Vec<u8>) -> BoxFuture<Bytes> {
        let connection = self.0.clone();
        Box::pin(async move {
            let put = |to: &mut xdr::Encoder| to.buffer_mut().extend_from_slice(&arguments);
            let reply = connection.call(PROGRAM, VERSION, COMPOUND, put).await.unwrap();
            Bytes::copy_from_slice(reply.results.rest_ref())
        })
    }
}

pub async fn connect(address: SocketAddr) -> Connection {
    let root = AuthSys { stamp: 0, machine_name: Bytes::new(), uid: 0, gid: 0, gids: vec![] };
    let credentials = SystemCredentials::shared(Credential::Sys(root));
    Connection::connect(address, ClientOptions { credentials, ..ClientOptions::default() }).await.unwrap()
}

impl Peer {
    pub async fn new(connection: &Connection, number: u32) -> Self {
        let mut wire = Wire(connection.clone());
        let exchange = exchange_id(&format!("client {number}"), 1);
        let session = Session::open_with(&mut wire, &exchange, |arguments| {
            let (fore_channel, back_channel) = (channel(SLOTS), channel(SLOTS));
            CreateSessionArgs { fore_channel, back_channel, ..arguments }
        });
        Self { session: session.await, wire }
    }

    /// Says that nothing is left to reclaim.
    pub async fn reclaim_complete(&mut self) {
        assert_eq!(self.session.reclaim_complete(&mut self.wire).await, Status::Ok);
    }

    /// Sends a COMPOUND of which every operation must succeed, and returns its results behind SEQUENCE's.
    pub async fn compound(&mut self, build: impl FnOnce(&mut CompoundBuilder<'_>)) -> Results {
        let results = self.session.call(&mut self.wire, build).await;
        assert_eq!(results.status, Status::Ok);
        results.sequenced()
    }
}

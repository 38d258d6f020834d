//! A client's side of a connection: calls out, replies in.

use std::net::SocketAddr;

use proto::nfs4::*;
use testkit::compound::Results;
use testkit::peer::RawPeer;
use testkit::session::{Session, at_once, channel, exchange_id};
use testkit::wire::RawCall;
use xdr::Bytes;

pub struct Line(RawPeer);

/// A reply: the transaction id of its call, and the head of its results.
pub struct Reply {
    pub xid: u32,
    pub status: Status,
    pub count: u32,
}

impl Line {
    pub fn new(address: SocketAddr) -> Self {
        Self(RawPeer::connect(address).unwrap())
    }

    pub fn send(&mut self, xid: u32, compound: &[u8]) {
        let call = RawCall::new(xid, (PROGRAM, VERSION, COMPOUND)).of_superuser().with_bytes(compound);
        self.0.send(&call.record()).unwrap();
    }

    pub fn receive(&mut self) -> Reply {
        let (xid, from) = self.0.results().unwrap();
        let Results { status, count, .. } = Results::new(Bytes::copy_from_slice(from.rest_ref()));
        Reply { xid, status, count }
    }

    /// Makes a session of a client id that is new to this server; it is persistent where the server has that.
    pub fn session(&mut self, slots: u32, persistent: bool) -> SessionId {
        let client = exchange_id("client", 1);
        let session = at_once(Session::open_with(&mut self.0, &client, |arguments| CreateSessionArgs {
            flags: session_flags::PERSIST,
            fore_channel: channel(slots),
            ..arguments
        }));
        assert_eq!(session.flags, if persistent { session_flags::PERSIST } else { 0 });
        session.id
    }
}

pub fn compound(build: impl FnOnce(&mut CompoundBuilder<'_>)) -> Vec<u8> {
    testkit::compound::arguments(1, build)
}

pub fn bytes(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

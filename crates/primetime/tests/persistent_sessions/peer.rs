//! A client's side of a connection: calls out, replies in, and what it takes to have a session.

use std::net::SocketAddr;

use proto::nfs4::*;
use testkit::peer::RawPeer;
use testkit::wire::RawCall;
use xdr::{Bytes, Decoder, Encode, Encoder};

pub struct Line(RawPeer);

/// A reply: which call it answers, and its results.
pub struct Reply {
    pub xid: u32,
    pub status: Status,
    pub count: u32,
    pub results: Decoder,
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
        let (xid, mut from) = self.0.results().unwrap();
        let status = from.get().unwrap();
        from.opaque(TAG_BYTES_MAX).unwrap();
        Reply { xid, status, count: from.u32().unwrap(), results: from }
    }

    /// The results of a lone operation.
    fn alone(&mut self, operation: Operation, arguments: &impl Encode) -> Decoder {
        self.send(
            0,
            &compound(|c| {
                c.push(operation, arguments);
            }),
        );
        let mut reply = self.receive();
        assert_eq!(reply.status, Status::Ok, "{operation}");
        assert_eq!((reply.results.u32(), reply.results.u32()), (Ok(operation.number()), Ok(0)));
        reply.results
    }

    /// A session of a client id that is new to this server; it is persistent where the server has that.
    pub fn session(&mut self, slots: u32, persistent: bool) -> SessionId {
        let exchanged: ExchangeIdResult = self
            .alone(
                Operation::ExchangeId,
                &ExchangeIdArgs {
                    owner: ClientOwner { verifier: Verifier([1; 8]), id: "client".into() },
                    flags: 0,
                    state_protect: StateProtect::None,
                    implementation: vec![],
                },
            )
            .get()
            .unwrap();
        let channel = |requests_max| ChannelAttributes {
            header_pad_bytes: 0,
            request_bytes_max: 1 << 16,
            response_bytes_max: 1 << 16,
            cached_response_bytes_max: 4096,
            operations_max: 16,
            requests_max,
            rdma_ird: vec![],
        };
        let asked = CreateSessionArgs {
            client: exchanged.client,
            sequence: exchanged.sequence,
            flags: session_flags::PERSIST,
            fore_channel: channel(slots),
            back_channel: channel(1),
            callback_program: 0x4000_0000,
            callback_security: vec![CallbackSecurity::None],
        };
        let created: CreateSessionResult = self.alone(Operation::CreateSession, &asked).get().unwrap();
        assert_eq!(created.flags, if persistent { session_flags::PERSIST } else { 0 });
        created.session
    }
}

pub fn compound(build: impl FnOnce(&mut CompoundBuilder<'_>)) -> Vec<u8> {
    let mut to = Encoder::new();
    let mut builder = CompoundBuilder::begin(&mut to, 1);
    build(&mut builder);
    builder.finish();
    to.into_inner()
}

pub fn bytes(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

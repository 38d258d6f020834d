//! A client of NFSv4.1 with a session, over any transport.
//!
//! A [`Session`] makes the requests of one slot. The [`Transport`] carries them: a [`RawPeer`] does, a test
//! may have one in memory, and a bench may use the client of `rpc`.

use std::future::{Future, ready};

use bytes::Bytes;
use futures_util::FutureExt;
use proto::nfs4::{
    COMPOUND, CallbackSecurity, ChannelAttributes, ClientId, ClientOwner, CompoundBuilder, CreateSessionArgs,
    CreateSessionResult, ExchangeIdArgs, ExchangeIdResult, Operation, PROGRAM, ReclaimCompleteArgs,
    SequenceArgs, SequenceId, SessionId, SlotId, StateProtect, Status, VERSION, Verifier,
};
use rpc::BoxFuture;
use xdr::Encode;

use crate::compound::{Results, arguments};
use crate::peer::RawPeer;
use crate::wire::RawCall;

/// A callback program of a client; the server only repeats it.
pub const CALLBACK_PROGRAM: u32 = 0x4000_0000;

/// Carries COMPOUNDs to a server.
pub trait Transport {
    /// Sends the arguments of a COMPOUND, and resolves with its results.
    fn compound(&mut self, arguments: Vec<u8>) -> BoxFuture<Bytes>;
}

/// Calls as the superuser with transaction id 1, and is ready when the reply is there.
impl Transport for RawPeer {
    fn compound(&mut self, arguments: Vec<u8>) -> BoxFuture<Bytes> {
        let call = RawCall::new(1, (PROGRAM, VERSION, COMPOUND)).of_superuser().with_bytes(&arguments);
        let results = self.call(&call).expect("the server replies");
        Box::pin(ready(Bytes::copy_from_slice(results.rest_ref())))
    }
}

/// Returns the output of a future that needs no waiting.
///
/// # Panics
/// If it is not ready at its first poll.
pub fn at_once<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("the transport does not wait")
}

/// Returns arguments of EXCHANGE_ID without flags, for an incarnation of a client.
#[must_use]
pub fn exchange_id(owner: &str, verifier: u8) -> ExchangeIdArgs {
    ExchangeIdArgs {
        owner: ClientOwner {
            verifier: Verifier([verifier; 8]),
            id: Bytes::copy_from_slice(owner.as_bytes()),
        },
        flags: 0,
        state_protect: StateProtect::None,
        implementation: vec![],
    }
}

/// Returns a channel with so many slots, for requests and replies of 64 KiB with 64 operations.
#[must_use]
pub fn channel(slots: u32) -> ChannelAttributes {
    ChannelAttributes {
        header_pad_bytes: 0,
        request_bytes_max: 1 << 16,
        response_bytes_max: 1 << 16,
        cached_response_bytes_max: 4096,
        operations_max: 64,
        requests_max: slots,
        rdma_ird: vec![],
    }
}

/// Returns arguments of CREATE_SESSION without flags, for two channels with so many slots.
#[must_use]
pub fn create_session(client: ClientId, sequence: SequenceId, slots: u32) -> CreateSessionArgs {
    CreateSessionArgs {
        client,
        sequence,
        flags: 0,
        fore_channel: channel(slots),
        back_channel: channel(slots),
        callback_program: CALLBACK_PROGRAM,
        callback_security: vec![CallbackSecurity::None],
    }
}

/// Returns arguments of SEQUENCE in slot 0, for a request whose reply need not be cached.
#[must_use]
pub fn sequence(session: SessionId, sequence: u32) -> SequenceArgs {
    SequenceArgs {
        session,
        sequence: SequenceId(sequence),
        slot: SlotId(0),
        highest_slot: SlotId(0),
        cache_this: false,
    }
}

/// Sends an operation that stands alone, and returns the results.
pub async fn alone(
    transport: &mut impl Transport,
    minor_version: u32,
    operation: Operation,
    arguments_of: &impl Encode,
) -> Results {
    let compound = arguments(minor_version, |c| {
        c.push(operation, arguments_of);
    });
    Results::new(transport.compound(compound).await)
}

/// A client with a session, of which it uses slot 0.
#[derive(Debug, Clone)]
pub struct Session {
    /// The client.
    pub client: ClientId,
    /// The session.
    pub id: SessionId,
    /// The flags that the server granted.
    pub flags: u32,
    /// The number of the last request in slot 0.
    pub sequence: u32,
    minor_version: u32,
}

impl Session {
    /// Makes a session of minor version 1 for a client that is new to the server.
    ///
    /// # Panics
    /// If the server refuses, or the transport fails.
    pub async fn open(transport: &mut impl Transport, owner: &str, slots: u32) -> Self {
        Self::open_with(transport, &exchange_id(owner, 1), |arguments| CreateSessionArgs {
            fore_channel: channel(slots),
            ..arguments
        })
        .await
    }

    /// As [`Session::open`], with arguments of EXCHANGE_ID, and with those of CREATE_SESSION that `change`
    /// returns. It is given channels of one slot.
    ///
    /// # Panics
    /// As [`Session::open`].
    pub async fn open_with(
        transport: &mut impl Transport,
        exchange: &ExchangeIdArgs,
        change: impl FnOnce(CreateSessionArgs) -> CreateSessionArgs,
    ) -> Self {
        let minor_version = 1;
        let mut results = alone(transport, minor_version, Operation::ExchangeId, exchange).await;
        let known: ExchangeIdResult = results.body(Operation::ExchangeId);
        let wanted = change(create_session(known.client, known.sequence, 1));
        let mut results = alone(transport, minor_version, Operation::CreateSession, &wanted).await;
        let created: CreateSessionResult = results.body(Operation::CreateSession);
        let CreateSessionResult { session: id, flags, .. } = created;
        Self { client: known.client, id, flags, sequence: 0, minor_version }
    }

    /// Returns the arguments of the next COMPOUND: SEQUENCE and what `build` adds.
    pub fn next(&mut self, build: impl FnOnce(&mut CompoundBuilder<'_>)) -> Vec<u8> {
        self.sequence += 1;
        arguments(self.minor_version, |c| {
            c.push(Operation::Sequence, &sequence(self.id, self.sequence));
            build(c);
        })
    }

    /// Sends the next COMPOUND and returns its results, of which that of SEQUENCE is the first.
    pub async fn call(
        &mut self,
        transport: &mut impl Transport,
        build: impl FnOnce(&mut CompoundBuilder<'_>),
    ) -> Results {
        Results::new(transport.compound(self.next(build)).await)
    }

    /// Sends RECLAIM_COMPLETE and returns its status.
    pub async fn reclaim_complete(&mut self, transport: &mut impl Transport) -> Status {
        let arguments = ReclaimCompleteArgs { one_fs: false };
        let results = self.call(transport, |c| {
            c.push(Operation::ReclaimComplete, &arguments);
        });
        results.await.status
    }
}

#[cfg(test)]
mod tests {
    use proto::nfs4::SequenceResult;
    use xdr::Decoder;

    use super::*;
    use crate::compound::answer;

    /// A server with one client and one session, in memory.
    #[derive(Default)]
    struct Memory {
        sequences: Vec<u32>,
    }

    impl Transport for Memory {
        fn compound(&mut self, arguments: Vec<u8>) -> BoxFuture<Bytes> {
            let reply = answer(&mut Decoder::new(arguments.into()), |operation, from, to| {
                match operation {
                    Operation::ExchangeId => {
                        from.get::<ExchangeIdArgs>()?;
                        to.body.put(&ExchangeIdResult {
                            client: ClientId(7),
                            sequence: SequenceId(1),
                            flags: 0,
                            state_protect: proto::nfs4::StateProtectResult::None,
                            server_owner: proto::nfs4::ServerOwner { minor_id: 0, major_id: Bytes::new() },
                            server_scope: Bytes::new(),
                            implementation: vec![],
                        });
                    }
                    Operation::CreateSession => {
                        let CreateSessionArgs { sequence, fore_channel, back_channel, .. } = from.get()?;
                        assert_eq!((fore_channel.requests_max, back_channel.requests_max), (3, 1));
                        to.body.put(&CreateSessionResult {
                            session: SessionId([9; 16]),
                            sequence,
                            flags: 0,
                            fore_channel,
                            back_channel,
                        });
                    }
                    Operation::Sequence => {
                        let SequenceArgs { session, sequence, slot, highest_slot, .. } = from.get()?;
                        self.sequences.push(sequence.0);
                        let target_highest_slot = highest_slot;
                        to.body.put(&SequenceResult {
                            session,
                            sequence,
                            slot,
                            highest_slot,
                            target_highest_slot,
                            status_flags: 0,
                        });
                    }
                    _ => {
                        from.get::<ReclaimCompleteArgs>()?;
                        return Ok(Status::CompleteAlready);
                    }
                }
                Ok(Status::Ok)
            });
            Box::pin(ready(reply.unwrap().into()))
        }
    }

    #[test]
    fn requests_of_a_session_count_up_from_one() {
        let mut memory = Memory::default();
        let mut session = at_once(Session::open(&mut memory, "owner", 3));
        assert_eq!((session.client, session.id), (ClientId(7), SessionId([9; 16])));
        assert_eq!(at_once(session.reclaim_complete(&mut memory)), Status::CompleteAlready);
        let results = at_once(session.call(&mut memory, |_| {}));
        assert!(results.sequenced().rest().rest_ref().is_empty());
        assert_eq!(memory.sequences, [1, 2]);
    }
}

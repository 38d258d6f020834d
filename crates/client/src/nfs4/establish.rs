//! Becoming known to the server: EXCHANGE_ID, CREATE_SESSION, and the connection of the backchannel (RFC 8881
//! §2.10, §18.34–§18.36).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use proto::nfs4::{
    BindConnToSessionArgs, BindConnToSessionResult, COMPOUND, CallbackAuthSys, CallbackSecurity,
    ChannelAttributes, CompoundBuilder, CompoundReader, CreateSessionArgs, CreateSessionResult,
    DirectionFromClient, ExchangeIdArgs, ExchangeIdResult, ImplementationId, Operation, PROGRAM, SessionId,
    StateProtect, VERSION, exchange_flags, session_flags,
};
use rpc_net::Client;
use xdr::{Decode, Encode};

use super::callback::{CALLBACK_PROGRAM, CALLBACK_SLOTS};
use super::compound::Results;
use super::core::{Core, Incarnation};
use super::gate::Session;
use crate::call::{call_error, host_name};
use crate::error::{Error, Result};
use crate::tap::{Cost, Request};

/// Room in a record for everything but file data, in bytes.
pub(super) const OVERHEAD_BYTES: u32 = 4096;
/// The largest reply that a server may be asked to keep, in bytes.
/// It holds the results of a batch that fills the operations below.
const CACHED_BYTES_MAX: u32 = 16 << 10;
/// Of a batch; single operations need a handful.
const OPERATIONS_MAX: u32 = 256;
/// How this project's server names itself.
const SERVER_DOMAIN: &str = "primetime.invalid";
const CALLBACK_BYTES_MAX: u32 = 8192;
const CALLBACK_OPERATIONS_MAX: u32 = 8;

impl Core {
    /// Becomes a client of the server: what an earlier incarnation held is to be reclaimed. Returns the
    /// session that goes with it.
    pub(super) async fn establish(self: &Arc<Self>) -> Result<Arc<Session>> {
        let args = ExchangeIdArgs {
            owner: self.owner.lock().clone(),
            flags: exchange_flags::USE_NON_PNFS,
            state_protect: StateProtect::None,
            implementation: Vec::new(),
        };
        let result: ExchangeIdResult = self.raw(&self.connections[0], Operation::ExchangeId, &args).await?;
        let is_ours = |one: &ImplementationId| &one.domain[..] == SERVER_DOMAIN.as_bytes();
        self.is_known_well.store(result.implementation.iter().any(is_ours), Ordering::Relaxed);
        {
            let mut incarnation = self.incarnation.lock();
            // A server that knows us still has everything (RFC 8881 §18.35.4, case 2).
            let is_known =
                result.flags & exchange_flags::CONFIRMED != 0 && result.client == incarnation.client;
            if !is_known {
                self.lease.begin_epoch();
            }
            *incarnation = Incarnation { client: result.client, sequence: result.sequence };
        }
        self.create_session().await
    }

    /// Makes a session of the present client.
    pub(super) async fn create_session(self: &Arc<Self>) -> Result<Arc<Session>> {
        let incarnation = *self.incarnation.lock();
        let args = CreateSessionArgs {
            client: incarnation.client,
            sequence: incarnation.sequence,
            flags: session_flags::CONN_BACK_CHAN | session_flags::PERSIST,
            fore_channel: self.fore_channel(),
            back_channel: back_channel(),
            callback_program: CALLBACK_PROGRAM,
            callback_security: vec![CallbackSecurity::Sys(CallbackAuthSys {
                stamp: 0,
                machine_name: host_name(),
                uid: self.options.uid,
                gid: self.options.gid,
                gids: Vec::new(),
            })],
        };
        let generation = self.connections[0].generation();
        let result: CreateSessionResult =
            self.raw(&self.connections[0], Operation::CreateSession, &args).await?;
        self.incarnation.lock().sequence = incarnation.sequence.next();
        self.bound_generation.store(generation, Ordering::SeqCst);
        if result.flags & session_flags::CONN_BACK_CHAN == 0 && self.options.delegations {
            tracing::info!("the server has no backchannel on this connection; it will grant no delegations");
        }
        self.callbacks.begin(result.session);
        let slots = result.fore_channel.requests_max;
        *self.fore_channel.lock() = Some(result.fore_channel);
        Ok(Session::new(result.session, self.epoch(), slots, self.options.slots_max))
    }

    /// Lets the server use the first connection for callbacks, after it was made anew.
    pub(super) async fn bind(self: &Arc<Self>, session: SessionId) -> Result<()> {
        let generation = self.connections[0].generation();
        let args = BindConnToSessionArgs { session, direction: DirectionFromClient::ForeOrBoth, rdma: false };
        let _: BindConnToSessionResult =
            self.raw(&self.connections[0], Operation::BindConnToSession, &args).await?;
        self.bound_generation.store(generation, Ordering::SeqCst);
        Ok(())
    }

    /// A COMPOUND of one operation outside of any session.
    pub(super) async fn raw<T: Decode>(
        &self,
        connection: &Client,
        operation: Operation,
        args: &impl Encode,
    ) -> Result<T> {
        let mut results = self
            .raw_compound(connection, operation, |builder| {
                builder.push(operation, args);
            })
            .await?;
        results.get(operation)
    }

    async fn raw_compound(
        &self,
        connection: &Client,
        principal: Operation,
        build: impl Fn(&mut CompoundBuilder<'_>),
    ) -> Result<Results> {
        let name = principal.name();
        self.tap.operation(principal);
        let sent = self.tap.send(Request::Nfs4(principal));
        let answer = connection
            .call(PROGRAM, VERSION, COMPOUND, |to| {
                let mut builder = CompoundBuilder::begin(to, self.minor_version);
                build(&mut builder);
                builder.finish();
            })
            .await;
        match answer {
            Ok(reply) => {
                sent.answered(Cost::from(&reply));
                let reader =
                    CompoundReader::new(reply.results).map_err(|error| Error::misbehaved(name, error))?;
                Ok(Results { operation: name, epoch: self.epoch(), reader })
            }
            Err(error) => {
                sent.unanswered();
                Err(call_error(name, error, true))
            }
        }
    }

    fn fore_channel(&self) -> ChannelAttributes {
        ChannelAttributes {
            header_pad_bytes: 0,
            request_bytes_max: self.options.write_bytes_max + OVERHEAD_BYTES,
            response_bytes_max: self.options.read_bytes_max + OVERHEAD_BYTES,
            cached_response_bytes_max: CACHED_BYTES_MAX,
            operations_max: OPERATIONS_MAX,
            requests_max: self.options.slots_max,
            rdma_ird: Vec::new(),
        }
    }
}

fn back_channel() -> ChannelAttributes {
    ChannelAttributes {
        header_pad_bytes: 0,
        request_bytes_max: CALLBACK_BYTES_MAX,
        response_bytes_max: CALLBACK_BYTES_MAX,
        cached_response_bytes_max: CALLBACK_BYTES_MAX,
        operations_max: CALLBACK_OPERATIONS_MAX,
        requests_max: CALLBACK_SLOTS,
        rdma_ird: Vec::new(),
    }
}

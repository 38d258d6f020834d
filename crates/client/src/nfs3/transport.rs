//! Calls of NFSv3, MOUNT, NLM and the port mapper: sent, counted, decoded.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use proto::nfs3;
use rpc::{CallError, Refusal};
use rpc_net::{Client, ClientOptions};
use xdr::{Decode, Decoder, Encoder};

use super::reclaim::{ConnectionEnd, LockWatch};
use crate::call::{call_error, credentials};
use crate::error::{Error, Result};
use crate::options::Options;
use crate::server::Server;
use crate::tap::{Cost, Request, Tap};
use crate::transport_security;

/// The first pause after NFS3ERR_JUKEBOX; it doubles up to [`PAUSE_MAX`].
const PAUSE: Duration = Duration::from_millis(1);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// A time that nobody lives to see the end of: thirty years.
const FOR_EVER: Duration = Duration::from_secs(30 * 365 * 86_400);

/// The connections to a server that speaks NFSv3.
#[derive(Debug)]
pub(super) struct Transport {
    connections: Vec<Client>,
    next: AtomicUsize,
    tap: Arc<Tap>,
}

impl Transport {
    pub(super) async fn connect(
        server: &Server,
        options: &Options,
        tap: &Arc<Tap>,
        locks: &Arc<LockWatch>,
    ) -> Result<Self> {
        let client_options = client_options(server, (nfs3::PROGRAM, nfs3::VERSION), options)?;
        let mut connections = Vec::new();
        for _ in 0..options.connections.max(1) {
            let end = Arc::new(ConnectionEnd(Arc::clone(locks)));
            let connection = Client::connect_with_callbacks(server.address, client_options.clone(), end);
            connections.push(connection.await.map_err(|error| Error::Transport(error.to_string()))?);
        }
        Ok(Self { connections, next: AtomicUsize::new(0), tap: Arc::clone(tap) })
    }

    /// The connection that takes the next request.
    pub(super) fn connection(&self) -> &Client {
        match &self.connections[..] {
            [only] => only,
            all => &all[self.next.fetch_add(1, Ordering::Relaxed) % all.len()],
        }
    }

    pub(super) fn tap(&self) -> &Arc<Tap> {
        &self.tap
    }

    pub(super) fn all(&self) -> &[Client] {
        &self.connections
    }

    /// How often connections have been made: it differs when calls may have been sent twice.
    pub(super) fn generations(&self) -> u64 {
        self.connections.iter().map(Client::generation).sum()
    }

    /// A procedure of NFSv3; its failure is an error, whose body is passed over.
    pub(super) async fn ok<R: nfs3::Request>(&self, arguments: &R) -> Result<R::Ok> {
        self.reply(arguments).await?.into_result().map_err(|(status, _)| failure(R::PROCEDURE, status))
    }

    /// As [`Transport::ok`], for what must not be carried out twice. When the call may have been, `repeated`
    /// is the answer to the second time: then nobody knows what the first did.
    pub(super) async fn once<R: nfs3::Request>(
        &self,
        arguments: &R,
        repeated: nfs3::Status,
    ) -> Result<R::Ok> {
        let before = self.generations();
        match self.reply(arguments).await?.into_result() {
            Ok(ok) => Ok(ok),
            Err((status, _)) if status == repeated && self.generations() != before => {
                Err(Error::UncertainOutcome { operation: R::PROCEDURE.name() })
            }
            Err((status, _)) => Err(failure(R::PROCEDURE, status)),
        }
    }

    /// A procedure of NFSv3.
    pub(super) async fn reply<R: nfs3::Request>(&self, arguments: &R) -> Result<nfs3::Reply<R::Ok, R::Fail>> {
        self.reply_to::<R>(|to| to.put(arguments)).await
    }

    /// As [`Transport::reply`], with arguments that the caller encodes. Asks again when the server is not
    /// ready.
    pub(super) async fn reply_to<R: nfs3::Request>(
        &self,
        arguments: impl Fn(&mut Encoder),
    ) -> Result<nfs3::Reply<R::Ok, R::Fail>> {
        let mut pause = PAUSE;
        loop {
            let numbers = (nfs3::PROGRAM, nfs3::VERSION, R::PROCEDURE.number());
            let request = Request::Nfs3(R::PROCEDURE);
            let reply: nfs3::Reply<R::Ok, R::Fail> =
                self.call(self.connection(), numbers, request, &arguments).await?;
            if reply.status() != nfs3::Status::Jukebox {
                return Ok(reply);
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// Any call.
    pub(super) async fn call<T: Decode>(
        &self,
        connection: &Client,
        (program, version, procedure): (u32, u32, u32),
        request: Request,
        arguments: impl Fn(&mut Encoder),
    ) -> Result<T> {
        let name = request.name();
        let sent = self.tap.send(request);
        match connection.call(program, version, procedure, |to| arguments(to)).await {
            Ok(reply) => {
                sent.answered(Cost::from(&reply));
                decode(reply.results).map_err(|error| Error::misbehaved(name, error))
            }
            Err(error) => {
                sent.unanswered();
                Err(call_error(name, error, is_repeatable(request)))
            }
        }
    }
}

/// Makes a connection to a program in a version, over which calls are repeated when it is lost.
pub(super) async fn connect(server: &Server, program: (u32, u32), options: &Options) -> Result<Client> {
    let options = client_options(server, program, options)?;
    Client::connect(server.address, options).await.map_err(|error| Error::Transport(error.to_string()))
}

fn client_options(server: &Server, program: (u32, u32), options: &Options) -> Result<ClientOptions> {
    Ok(ClientOptions {
        credentials: credentials(options),
        call_timeout: options.time_limit().unwrap_or(FOR_EVER),
        retransmit: true,
        attempt_timeout: Some(options.timeout),
        resolver: server.resolver(),
        tcp: options.tcp,
        upgrade: transport_security::demand(server, program, options)?,
        ..ClientOptions::default()
    })
}

/// True when the server does not have the program, here at least.
pub(super) fn is_unavailable(error: &CallError) -> bool {
    matches!(
        error,
        CallError::Refused(Refusal::ProgramUnavailable | Refusal::ProgramMismatch { .. })
            | CallError::Connect(_)
    )
}

pub(super) fn failure(procedure: nfs3::Procedure, status: nfs3::Status) -> Error {
    Error::server(procedure.name(), status)
}

fn decode<T: Decode>(mut results: Decoder) -> xdr::Result<T> {
    let value = results.get()?;
    results.finish()?;
    Ok(value)
}

/// True when it does not matter whether a request was carried out once, twice or not at all.
fn is_repeatable(request: Request) -> bool {
    use nfs3::Procedure as P;
    match request {
        Request::Nfs3(procedure) => !matches!(
            procedure,
            P::Create | P::MkDir | P::Symlink | P::MkNod | P::Remove | P::RmDir | P::Rename | P::Link
        ),
        _ => true,
    }
}

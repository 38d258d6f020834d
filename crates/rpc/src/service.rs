//! The service that answers calls, and the connection that they arrive on. No type of a runtime appears here.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use xdr::{Decoder, Encoder};

use crate::auth::{Authenticator, Caller, Channel, Pass, SystemAuthenticator};
use crate::{CallHeader, Refusal};

/// A boxed future.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A call as a service sees it.
pub struct Call<'a> {
    /// Its head.
    pub header: &'a CallHeader,
    /// Its caller.
    pub caller: &'a Caller,
    /// The other end.
    pub peer: SocketAddr,
    /// The connection that it came on.
    pub connection: &'a Arc<dyn Connection>,
    /// Stands at the arguments.
    pub arguments: Decoder,
}

/// What carries calls and replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Transport {
    /// A stream of records.
    Tcp,
    /// Single datagrams.
    Udp,
}

/// A connection as a service sees it.
pub trait Connection: Send + Sync {
    /// Unique in this process.
    fn id(&self) -> u64;

    /// The other end.
    fn peer(&self) -> SocketAddr;

    /// Our own end, where it is known: on a socket for datagrams to any address it is not.
    fn local(&self) -> Option<SocketAddr> {
        None
    }

    /// What carries it.
    fn transport(&self) -> Transport {
        Transport::Tcp
    }

    /// The protection of the connection as a whole; it changes at most once.
    fn channel(&self) -> &Channel {
        &Channel::Plain
    }

    /// False once the connection is lost.
    fn is_open(&self) -> bool;

    /// True while the call that is polled is the only one of the connection, as those before it were: no
    /// other call of the connection is kept waiting if the thread waits in it. False as soon as the call has
    /// been pending.
    fn is_only_call(&self) -> bool {
        false
    }

    /// The thread has waited in the only call, so that others may have come.
    fn note_wait(&self) {}

    /// The call that is polled may append so many more bytes to its reply. The handler says so before.
    fn expect_reply(&self, _bytes: usize) {}

    /// Whether the call that is polled may be cancelled when the connection is lost. A call of which the
    /// handler does not say so is not cancelled.
    fn set_cancellable(&self, _is_cancellable: bool) {}

    /// Calls the other end over the same connection (RFC 8881 §2.10.3.1) with the credential and protection
    /// of `pass`, and yields the results without their protection. Where nothing can be called back, as over
    /// datagrams, that is [`CallError::Disconnected`].
    fn call(
        &self,
        _program: u32,
        _version: u32,
        _procedure: u32,
        _pass: Pass,
        _arguments: Vec<u8>,
        _timeout: Duration,
    ) -> BoxFuture<Result<Bytes, CallError>> {
        Box::pin(std::future::ready(Err(CallError::Disconnected)))
    }
}

/// Whether a call is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disposition {
    /// With the results that were appended.
    Reply,
    /// Not at all; the caller will send it again if it still cares.
    Drop,
}

/// Answers calls.
pub trait Service: Send + Sync + 'static {
    /// Appends the results of `call` to `reply`, or says why there are none. `reply` already holds the head
    /// of the message: what was there on entry must stay.
    fn call(
        &self,
        call: Call<'_>,
        reply: &mut Encoder,
    ) -> impl Future<Output = Result<Disposition, Refusal>> + Send;

    /// The judge of callers.
    fn authenticator(&self) -> Arc<dyn Authenticator> {
        Arc::new(SystemAuthenticator)
    }

    /// A connection was accepted. What is done on it comes afterwards.
    fn connected(&self) {}

    /// A connection was closed at once, for there were too many.
    fn refused(&self) {}

    /// A connection was closed so that another could be accepted.
    fn gave_way(&self) {}

    /// A connection was closed because its upgrade came out of order, failed, or took too long.
    fn upgrade_failed(&self) {}

    /// True while a connection is the only one that carries the callbacks of a client: it is not closed for
    /// being idle.
    fn is_only_backchannel(&self, _connection: u64) -> bool {
        false
    }

    /// A connection that was accepted is gone.
    fn disconnected(&self, _connection: u64) {}
}

/// Has no program at all.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoService;

impl Service for NoService {
    async fn call(&self, _call: Call<'_>, _reply: &mut Encoder) -> Result<Disposition, Refusal> {
        Err(Refusal::ProgramUnavailable)
    }
}

/// Why a call has no results, and whose fault it was.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// There is no connection, and none could be made; nothing was sent.
    #[error("cannot connect: {0}")]
    Connect(std::io::Error),
    /// The connection was lost after the call was sent: whether it was carried out is unknown.
    #[error("the connection was lost before the answer came")]
    Disconnected,
    /// No answer came in time: whether it was carried out is unknown.
    #[error("no answer in time")]
    Timeout,
    /// The server refused the call.
    #[error(transparent)]
    Refused(Refusal),
    /// The answer breaks the protocol.
    #[error("the answer cannot be decoded: {0}")]
    Protocol(xdr::Error),
    /// The call is larger than the connection carries, in bytes; nothing was sent.
    #[error("a call of {0} bytes is too large")]
    TooLarge(usize),
    /// The user for whom it was to be made has no credential; nothing was sent.
    #[error("there is no credential for user {0}")]
    NoCredential(u32),
    /// The answer does not prove that it is the server's: whether the call was carried out is unknown.
    #[error("the answer is not proven to be the server's")]
    Unproven,
    /// Too many calls wait for their answers; nothing was sent.
    #[error("too many calls under way")]
    Busy,
}

impl CallError {
    /// True where nothing of the call has left.
    #[must_use]
    pub fn was_not_sent(&self) -> bool {
        matches!(self, Self::Connect(_) | Self::TooLarge(_) | Self::Busy | Self::NoCredential(_))
    }
}

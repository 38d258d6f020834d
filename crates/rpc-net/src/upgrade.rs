//! One upgrade of a connection from plain to protected (RFC 9289 §4.1).

use std::fmt;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use bytes::{Bytes, BytesMut};
use rpc::auth::{AUTH_NONE, AUTH_TLS, Channel, OpaqueAuth, PeerCertificate, STARTTLS};
use rpc::{BoxFuture, CallHeader, Credential, RecordLimits, RecordReader};

use crate::call_frame::{frame_call, with_verifier};
use crate::prefixed::Prefixed;
use crate::stream::Stream;

/// Makes a protected stream of a plain one by a handshake with the other end. A server and a client have one
/// each: they play different parts in the handshake.
pub trait Upgrade: fmt::Debug + Send + Sync + 'static {
    /// Performs the handshake over `stream`, which has no other user from now on. The future is dropped when
    /// it takes too long. Its memory must have a bound whatever the other end sends.
    ///
    /// # Errors
    /// Any error ends the connection.
    fn upgrade(&self, stream: Arc<dyn Stream>) -> BoxFuture<io::Result<Upgraded>>;
}

/// The identity of the object is compared.
impl PartialEq for dyn Upgrade {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::addr_eq(self, other)
    }
}

impl Eq for dyn Upgrade {}

/// The outcome of a handshake.
#[derive(Debug)]
pub struct Upgraded {
    /// The stream of all further records. Its low-water mark is 1 byte.
    pub stream: Box<dyn Stream>,
    /// The certificate by which the other end was authenticated, if it was ([`Channel::Upgraded`]).
    pub peer: Option<Arc<PeerCertificate>>,
}

/// The upgrade that a client demands of its server before the first call on each connection.
#[derive(Debug, Clone)]
pub struct UpgradeDemand {
    /// The program of the NULL call that asks for the upgrade.
    pub program: u32,
    /// The version of the program.
    pub version: u32,
    /// The client's part of the handshake.
    pub upgrade: Arc<dyn Upgrade>,
}

/// The longest reply to a probe in bytes: a head with the longest verifier.
const PROBE_REPLY_BYTES_MAX: usize = 512;

impl UpgradeDemand {
    /// Asks the server for the upgrade, performs the handshake when the server offers it, and has one NULL
    /// call answered: a client's handshake ends before the server has looked at the client's certificate.
    ///
    /// # Errors
    /// `Unsupported` when the server does not offer it; `InvalidData` when bytes follow the offer; those of
    /// the stream and of the handshake.
    pub(crate) async fn perform(
        &self,
        stream: Arc<dyn Stream>,
        mut next_xid: impl FnMut() -> u32,
    ) -> io::Result<Upgraded> {
        let probe = Credential::Other { flavor: AUTH_TLS, body: Bytes::new() };
        let offer = OpaqueAuth { flavor: AUTH_NONE, body: STARTTLS };
        if !self.null(&*stream, next_xid(), &probe, |verifier| verifier == offer).await? {
            let sentence = "the server does not offer the upgrade of the connection that this client demands";
            return Err(io::Error::new(io::ErrorKind::Unsupported, sentence));
        }
        let upgraded = self.upgrade.upgrade(stream).await?;
        if !self.null(&*upgraded.stream, next_xid(), &Credential::None, |_| true).await? {
            let sentence = "the server refuses NULL after the upgrade of the connection";
            return Err(io::Error::new(io::ErrorKind::InvalidData, sentence));
        }
        Ok(upgraded)
    }

    /// Calls NULL; true for a success with a verifier that `check` accepts.
    async fn null(
        &self,
        stream: &dyn Stream,
        xid: u32,
        credential: &Credential,
        check: impl FnOnce(OpaqueAuth<'_>) -> bool,
    ) -> io::Result<bool> {
        let header = CallHeader { xid, program: self.program, version: self.version, procedure: 0 };
        let written = write_all(stream, &frame_call(&header, credential, |_| ())).await;
        // A server that ends the connection may have said before why.
        let reply = read_only_record(stream).await.map_err(|unread| match unread.kind() {
            io::ErrorKind::UnexpectedEof => written.err().unwrap_or(unread),
            _ => unread,
        });
        let is_accepted =
            with_verifier(reply?, xid, |verifier, results| results.is_empty() && check(verifier));
        Ok(is_accepted == Some(true))
    }
}

/// Reads a record that nothing follows.
async fn read_only_record(stream: &dyn Stream) -> io::Result<Bytes> {
    let limits = RecordLimits { record_bytes_max: PROBE_REPLY_BYTES_MAX, fragments_max: 16 };
    let mut reader = RecordReader::new(limits);
    loop {
        if let Some(record) = reader.next_record().map_err(io::Error::other)? {
            return match reader.is_partial() {
                false => Ok(record),
                true => Err(io::Error::new(io::ErrorKind::InvalidData, "bytes follow the reply to NULL")),
            };
        }
        poll_fn(|context| stream.poll_read_ready(context)).await?;
        match stream.try_read(reader.buffer()) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}

/// Writes all of `bytes`.
async fn write_all(stream: &dyn Stream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        poll_fn(|context| stream.poll_write_ready(context)).await?;
        match stream.try_write(&[IoSlice::new(bytes)]) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The first byte of a TLS handshake (RFC 8446 §5.1).
pub(crate) const HANDSHAKE_BYTE: u8 = 0x16;

/// The bytes of a connection before the server's part of a handshake.
#[derive(Debug)]
pub(crate) struct BeforeUpgrade {
    /// Replies that are to be sent, up to the offer.
    pub(crate) replies: Vec<u8>,
    /// The beginning of the handshake, where it was received already.
    pub(crate) received: BytesMut,
}

impl BeforeUpgrade {
    /// Sends the replies completely, then performs the server's part of the handshake.
    pub(crate) async fn upgrade(
        self,
        stream: Arc<dyn Stream>,
        upgrade: Arc<dyn Upgrade>,
    ) -> io::Result<Upgraded> {
        write_all(&*stream, &self.replies).await?;
        let stream = match self.received.is_empty() {
            true => stream,
            false => Arc::new(Prefixed::new(stream, self.received)),
        };
        upgrade.upgrade(stream).await
    }
}

/// The stream of a connection: the one that it began with, or the one after its upgrade.
#[derive(Debug)]
pub(crate) struct CurrentStream {
    first: Arc<dyn Stream>,
    upgraded: OnceLock<(Box<dyn Stream>, Channel)>,
}

impl CurrentStream {
    pub(crate) fn new(first: Arc<dyn Stream>) -> Self {
        Self { first, upgraded: OnceLock::new() }
    }

    /// The stream that the connection began with.
    pub(crate) fn first(&self) -> Arc<dyn Stream> {
        Arc::clone(&self.first)
    }

    /// Replaces the first stream. A second replacement is ignored.
    pub(crate) fn replace(&self, upgraded: Upgraded) {
        let channel = Channel::Upgraded { peer: upgraded.peer };
        let is_first = self.upgraded.set((upgraded.stream, channel)).is_ok();
        debug_assert!(is_first, "a connection is upgraded at most once");
    }

    pub(crate) fn is_upgraded(&self) -> bool {
        self.upgraded.get().is_some()
    }

    pub(crate) fn channel(&self) -> &Channel {
        self.upgraded.get().map_or(&Channel::Plain, |(_, channel)| channel)
    }
}

impl Deref for CurrentStream {
    type Target = dyn Stream;

    fn deref(&self) -> &Self::Target {
        match self.upgraded.get() {
            None => &*self.first,
            Some((stream, _)) => &**stream,
        }
    }
}

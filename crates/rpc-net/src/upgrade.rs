//! One upgrade of a connection from plain to protected (RFC 9289 §4.1).

use std::fmt;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use rpc::auth::{AUTH_NONE, AUTH_TLS, Channel, OpaqueAuth, STARTTLS};
use rpc::{BoxFuture, CallHeader, Credential, RecordLimits, RecordReader};

use crate::call_frame::{frame_call, with_verifier};
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
    /// The name under which the other end was authenticated, if it was ([`Channel::Upgraded`]).
    pub peer_name: Option<Bytes>,
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
    /// Asks the server for the upgrade, and performs the handshake when the server offers it.
    ///
    /// # Errors
    /// `Unsupported` when the server does not offer it; `InvalidData` when bytes follow the offer; those of
    /// the stream and of the handshake.
    pub(crate) async fn perform(&self, stream: Arc<dyn Stream>, xid: u32) -> io::Result<Upgraded> {
        let header = CallHeader { xid, program: self.program, version: self.version, procedure: 0 };
        let credential = Credential::Other { flavor: AUTH_TLS, body: Bytes::new() };
        write_all(&*stream, &frame_call(&header, &credential, |_| ())).await?;
        let reply = read_only_record(&*stream).await?;
        let offer = OpaqueAuth { flavor: AUTH_NONE, body: STARTTLS };
        let is_offered =
            with_verifier(reply, xid, |verifier, results| verifier == offer && results.is_empty());
        if is_offered != Some(true) {
            let sentence = "the server does not offer the upgrade of the connection that this client demands";
            return Err(io::Error::new(io::ErrorKind::Unsupported, sentence));
        }
        self.upgrade.upgrade(stream).await
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
                true => {
                    Err(io::Error::new(io::ErrorKind::InvalidData, "bytes follow the offer of an upgrade"))
                }
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

/// Sends the replies up to the offer completely, then performs the server's part of the handshake.
pub(crate) async fn reply_and_upgrade(
    stream: Arc<dyn Stream>,
    replies: Vec<u8>,
    upgrade: Arc<dyn Upgrade>,
) -> io::Result<Upgraded> {
    write_all(&*stream, &replies).await?;
    upgrade.upgrade(stream).await
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
        let channel = Channel::Upgraded { peer_name: upgraded.peer_name };
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

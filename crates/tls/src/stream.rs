//! A stream that carries TLS records over another stream.

use std::fmt;
use std::io::{self, BufRead, IoSlice, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use bytes::{Buf, BytesMut};
use parking_lot::Mutex;
use rpc_net::Stream;
use rustls::Connection;

use crate::error;

/// Room for ciphertext that was received and not decrypted, in bytes: sixteen records of the largest size.
const RECEIVE_BYTES: usize = 256 << 10;

/// The most plaintext that is encrypted in one write, in bytes: more waits until it is sent.
const SEND_BYTES_MAX: usize = 256 << 10;

/// TLS over another stream. Both directions share a lock: rustls keeps one state for both.
pub(crate) struct TlsStream {
    inner: Arc<dyn Stream>,
    trust: Arc<StreamTrust>,
    state: Mutex<State>,
}

/// Ends a stream whose peer is not trusted any more. It does not keep the stream.
#[derive(Debug)]
pub(crate) struct StreamTrust {
    inner: Arc<dyn Stream>,
    is_lost: AtomicBool,
}

impl StreamTrust {
    /// Ends the stream. Bytes of the peer that no reader has yet are dropped.
    pub(crate) fn revoke(&self) {
        self.is_lost.store(true, Ordering::Release);
        self.inner.shut_down();
    }

    fn check(&self) -> io::Result<()> {
        if self.is_lost.load(Ordering::Acquire) {
            let sentence = "the peer's certificate is not trusted any more";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, sentence));
        }
        Ok(())
    }
}

struct State {
    connection: Connection,
    /// Ciphertext that was received and not decrypted.
    received: BytesMut,
    /// Whether decrypted bytes wait for a reader.
    has_plaintext: bool,
    /// Plaintext bytes that were encrypted, and whose ciphertext is not sent completely. They are reported as
    /// written when it is: the writer comes back with the same bytes until then.
    unreported: usize,
}

impl TlsStream {
    /// The stream after a handshake. `received` is ciphertext that came behind it.
    pub(crate) fn new(inner: Arc<dyn Stream>, mut connection: Connection, received: BytesMut) -> Self {
        connection.set_buffer_limit(None);
        // Records that came with the end of the handshake may be decrypted already; the first read looks.
        let state = State { connection, received, has_plaintext: true, unreported: 0 };
        let trust = Arc::new(StreamTrust { inner: Arc::clone(&inner), is_lost: AtomicBool::new(false) });
        Self { inner, trust, state: Mutex::new(state) }
    }

    /// For the time after the handshake.
    pub(crate) fn trust(&self) -> &Arc<StreamTrust> {
        &self.trust
    }

    /// Reads with `receive`, which appends ciphertext to its buffer.
    fn read(
        &self,
        buffer: &mut BytesMut,
        receive: impl Fn(&mut BytesMut) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let state = &mut *self.state.lock();
        loop {
            self.trust.check()?;
            if let Some(count) = state.take_plaintext(buffer)? {
                return Ok(count);
            }
            if !state.decrypt(&*self.inner)? {
                state.received.reserve(RECEIVE_BYTES);
                // An end without close_notify is an end as well: record marks show complete messages.
                if receive(&mut state.received)? == 0 {
                    return Ok(0);
                }
            }
        }
    }
}

impl State {
    /// Moves decrypted bytes to the end of `buffer`; 0 is the end, `None` that there are none yet.
    fn take_plaintext(&mut self, buffer: &mut BytesMut) -> io::Result<Option<usize>> {
        let mut count = 0;
        while self.has_plaintext && buffer.len() < buffer.capacity() {
            let mut reader = self.connection.reader();
            let chunk = match reader.fill_buf() {
                // The peer has sent close_notify.
                Ok([]) => return Ok(Some(count)),
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.has_plaintext = false;
                    break;
                }
                Err(error) => return Err(error),
            };
            let taken = chunk.len().min(buffer.capacity() - buffer.len());
            buffer.extend_from_slice(&chunk[..taken]);
            reader.consume(taken);
            count += taken;
        }
        Ok((count > 0).then_some(count))
    }

    /// Decrypts what was received; false when more must be received before.
    fn decrypt(&mut self, inner: &dyn Stream) -> io::Result<bool> {
        if self.received.is_empty() {
            return Ok(false);
        }
        let mut ciphertext = &self.received[..];
        let before = ciphertext.len();
        let fed = self.connection.read_tls(&mut ciphertext)?;
        debug_assert_eq!(fed, before - ciphertext.len());
        self.received.advance(fed);
        let processed = self.connection.process_new_packets();
        if self.connection.wants_write() {
            // The answer to a key update, or the alert that says why this is the end. A peer that does not
            // read it gets it with the next write.
            let _ = self.send(inner);
        }
        let state = processed.map_err(error::ended)?;
        self.has_plaintext = state.plaintext_bytes_to_read() > 0 || state.peer_has_closed();
        Ok(true)
    }

    /// Sends the ciphertext.
    fn send(&mut self, inner: &dyn Stream) -> io::Result<()> {
        while self.connection.wants_write() {
            self.connection.write_tls(&mut Sink(inner))?;
        }
        Ok(())
    }

    /// Encrypts `slices` up to a bound; the number of bytes.
    fn encrypt(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut count = 0;
        let mut writer = self.connection.writer();
        for slice in slices {
            let part = &slice[..slice.len().min(SEND_BYTES_MAX - count)];
            writer.write_all(part)?;
            count += part.len();
        }
        Ok(count)
    }
}

impl Stream for TlsStream {
    fn peer(&self) -> SocketAddr {
        self.inner.peer()
    }

    fn local(&self) -> Option<SocketAddr> {
        self.inner.local()
    }

    fn poll_read_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.has_input_here() {
            return Poll::Ready(Ok(()));
        }
        self.inner.poll_read_ready(context)
    }

    fn try_read(&self, buffer: &mut BytesMut) -> io::Result<usize> {
        self.read(buffer, |received| self.inner.try_read(received))
    }

    fn poll_write_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner.poll_write_ready(context)
    }

    fn try_write(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.trust.check()?;
        let state = &mut *self.state.lock();
        state.send(&*self.inner)?;
        if state.unreported == 0 {
            state.unreported = state.encrypt(slices)?;
            state.send(&*self.inner)?;
        }
        let written = std::mem::take(&mut state.unreported);
        debug_assert!(written <= slices.iter().map(|slice| slice.len()).sum(), "other bytes than before");
        Ok(written)
    }

    fn shut_down(&self) {
        self.inner.shut_down();
    }

    fn look(&self, buffer: &mut BytesMut) -> io::Result<usize> {
        self.read(buffer, |received| self.inner.look(received))
    }

    fn has_input(&self) -> bool {
        self.has_input_here() || self.inner.has_input()
    }

    fn is_same_host(&self) -> bool {
        self.inner.is_same_host()
    }

    fn is_ended_by_peer(&self, context: &mut Context<'_>) -> bool {
        self.inner.is_ended_by_peer(context)
    }
}

impl TlsStream {
    /// Whether something was received that no reader has.
    fn has_input_here(&self) -> bool {
        let state = self.state.lock();
        state.has_plaintext || !state.received.is_empty()
    }
}

impl Drop for TlsStream {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        state.connection.send_close_notify();
        // A peer that has gone, or that does not read, does without.
        let _ = state.send(&*self.inner);
    }
}

impl fmt::Debug for TlsStream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TlsStream").field("inner", &self.inner).finish_non_exhaustive()
    }
}

/// Writes into a stream.
pub(crate) struct Sink<'a>(pub(crate) &'a dyn Stream);

impl Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.try_write(slices)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

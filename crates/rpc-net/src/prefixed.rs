//! A stream of which some bytes were read already.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf, BytesMut};
use parking_lot::Mutex;

use crate::stream::Stream;

/// Returns `prefix` to its readers before all that the stream has.
#[derive(Debug)]
pub(crate) struct Prefixed {
    stream: Arc<dyn Stream>,
    prefix: Mutex<BytesMut>,
}

impl Prefixed {
    pub(crate) fn new(stream: Arc<dyn Stream>, prefix: BytesMut) -> Self {
        Self { stream, prefix: Mutex::new(prefix) }
    }

    /// Moves as much of the prefix as `buffer` has room for; `None` when nothing is left of it.
    fn take(&self, buffer: &mut BytesMut) -> Option<usize> {
        let mut prefix = self.prefix.lock();
        if prefix.is_empty() {
            return None;
        }
        let count = prefix.len().min(buffer.capacity() - buffer.len());
        buffer.extend_from_slice(&prefix[..count]);
        prefix.advance(count);
        if prefix.is_empty() {
            *prefix = BytesMut::new();
        }
        Some(count)
    }

    fn has_prefix(&self) -> bool {
        !self.prefix.lock().is_empty()
    }
}

impl Stream for Prefixed {
    fn peer(&self) -> SocketAddr {
        self.stream.peer()
    }

    fn local(&self) -> Option<SocketAddr> {
        self.stream.local()
    }

    fn poll_read_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.has_prefix() { Poll::Ready(Ok(())) } else { self.stream.poll_read_ready(context) }
    }

    fn try_read(&self, buffer: &mut BytesMut) -> io::Result<usize> {
        self.take(buffer).map_or_else(|| self.stream.try_read(buffer), Ok)
    }

    fn poll_write_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.poll_write_ready(context)
    }

    fn try_write(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.stream.try_write(slices)
    }

    fn shut_down(&self) {
        self.stream.shut_down();
    }

    fn look(&self, buffer: &mut BytesMut) -> io::Result<usize> {
        self.take(buffer).map_or_else(|| self.stream.look(buffer), Ok)
    }

    fn has_input(&self) -> bool {
        self.has_prefix() || self.stream.has_input()
    }

    fn is_same_host(&self) -> bool {
        self.stream.is_same_host()
    }

    fn is_ended_by_peer(&self, context: &mut Context<'_>) -> bool {
        !self.has_prefix() && self.stream.is_ended_by_peer(context)
    }
}

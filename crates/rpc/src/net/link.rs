//! The part of a connection that its driver shares with those who call over it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use xdr::{Decoder, Encode, Encoder};

use super::outgoing::Outgoing;
use crate::message::{self, CallHeader};
use crate::service::{BoxFuture, CallError, Connection};
use crate::{Credential, record};

/// The most calls of ours that wait for their answers on one connection.
const PENDING_MAX: usize = 65_536;

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// A reply as it arrived: the decoder stands behind xid and type.
#[derive(Debug)]
pub(super) struct RawReply {
    pub(super) rest: Decoder,
    pub(super) bytes: usize,
    pub(super) received: Instant,
}

#[derive(Debug)]
pub(super) struct Link {
    id: u64,
    peer: SocketAddr,
    pub(super) stream: TcpStream,
    pub(super) outgoing: Outgoing,
    open: AtomicBool,
    next_xid: AtomicU32,
    pending: Mutex<BTreeMap<u32, oneshot::Sender<RawReply>>>,
    itself: Weak<Link>,
}

impl Link {
    pub(super) fn new(stream: TcpStream) -> std::io::Result<Arc<Self>> {
        stream.set_nodelay(true)?;
        let peer = stream.peer_addr()?;
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        Ok(Arc::new_cyclic(|itself| Self {
            id,
            peer,
            stream,
            outgoing: Outgoing::default(),
            open: AtomicBool::new(true),
            next_xid: AtomicU32::new(1),
            pending: Mutex::default(),
            itself: itself.clone(),
        }))
    }

    pub(super) fn next_xid(&self) -> u32 {
        self.next_xid.fetch_add(1, Ordering::Relaxed)
    }

    /// Sends a framed call whose answer is expected. The receiver fails when the connection is lost.
    pub(super) fn send(&self, xid: u32, frame: Bytes) -> Result<Pending, CallError> {
        let (sender, receiver) = oneshot::channel();
        {
            let mut pending = self.pending.lock();
            if pending.len() >= PENDING_MAX {
                return Err(CallError::Busy);
            }
            pending.insert(xid, sender);
        }
        let waiting = Pending { xid, link: self.itself.clone(), receiver };
        // Checked after the entry stands: whoever closes the link empties the table afterwards.
        if !self.is_open() || !self.outgoing.push(frame) {
            return Err(CallError::Disconnected);
        }
        self.outgoing.flush_from_caller(&self.stream);
        Ok(waiting)
    }

    /// Hands a reply to its caller. One that nobody waits for is dropped: its caller has given up.
    pub(super) fn deliver(&self, xid: u32, reply: RawReply) {
        let waiting = self.pending.lock().remove(&xid);
        if let Some(sender) = waiting {
            // The caller may give up at this very moment.
            let _ = sender.send(reply);
        }
    }

    /// Ends the connection for everybody.
    pub(super) fn close(&self) {
        self.open.store(false, Ordering::SeqCst);
        self.outgoing.close();
        self.pending.lock().clear();
    }
}

/// A call under way. Dropping it forgets the call.
#[derive(Debug)]
pub(super) struct Pending {
    xid: u32,
    link: Weak<Link>,
    receiver: oneshot::Receiver<RawReply>,
}

impl Pending {
    /// Waits for the answer.
    pub(super) async fn answer(mut self) -> Result<RawReply, CallError> {
        (&mut self.receiver).await.map_err(|_| CallError::Disconnected)
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(link) = self.link.upgrade() {
            link.pending.lock().remove(&self.xid);
        }
    }
}

/// Room for most calls without data, in bytes.
const CALL_BYTES: usize = 512;

/// A whole record that carries a call.
pub(super) fn frame_call(header: &CallHeader, arguments: impl FnOnce(&mut Encoder)) -> Vec<u8> {
    let mut encoder = Encoder::with_buffer(Vec::with_capacity(CALL_BYTES));
    encoder.u32(0);
    header.encode(&mut encoder);
    arguments(&mut encoder);
    let mut frame = encoder.into_inner();
    let length = frame.len() - 4;
    frame[..4].copy_from_slice(&record::mark(length));
    frame
}

impl Connection for Link {
    fn id(&self) -> u64 {
        self.id
    }

    fn peer(&self) -> SocketAddr {
        self.peer
    }

    fn local(&self) -> Option<SocketAddr> {
        self.stream.local_addr().ok()
    }

    fn is_open(&self) -> bool {
        self.open.load(Ordering::SeqCst)
    }

    fn call(
        &self,
        program: u32,
        version: u32,
        procedure: u32,
        credential: Credential,
        arguments: Vec<u8>,
        timeout: Duration,
    ) -> BoxFuture<Result<Bytes, CallError>> {
        let xid = self.next_xid();
        let header = CallHeader { xid, program, version, procedure, credential };
        let frame = frame_call(&header, |e| e.buffer_mut().extend_from_slice(&arguments));
        let sent = self.send(xid, frame.into());
        Box::pin(async move {
            let reply =
                tokio::time::timeout(timeout, sent?.answer()).await.map_err(|_| CallError::Timeout)??;
            let mut rest = reply.rest;
            message::decode_reply(&mut rest).map_err(CallError::Protocol)?.map_err(CallError::Refused)?;
            Ok(rest.rest())
        })
    }
}

//! The part of a connection that its driver shares with those who call over it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use rpc::auth::{Channel, Pass};
use rpc::{BoxFuture, CallError, CallHeader, Connection};
use tokio::sync::oneshot;
use tokio::time::Instant;
use xdr::Decoder;

use crate::call_frame::{frame_call_with, results_of};
use crate::outgoing::Outgoing;
use crate::places::Activity;
use crate::polled::Polled;
use crate::stream::Stream;
use crate::upgrade::CurrentStream;

/// The most calls of ours that wait for their answers on one connection.
const PENDING_MAX: usize = 65_536;

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// A reply as it arrived: the decoder stands behind xid and type.
#[derive(Debug)]
pub(crate) struct RawReply {
    pub(crate) rest: Decoder,
    pub(crate) bytes: usize,
    pub(crate) received: Instant,
}

#[derive(Debug)]
pub(crate) struct Link {
    id: u64,
    peer: SocketAddr,
    pub(crate) stream: CurrentStream,
    pub(crate) outgoing: Outgoing,
    open: AtomicBool,
    /// Twice the records that have come, and 1 if the connection is busy.
    activity: AtomicU64,
    /// A reply has come.
    is_answered: AtomicBool,
    pub(crate) polled: Arc<Polled>,
    next_xid: AtomicU32,
    calls: Mutex<Calls>,
    itself: Weak<Link>,
}

/// Calls of ours that wait for their answers.
#[derive(Debug, Default)]
struct Calls {
    waiting: BTreeMap<u32, Waiting>,
    /// When the driver looks for those whose time is over; not after the first of them.
    alarm: Option<Instant>,
}

#[derive(Debug)]
struct Waiting {
    caller: oneshot::Sender<Result<RawReply, CallError>>,
    deadline: Instant,
}

impl Link {
    pub(crate) fn new(stream: Arc<dyn Stream>) -> Arc<Self> {
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        Arc::new_cyclic(|itself| Self {
            id,
            peer: stream.peer(),
            stream: CurrentStream::new(stream),
            outgoing: Outgoing::default(),
            open: AtomicBool::new(true),
            activity: AtomicU64::new(0),
            is_answered: AtomicBool::new(false),
            polled: Arc::default(),
            next_xid: AtomicU32::new(1),
            calls: Mutex::default(),
            itself: itself.clone(),
        })
    }

    /// How active the connection is, by its driver's last account.
    pub(crate) fn activity(&self) -> Activity {
        let activity = self.activity.load(Ordering::Relaxed);
        Activity { records: activity >> 1, is_busy: activity & 1 != 0 }
    }

    pub(crate) fn set_activity(&self, activity: Activity) {
        self.activity.store(activity.records << 1 | u64::from(activity.is_busy), Ordering::Relaxed);
    }

    pub(crate) fn next_xid(&self) -> u32 {
        self.next_xid.fetch_add(1, Ordering::Relaxed)
    }

    /// Sends a framed call whose answer is expected until `deadline`: then, the receiver is told
    /// [`CallError::Timeout`]. It fails when the connection is lost.
    pub(crate) fn send<L: Deref<Target = Self>>(
        link: L,
        xid: u32,
        frame: Bytes,
        deadline: Instant,
    ) -> Result<Pending<L>, CallError> {
        let (caller, receiver) = oneshot::channel();
        let is_first_to_end = link.expect(xid, Waiting { caller, deadline })?;
        let pending = Pending { xid, link, is_over: false, receiver };
        let link = &*pending.link;
        // Checked after the entry stands: whoever closes the link empties the table afterwards.
        if !link.is_open() || !link.outgoing.push(frame) {
            return Err(CallError::Disconnected);
        }
        if is_first_to_end {
            link.outgoing.wake_driver();
        }
        link.outgoing.flush_from_caller(&link.stream);
        Ok(pending)
    }

    /// Notes a call that is about to be sent. True when the driver has to set its timer.
    fn expect(&self, xid: u32, waiting: Waiting) -> Result<bool, CallError> {
        let mut calls = self.calls.lock();
        if calls.waiting.len() >= PENDING_MAX {
            return Err(CallError::Busy);
        }
        let is_first_to_end = calls.alarm.is_none_or(|alarm| waiting.deadline < alarm);
        if is_first_to_end {
            calls.alarm = Some(waiting.deadline);
        }
        calls.waiting.insert(xid, waiting);
        Ok(is_first_to_end)
    }

    /// True while a call of ours waits for its answer.
    pub(crate) fn has_calls(&self) -> bool {
        !self.calls.lock().waiting.is_empty()
    }

    /// Whether any reply has come over it.
    pub(crate) fn is_answered(&self) -> bool {
        self.is_answered.load(Ordering::Relaxed)
    }

    /// Hands a reply to its caller. One that nobody waits for is dropped: its caller has given up.
    pub(crate) fn deliver(&self, xid: u32, reply: RawReply) {
        self.is_answered.store(true, Ordering::Relaxed);
        let waiting = self.calls.lock().waiting.remove(&xid);
        if let Some(waiting) = waiting {
            // The caller may give up at this very moment.
            let _ = waiting.caller.send(Ok(reply));
        }
    }

    /// When [`Link::expire`] is to be called, if at all.
    pub(crate) fn alarm(&self) -> Option<Instant> {
        self.calls.lock().alarm
    }

    /// Tells the callers whose time is over, and sets the alarm for the first of the others. Calls come in
    /// the order of their deadlines or nearly so, so that the alarm goes off about once in the time that a
    /// call may take.
    pub(crate) fn expire(&self, now: Instant) {
        let mut calls = self.calls.lock();
        let expired: Vec<_> = calls.waiting.extract_if(.., |_, waiting| waiting.deadline <= now).collect();
        calls.alarm = calls.waiting.values().map(|waiting| waiting.deadline).min();
        drop(calls);
        for (_, waiting) in expired {
            // The caller may give up at this very moment.
            let _ = waiting.caller.send(Err(CallError::Timeout));
        }
    }

    /// Ends the connection for everybody.
    pub(crate) fn close(&self) {
        self.open.store(false, Ordering::SeqCst);
        self.outgoing.close();
        self.calls.lock().waiting.clear();
    }
}

/// A call under way. Dropping it forgets the call.
#[derive(Debug)]
pub(crate) struct Pending<L: Deref<Target = Link>> {
    xid: u32,
    link: L,
    is_over: bool,
    receiver: oneshot::Receiver<Result<RawReply, CallError>>,
}

impl<L: Deref<Target = Link>> Pending<L> {
    /// Waits for the answer.
    pub(crate) async fn answer(mut self) -> Result<RawReply, CallError> {
        let answer = (&mut self.receiver).await;
        self.is_over = true;
        answer.unwrap_or(Err(CallError::Disconnected))
    }
}

impl<L: Deref<Target = Link>> Drop for Pending<L> {
    fn drop(&mut self) {
        if !self.is_over {
            self.link.calls.lock().waiting.remove(&self.xid);
        }
    }
}

impl Connection for Link {
    fn id(&self) -> u64 {
        self.id
    }

    fn peer(&self) -> SocketAddr {
        self.peer
    }

    fn local(&self) -> Option<SocketAddr> {
        self.stream.local()
    }

    fn channel(&self) -> &Channel {
        self.stream.channel()
    }

    fn is_open(&self) -> bool {
        self.open.load(Ordering::SeqCst)
    }

    fn is_only_call(&self) -> bool {
        self.polled.is_only()
    }

    fn note_wait(&self) {
        self.polled.note_wait();
    }

    fn expect_reply(&self, bytes: usize) {
        self.polled.expect_reply(bytes);
    }

    fn set_cancellable(&self, is_cancellable: bool) {
        self.polled.set_cancellable(is_cancellable);
    }

    fn call(
        &self,
        program: u32,
        version: u32,
        procedure: u32,
        pass: Pass,
        arguments: Vec<u8>,
        timeout: Duration,
    ) -> BoxFuture<Result<Bytes, CallError>> {
        let xid = self.next_xid();
        let header = CallHeader { xid, program, version, procedure };
        let (frame, protection) =
            frame_call_with(&header, pass, |to| to.buffer_mut().extend_from_slice(&arguments));
        let sent = match self.itself.upgrade() {
            Some(link) => Self::send(link, xid, frame.into(), Instant::now() + timeout),
            None => Err(CallError::Disconnected),
        };
        Box::pin(async move { Ok(results_of(sent?.answer().await?.rest, protection)?.rest()) })
    }
}

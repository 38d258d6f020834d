//! The task of a connection.

use std::future::{Future, poll_fn};
use std::io;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{self, Duration};

use bytes::{Bytes, BytesMut};
use futures_util::FutureExt;
use futures_util::future::Either;
use rpc::auth::{Answer, AuthStatus, Caller, Callers, Protection, Verdict, Verifier};
use rpc::message::{self, Message};
use rpc::{
    BoxFuture, Call, CallHeader, Connection, Disposition, RecordError, RecordLimits, RecordReader, Refusal,
    Service,
};
use tokio::time::{Instant, Sleep};
use xdr::{Decoder, Encoder};

use crate::busy_poll::{BusyPolls, Habit, Looked};
use crate::link::{Link, RawReply};
use crate::memory::{Charge, ClientAddress, Ledger, MemoryBudget};
use crate::outgoing::Flushed;
use crate::parked::Parked;
use crate::places::Activity;
use crate::turns::{Crowd, Turns};
use crate::upgrade::{BeforeUpgrade, HANDSHAKE_BYTE, Upgrade};

/// Bounds of one connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DriverLimits {
    pub(crate) records: RecordLimits,
    /// Calls that may be parked; beyond, nothing is read.
    pub(crate) in_flight_max: usize,
    /// Bytes of replies that may wait for the socket; beyond, nothing is read.
    pub(crate) outgoing_bytes_max: usize,
    /// How long a part of a record may wait for the rest.
    pub(crate) partial_record_timeout: Duration,
    /// How long the other end may take nothing of the replies that wait for it, if there is a bound.
    pub(crate) unread_timeout: Option<Duration>,
}

/// What the connections of a server share.
#[derive(Debug)]
pub(crate) struct Neighbours {
    pub(crate) busy_polls: BusyPolls,
    pub(crate) crowd: Crowd,
    pub(crate) memory: Arc<MemoryBudget>,
    /// The server's part of the handshake, if it offers to upgrade connections.
    pub(crate) upgrade: Option<Arc<dyn Upgrade>>,
}

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Ended {
    #[error("the other end closed it")]
    ByPeer,
    #[error("it was closed here")]
    ByUs,
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error("a message cannot be decoded: {0}")]
    Message(xdr::Error),
    #[error("half a record for too long")]
    PartialRecord,
    #[error("the other end reads no replies")]
    UnreadReplies,
    #[error("a handler panicked")]
    Panicked,
    /// Not the end: the connection is upgraded behind these replies, and goes on.
    #[error("it is upgraded")]
    ForUpgrade(BeforeUpgrade),
    #[error("the other end asked for an upgrade of the connection with other messages under way")]
    UpgradeOutOfOrder,
    #[error("the upgrade of the connection failed: {0}")]
    UpgradeFailed(io::Error),
    #[error("the upgrade of the connection took too long")]
    UpgradeTimeout,
}

impl Ended {
    fn is_of_upgrade(&self) -> bool {
        matches!(self, Self::UpgradeOutOfOrder | Self::UpgradeFailed(_) | Self::UpgradeTimeout)
    }
}

/// Passes over the socket before other tasks get their turn.
const PASSES_MAX: usize = 16;
/// So many calls that were alone on their connection make it likely that the next is as well: a client that
/// has several under way has that seldom. One that begins to waits for the disk once, together with the calls
/// behind it.
const LONE_CALLS_MIN: usize = 16;
/// A thread that looks for the next call of a caller with one at a time goes back to the runtime after so
/// long, if only to be told whether it is to stop.
const BUSY_POLL_TURN: Duration = Duration::from_millis(10);
/// Bytes of a call or a reply that cost as much as a small call does.
const BYTES_PER_COST: usize = 16 << 10;
/// A record that misses less is waited for as it comes, in bytes.
const LOW_WATER_BYTES_MIN: usize = 128 << 10;
/// No more is waited for at once, in bytes: the rest is read while its sender goes on.
const LOW_WATER_BYTES_MAX: usize = 512 << 10;
/// How often a connection that is not read because of the memory budget looks whether it may be again, if
/// nothing wakes it: the shares change with other clients.
const STOPPED_REVIEW: Duration = Duration::from_millis(100);
/// Reply buffers above this size are not kept for the next request, in bytes.
const KEPT_BUFFER_BYTES: usize = 64 << 10;

/// The answer to a call that asks for an upgrade where there is none.
pub(crate) const NO_UPGRADE: Refusal = Refusal::Authentication(AuthStatus::BadCredential);

/// What a handler leaves: a framed reply, or nothing to send.
type Outcome = std::thread::Result<Option<Vec<u8>>>;

/// Runs a connection to its end. `stop` ends it when its calls are answered.
pub(crate) fn drive<S: Service>(
    link: Arc<Link>,
    service: Arc<S>,
    limits: DriverLimits,
    neighbours: Arc<Neighbours>,
    stop: impl Future<Output = ()> + Send,
) -> impl Future<Output = Ended> + Send {
    // Before the first poll, which may never come.
    service.connected();
    let end = End { link: Arc::clone(&link), service: Arc::clone(&service) };
    run(link, service, limits, neighbours, stop, end)
}

async fn run<S: Service>(
    link: Arc<Link>,
    service: Arc<S>,
    limits: DriverLimits,
    neighbours: Arc<Neighbours>,
    stop: impl Future<Output = ()> + Send,
    end: End<S>,
) -> Ended {
    let connection: Arc<dyn Connection> = Arc::clone(&link) as Arc<dyn Connection>;
    let parties = Arc::new(Parties { service: Arc::clone(&service), connection });
    let make = |turn: Turn, buffer: Vec<u8>| match turn {
        Turn::Call(arrived) => {
            let answered = answer(Arc::clone(&parties), arrived, buffer);
            Either::Left(AssertUnwindSafe(answered).catch_unwind())
        }
        Turn::Control(call) => {
            let answered = answer_control(Arc::clone(&parties.connection), call);
            Either::Right(Box::pin(AssertUnwindSafe(answered).catch_unwind()))
        }
    };
    let account = neighbours.memory.account(ClientAddress::of(link.peer().ip()));
    let mut driver = Driver {
        link: &link,
        limits,
        callers: Callers::new(service.authenticator()),
        reader: RecordReader::new(limits.records),
        records: 0,
        parked: Parked::new(Arc::clone(&link.polled)),
        ledger: Ledger::new(account),
        has_budget_turn: false,
        calls_in_turn: 0,
        review_at: None,
        blocked: None,
        spare: None,
        buffer: Vec::new(),
        buffered_bytes: 0,
        partial_since: None,
        turns: Turns::new(&neighbours.crowd),
        has_left: false,
        corked: false,
        lone_calls: 0,
        habit: Habit::new(),
        busy_polls: &neighbours.busy_polls,
        upgrade: neighbours.upgrade.as_ref(),
        low_water: 1,
        stopping: false,
        make,
    };
    let mut stop = std::pin::pin!(stop.fuse());
    let mut timer = std::pin::pin!(tokio::time::sleep(Duration::from_secs(86_400)));
    let ended = loop {
        let ended = poll_fn(|context| {
            if stop.as_mut().poll(context).is_ready() {
                driver.stopping = true;
            }
            if let Poll::Ready(ended) = driver.poll(context) {
                return Poll::Ready(ended);
            }
            loop {
                let deadlines = driver.deadlines();
                let alarm = link.alarm();
                let Some(deadline) = deadlines.first().into_iter().chain(alarm).min() else {
                    return Poll::Pending;
                };
                if timer.deadline() != deadline {
                    timer.as_mut().reset(deadline);
                }
                if timer.as_mut().poll(context).is_pending() {
                    return Poll::Pending;
                }
                if let Some(ended) = deadlines.passed(deadline) {
                    return Poll::Ready(ended);
                }
                if deadlines.review.is_some_and(|review| review <= deadline) {
                    driver.review_at = None;
                    driver.ledger.review();
                    // The end of the stream lies behind what is not read.
                    if link.stream.is_ended_by_peer(context) {
                        return Poll::Ready(Ended::ByPeer);
                    }
                    if let Poll::Ready(ended) = driver.poll(context) {
                        return Poll::Ready(ended);
                    }
                }
                link.expire(deadline);
            }
        })
        .await;
        let Ended::ForUpgrade(before) = ended else { break ended };
        // Seldom: most connections need no room for it.
        if let Err(ended) = Box::pin(driver.upgrade(before, timer.as_mut(), stop.as_mut())).await {
            break ended;
        }
    };
    if ended.is_of_upgrade() {
        service.upgrade_failed();
    }
    driver.end_budget_turn();
    let Driver { mut parked, mut ledger, .. } = driver;
    drop(end);
    parked.cancel();
    ledger.set_stopped(false);
    ledger.set(Charge::Replies, 0);
    if !parked.is_empty() {
        // Calls that may have changed something are brought to their end, so that a retry finds the result.
        tokio::spawn(parked.finish(ledger));
    }
    ended
}

/// Closes the connection when its task ends, be it that the task is dropped: nobody else would tell who waits
/// on it.
struct End<S: Service> {
    link: Arc<Link>,
    service: Arc<S>,
}

impl<S: Service> Drop for End<S> {
    fn drop(&mut self) {
        self.link.close();
        self.service.disconnected(self.link.id());
    }
}

/// Who answers a call, and what it came over. Each call under way holds both by one count that no other
/// connection writes to.
pub(crate) struct Parties<S> {
    pub(crate) service: Arc<S>,
    pub(crate) connection: Arc<dyn Connection>,
}

/// A call that takes its turn among those of the connection.
pub(crate) enum Turn {
    /// The service answers it.
    Call(Arrived),
    /// The authenticator answers a call of its own ([`Verdict::Later`]).
    Control(ControlCall),
}

/// A call whose caller is believed.
pub(crate) struct Arrived {
    pub(crate) header: CallHeader,
    pub(crate) caller: Arc<Caller>,
    pub(crate) protection: Option<Box<dyn Protection>>,
    /// Stands at the arguments.
    pub(crate) arguments: Decoder,
}

/// A call that the authenticator answers later.
pub(crate) struct ControlCall {
    xid: u32,
    answer: BoxFuture<Result<Answer, Refusal>>,
}

/// Room for the mark, in bytes: the message begins behind it.
const MARK_BYTES: usize = 4;

/// Answers a call; the reply has the room for a record mark in front, filled in.
pub(crate) async fn answer<S: Service>(
    parties: Arc<Parties<S>>,
    arrived: Arrived,
    buffer: Vec<u8>,
) -> Option<Vec<u8>> {
    let Arrived { header, caller, mut protection, mut arguments } = arrived;
    let mut reply = Encoder::with_buffer(buffer);
    reply.truncate(0);
    reply.u32(0);
    let mut verifier = Verifier::NONE;
    if let Some(protection) = &mut protection {
        verifier = protection.verifier();
    }
    message::encode_success(header.xid, &verifier, &mut reply);
    drop(verifier);
    let start = reply.len();
    if let Some(protection) = &mut protection {
        arguments = match protection.unwrap(arguments) {
            Ok(plain) => plain,
            Err(refusal) => return Some(refused_behind(start, header.xid, refusal, reply)),
        };
        protection.begin(&mut reply);
    }
    let connection = &parties.connection;
    let call = Call { header: &header, caller: &caller, peer: connection.peer(), connection, arguments };
    match parties.service.call(call, &mut reply).await {
        Ok(Disposition::Reply) => {}
        Ok(Disposition::Drop) => return None,
        Err(refusal) => return Some(refused_behind(start, header.xid, refusal, reply)),
    }
    match protection.map_or(Ok(Disposition::Reply), |mut protection| protection.wrap(&mut reply, start)) {
        Ok(Disposition::Reply) => Some(framed(reply)),
        Ok(Disposition::Drop) => None,
        Err(refusal) => Some(refused_behind(start, header.xid, refusal, reply)),
    }
}

/// As [`answer`], of the authenticator's own call. It is cancelled with the connection: it changes nothing
/// that a retry would have to find.
pub(crate) async fn answer_control(connection: Arc<dyn Connection>, call: ControlCall) -> Option<Vec<u8>> {
    connection.set_cancellable(true);
    Some(match call.answer.await {
        Ok(answer) => control_reply(call.xid, &answer.verifier, &answer.results),
        Err(refusal) => refused(call.xid, refusal, room_for_mark()),
    })
}

/// A refusal in the place of all that `reply` has behind the room for its mark.
fn refused(xid: u32, refusal: Refusal, mut reply: Encoder) -> Vec<u8> {
    reply.truncate(MARK_BYTES);
    message::encode_refusal(xid, refusal, &mut reply);
    framed(reply)
}

/// A refusal in the place of success and of the results, which begin at `results`.
fn refused_behind(results: usize, xid: u32, refusal: Refusal, mut reply: Encoder) -> Vec<u8> {
    message::replace_success(xid, refusal, &mut reply, MARK_BYTES, results);
    framed(reply)
}

/// The way of a call after its caller was judged.
pub(crate) enum Judged {
    /// It takes its turn.
    Turn(Turn),
    /// It is answered with this framed reply.
    Reply(Vec<u8>),
    /// The connection is to be upgraded behind this framed reply.
    Upgrade { xid: u32, reply: Vec<u8> },
    /// It is dropped.
    Nothing,
}

impl Judged {
    /// Follows the verdict on a call.
    pub(crate) fn by(verdict: Verdict, header: CallHeader, arguments: Decoder) -> Self {
        match verdict {
            Verdict::Lasting(caller) => {
                Self::Turn(Turn::Call(Arrived { header, caller, protection: None, arguments }))
            }
            Verdict::Protected(caller, protection) => {
                let protection = Some(protection);
                Self::Turn(Turn::Call(Arrived { header, caller, protection, arguments }))
            }
            Verdict::Answer(answer) => {
                Self::Reply(control_reply(header.xid, &answer.verifier, &answer.results))
            }
            Verdict::Later(answer) => Self::Turn(Turn::Control(ControlCall { xid: header.xid, answer })),
            Verdict::Upgrade(verifier) => {
                Self::Upgrade { xid: header.xid, reply: control_reply(header.xid, &verifier, &[]) }
            }
            Verdict::Refuse(refusal) => Self::Reply(refused(header.xid, refusal, room_for_mark())),
            Verdict::Silence => Self::Nothing,
        }
    }
}

/// A framed reply of the authenticator's own.
fn control_reply(xid: u32, verifier: &Verifier, results: &[u8]) -> Vec<u8> {
    let mut reply = room_for_mark();
    message::encode_success(xid, verifier, &mut reply);
    reply.buffer_mut().extend_from_slice(results);
    framed(reply)
}

fn room_for_mark() -> Encoder {
    let mut reply = Encoder::new();
    reply.u32(0);
    reply
}

/// Fills in the mark that was left open in the first four bytes.
fn framed(reply: Encoder) -> Vec<u8> {
    let mut frame = reply.into_inner();
    let length = frame.len() - 4;
    frame[..4].copy_from_slice(&rpc::mark(length));
    frame
}

/// When a connection is to be looked at though nothing has come.
#[derive(Debug, Clone, Copy)]
struct Deadlines {
    /// The rest of a record must have come.
    partial: Option<Instant>,
    /// Something of the replies must have been taken.
    unread: Option<Instant>,
    /// The memory budget is looked at again.
    review: Option<Instant>,
}

impl Deadlines {
    fn first(&self) -> Option<Instant> {
        self.partial.into_iter().chain(self.unread).chain(self.review).min()
    }

    /// Why the connection ends at `now`, if it does.
    fn passed(&self, now: Instant) -> Option<Ended> {
        if self.partial.is_some_and(|partial| partial <= now) {
            return Some(Ended::PartialRecord);
        }
        self.unread.is_some_and(|unread| unread <= now).then_some(Ended::UnreadReplies)
    }
}

/// Since when the socket takes nothing.
#[derive(Debug, Clone, Copy)]
struct Blocked {
    since: Instant,
    written: u64,
}

struct Driver<'a, H: Future, M> {
    link: &'a Arc<Link>,
    limits: DriverLimits,
    callers: Callers,
    reader: RecordReader,
    /// Records that have come.
    records: u64,
    parked: Parked<H>,
    ledger: Ledger,
    /// It is read although its client is over its share.
    has_budget_turn: bool,
    /// Records that were handled meanwhile.
    calls_in_turn: usize,
    /// When to look at the budget again.
    review_at: Option<Instant>,
    blocked: Option<Blocked>,
    /// The room of the last handler that ended at once, for the next.
    spare: Option<Pin<Box<H>>>,
    /// Small replies of a pass, one after the other: they leave in one piece.
    buffer: Vec<u8>,
    /// How long those of the last pass were together, for the next: the buffer need not grow step by step.
    buffered_bytes: usize,
    partial_since: Option<Instant>,
    turns: Turns<'a>,
    /// The turn was over before all records were handled that are there.
    has_left: bool,
    /// Several callers of ours were answered at once and have not had their turn yet.
    corked: bool,
    /// Calls in a row that were the only one under way.
    lone_calls: usize,
    habit: Habit,
    busy_polls: &'a BusyPolls,
    upgrade: Option<&'a Arc<dyn Upgrade>>,
    /// Bytes that the socket waits for before it says that there are any.
    low_water: usize,
    stopping: bool,
    make: M,
}

impl<H, M> Driver<'_, H, M>
where
    H: Future<Output = Outcome>,
    M: Fn(Turn, Vec<u8>) -> H,
{
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Ended> {
        match self.passes(context) {
            Ok(poll) => poll,
            Err(ended) => Poll::Ready(ended),
        }
    }

    fn passes(&mut self, context: &mut Context<'_>) -> Result<Poll<Ended>, Ended> {
        self.link.outgoing.register(context.waker());
        self.turns.begin();
        if std::mem::take(&mut self.corked) {
            self.link.outgoing.uncork();
            self.flush(context)?;
        }
        for _ in 0..PASSES_MAX {
            if self.link.outgoing.is_closed() {
                return Ok(Poll::Ready(Ended::ByUs));
            }
            self.finish_parked(context)?;
            let was_full = self.is_full();
            let progressed = self.read(context)?;
            if self.has_left && self.turns.holds_replies() {
                break;
            }
            let is_turn_over = self.turns.is_over();
            self.flush(context)?;
            self.settle();
            if self.corked {
                // Behind the callers that were answered, which are to make their next calls first.
                context.waker().wake_by_ref();
                return Ok(Poll::Pending);
            }
            let progressed = progressed || (was_full && !self.is_full());
            if self.stopping && self.parked.is_empty() && self.link.outgoing.bytes() == 0 {
                return Ok(Poll::Ready(Ended::ByUs));
            }
            if !progressed {
                self.turns.rest();
                return self.rest(context);
            }
            if is_turn_over {
                break;
            }
        }
        if self.turns.are_shared() {
            give_way(context);
        } else {
            context.waker().wake_by_ref();
        }
        Ok(Poll::Pending)
    }

    /// The socket has nothing more: looks for the next call if it is likely to come soon.
    fn rest(&mut self, context: &mut Context<'_>) -> Result<Poll<Ended>, Ended> {
        if !self.is_idle() || self.lone_calls == 0 || self.ledger.is_over() {
            return Ok(Poll::Pending);
        }
        self.habit.note_rest(time::Instant::now());
        if !self.habit.is_quick() {
            return Ok(Poll::Pending);
        }
        let busy_polls = self.busy_polls;
        let Some(_place) = busy_polls.enter() else { return Ok(Poll::Pending) };
        tokio::task::block_in_place(|| {
            // What comes wakes nobody meanwhile.
            self.want(LOW_WATER_BYTES_MAX)?;
            self.poll_busily(context)?;
            self.want(1)?;
            Ok(Poll::Pending)
        })
    }

    /// Serves a caller who has one call at a time, as long as the next one comes soon.
    fn poll_busily(&mut self, context: &mut Context<'_>) -> Result<(), Ended> {
        let began = time::Instant::now();
        self.habit.begin_try();
        let was_displaced = loop {
            let Looked { found, was_displaced } = self.look()?;
            if found.is_none() {
                break was_displaced;
            }
            self.turns.begin();
            self.handle_records(context)?;
            self.flush(context)?;
            self.settle();
            self.turns.rest();
            let now = time::Instant::now();
            self.habit.note_rest(now);
            let is_habit = self.is_idle()
                && self.habit.is_quick()
                && self.reader.missing() < LOW_WATER_BYTES_MIN
                && !self.ledger.is_over();
            if was_displaced || !is_habit {
                context.waker().wake_by_ref();
                break was_displaced;
            }
            if now - began > BUSY_POLL_TURN {
                context.waker().wake_by_ref();
                return Ok(());
            }
        };
        self.habit.end_try(was_displaced);
        Ok(())
    }

    /// Reads what comes.
    fn look(&mut self) -> Result<Looked<()>, Ended> {
        self.busy_polls.look(|| match self.link.stream.look(self.reader.buffer()) {
            Ok(0) => Err(Ended::ByPeer),
            Ok(_) => Ok(Some(())),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error.into()),
        })
    }

    /// True when no call is under way.
    fn is_idle(&self) -> bool {
        self.parked.is_empty() && self.buffer.is_empty() && self.link.outgoing.bytes() == 0
    }

    fn finish_parked(&mut self, context: &mut Context<'_>) -> Result<(), Ended> {
        while let Poll::Ready(Some(outcome)) = self.parked.poll_next(context) {
            self.finish(outcome)?;
        }
        Ok(())
    }

    /// Reads what the socket has and handles the records in it. True when there may be more.
    fn read(&mut self, context: &mut Context<'_>) -> Result<bool, Ended> {
        if self.is_full() || self.stopping || !self.is_within_budget(context) {
            return Ok(false);
        }
        // What the turn before left.
        self.handle_records(context)?;
        if self.turns.is_over() || self.has_left {
            return Ok(true);
        }
        match self.link.stream.poll_read_ready(context) {
            Poll::Pending => return Ok(false),
            Poll::Ready(ready) => ready?,
        }
        match self.link.stream.try_read(self.reader.buffer()) {
            Ok(0) => return Err(Ended::ByPeer),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.set_low_water()?;
                return Ok(true);
            }
            Err(error) => return Err(error.into()),
        }
        self.handle_records(context)?;
        Ok(true)
    }

    /// Has the system wake this task for as much of a large record as is worth it: who is woken for each
    /// segment contends with its sender for the socket. An end of the connection wakes it at once.
    fn set_low_water(&mut self) -> io::Result<()> {
        let missing = self.reader.missing();
        self.want(if missing < LOW_WATER_BYTES_MIN { 1 } else { missing.min(LOW_WATER_BYTES_MAX) })
    }

    /// Has the system wake this task for no less than so many bytes.
    fn want(&mut self, bytes: usize) -> io::Result<()> {
        if bytes == self.low_water {
            return Ok(());
        }
        match self.link.stream.set_low_water(bytes) {
            Ok(()) => self.low_water = bytes,
            // It is woken too often.
            Err(_) if bytes > self.low_water => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Handles the records that are there, until the turn is over.
    fn handle_records(&mut self, context: &mut Context<'_>) -> Result<(), Ended> {
        self.has_left = false;
        while !self.turns.is_over() && self.may_handle() {
            let Some(record) = self.next_record()? else {
                let is_partial = self.reader.is_partial();
                self.partial_since = is_partial.then(|| self.partial_since.unwrap_or_else(Instant::now));
                return Ok(());
            };
            // The time of the next begins with it.
            self.partial_since = None;
            self.calls_in_turn += usize::from(self.has_budget_turn);
            self.handle(record, context)?;
        }
        // The rest may be a whole record: the other end is not waited for.
        self.partial_since = None;
        self.has_left = true;
        Ok(())
    }

    /// The next record. The handshake of an upgrade may begin a connection without a probe: clients that
    /// reconnect do so. No record begins with its first byte, as it would be too long.
    #[inline]
    fn next_record(&mut self) -> Result<Option<Bytes>, Ended> {
        match self.reader.next_record() {
            Ok(record) => Ok(record),
            Err(_) if self.is_begun_by_handshake() => self.begin_upgrade_at_once(),
            Err(error) => Err(error.into()),
        }
    }

    fn is_begun_by_handshake(&mut self) -> bool {
        let is_plain = self.upgrade.is_some() && !self.link.stream.is_upgraded();
        is_plain && self.records == 0 && self.reader.buffer().first() == Some(&HANDSHAKE_BYTE)
    }

    fn deadlines(&self) -> Deadlines {
        Deadlines {
            partial: self.partial_since.map(|since| since + self.limits.partial_record_timeout),
            unread: self.blocked.zip(self.limits.unread_timeout).map(|(blocked, time)| blocked.since + time),
            review: self.review_at,
        }
    }

    /// Tells the ledger what the connection holds, and how active it is.
    fn settle(&mut self) {
        let is_busy = !self.parked.is_empty() || self.blocked.is_some();
        self.link.set_activity(Activity { records: self.records, is_busy });
        let waiting = if self.blocked.is_some() { self.link.outgoing.bytes() } else { 0 };
        self.ledger.set(Charge::Replies, waiting as u64);
        self.settle_calls();
        if self.ledger.is_pressed() && self.reader.shrink() {
            self.settle_calls();
        }
    }

    fn settle_calls(&mut self) {
        self.ledger.set(Charge::Calls, self.parked.call_bytes());
        self.ledger.set(Charge::Requests, self.parked.request_bytes() + self.reader.extra_bytes());
        self.ledger.settle();
    }

    /// True when the next record may be handled: always while the client is within its share, and else if
    /// nothing is under way and it is this connection's turn.
    fn may_handle(&self) -> bool {
        !self.ledger.is_over() || (self.has_budget_turn && self.calls_in_turn == 0 && self.is_idle())
    }

    /// Decides whether the connection is read. If it is not, the task is woken when that may have changed.
    fn is_within_budget(&mut self, context: &Context<'_>) -> bool {
        if !self.ledger.is_over() {
            self.end_budget_turn();
            self.ledger.set_stopped(false);
            self.review_at = None;
            return true;
        }
        if self.is_idle() && self.calls_in_turn > 0 {
            // Behind the client's other connections.
            self.end_budget_turn();
            context.waker().wake_by_ref();
            return false;
        }
        if self.is_idle() && self.ledger.account().take_turn(self.link.id()) {
            self.has_budget_turn = true;
            return true;
        }
        self.ledger.account().wait(context.waker());
        if !self.ledger.is_over() {
            self.ledger.set_stopped(false);
            return true;
        }
        self.ledger.set_stopped(true);
        self.review_at.get_or_insert_with(|| Instant::now() + STOPPED_REVIEW);
        // The rest of a record cannot come while it is not read.
        self.partial_since = None;
        false
    }

    fn end_budget_turn(&mut self) {
        self.calls_in_turn = 0;
        if std::mem::take(&mut self.has_budget_turn) {
            self.ledger.account().end_turn(self.link.id());
        }
    }

    fn is_full(&self) -> bool {
        self.parked.len() >= self.limits.in_flight_max
            || self.link.outgoing.bytes() + self.buffer.len() >= self.limits.outgoing_bytes_max
    }

    fn handle(&mut self, record: Bytes, context: &mut Context<'_>) -> Result<(), Ended> {
        self.records += 1;
        let bytes = record.len();
        let mut decoder = Decoder::new(record);
        match message::decode(&mut decoder).map_err(Ended::Message)? {
            Message::Reply { xid } => {
                let received = Instant::now();
                if !self.corked && self.reader.is_partial() {
                    // Others are answered right behind, at least in part.
                    self.corked = true;
                    self.link.outgoing.cork();
                }
                self.link.deliver(xid, RawReply { rest: decoder, bytes, received });
            }
            Message::BadCall { xid, refusal } => {
                self.buffer.extend_from_slice(&refused(xid, refusal, room_for_mark()));
            }
            Message::Call(header, claim) => {
                self.turns.charge(1 + bytes / BYTES_PER_COST);
                let claim = claim.of(decoder.input_ref());
                let verdict = self.callers.judge(&header, &claim, decoder.rest_ref(), &**self.link);
                match Judged::by(verdict, header, decoder) {
                    Judged::Turn(turn) => self.run(turn, context)?,
                    Judged::Reply(reply) => self.buffer.extend_from_slice(&reply),
                    Judged::Upgrade { xid, reply } => return self.begin_upgrade(xid, &reply),
                    Judged::Nothing => {}
                }
            }
        }
        Ok(())
    }

    /// Leaves the driver's loop with the replies that go before the upgrade, the last of which offers it.
    fn begin_upgrade(&mut self, xid: u32, reply: &[u8]) -> Result<(), Ended> {
        if self.upgrade.is_none() || self.link.stream.is_upgraded() {
            self.buffer.extend_from_slice(&refused(xid, NO_UPGRADE, room_for_mark()));
            return Ok(());
        }
        // Bytes behind the probe would be taken for protected ones (RFC 9289 §5.1.1).
        let has_input = self.reader.is_partial() || self.link.stream.has_input();
        if has_input || !self.parked.is_empty() || self.link.has_calls() || !self.link.outgoing.hold() {
            return Err(Ended::UpgradeOutOfOrder);
        }
        self.buffer.extend_from_slice(reply);
        let replies = std::mem::take(&mut self.buffer);
        Err(Ended::ForUpgrade(BeforeUpgrade { replies, received: BytesMut::new() }))
    }

    /// Leaves the driver's loop for a handshake that has begun without a probe.
    fn begin_upgrade_at_once(&mut self) -> Result<Option<Bytes>, Ended> {
        if self.link.has_calls() || !self.link.outgoing.hold() {
            return Err(Ended::UpgradeOutOfOrder);
        }
        let received = std::mem::take(self.reader.buffer());
        Err(Ended::ForUpgrade(BeforeUpgrade { replies: Vec::new(), received }))
    }

    /// Sends the replies and replaces the stream; until then, calls of ours are queued. The bound of the time
    /// is `partial_record_timeout`.
    async fn upgrade(
        &mut self,
        before: BeforeUpgrade,
        mut timer: Pin<&mut Sleep>,
        mut stop: Pin<&mut impl Future<Output = ()>>,
    ) -> Result<(), Ended> {
        let Some(upgrade) = self.upgrade else { return Err(Ended::UpgradeOutOfOrder) };
        self.turns.replied();
        self.turns.rest();
        self.partial_since = None;
        self.want(1)?;
        let link = self.link;
        let upgraded = before.upgrade(link.stream.first(), Arc::clone(upgrade));
        let mut upgraded = std::pin::pin!(AssertUnwindSafe(upgraded).catch_unwind());
        let deadline = Instant::now() + self.limits.partial_record_timeout;
        let upgraded = poll_fn(|context| {
            link.outgoing.register(context.waker());
            self.stopping |= stop.as_mut().poll(context).is_ready();
            if self.stopping || link.outgoing.is_closed() {
                return Poll::Ready(Err(Ended::ByUs));
            }
            if let Poll::Ready(upgraded) = upgraded.as_mut().poll(context) {
                return Poll::Ready(match upgraded {
                    Ok(upgraded) => upgraded.map_err(Ended::UpgradeFailed),
                    Err(_) => Err(Ended::Panicked),
                });
            }
            loop {
                let next = link.alarm().map_or(deadline, |alarm| alarm.min(deadline));
                timer.as_mut().reset(next);
                if timer.as_mut().poll(context).is_pending() {
                    return Poll::Pending;
                }
                if next == deadline {
                    return Poll::Ready(Err(Ended::UpgradeTimeout));
                }
                link.expire(next);
            }
        })
        .await?;
        link.stream.replace(upgraded);
        self.callers.forget();
        link.outgoing.release();
        Ok(())
    }

    /// Polls the handler once; parks it when it has to wait.
    fn run(&mut self, turn: Turn, context: &mut Context<'_>) -> Result<(), Ended> {
        let handler = (self.make)(turn, REPLY_BUFFER.with(std::cell::Cell::take));
        let mut room = match self.spare.take() {
            Some(mut room) => {
                room.set(handler);
                room
            }
            None => Box::pin(handler),
        };
        match self.poll_first(room.as_mut(), context) {
            Poll::Ready(outcome) => {
                self.spare = Some(room);
                self.finish(outcome)
            }
            Poll::Pending => {
                self.parked.push(room, self.reader.chunk());
                self.settle_calls();
                // The set must know our waker, or the handler's wake-up would be lost.
                self.finish_parked(context)
            }
        }
    }

    /// Polls the handler of a call that has just come.
    fn poll_first(&mut self, handler: Pin<&mut H>, context: &mut Context<'_>) -> Poll<Outcome> {
        if self.is_idle() {
            self.lone_calls = self.lone_calls.saturating_add(1);
            self.habit.note_lone_call(time::Instant::now(), self.busy_polls);
        } else {
            self.lone_calls = 0;
            self.habit.note_others();
        }
        let is_only = self.lone_calls > LONE_CALLS_MIN;
        self.link.polled.begin(is_only);
        let polled = handler.poll(context);
        // Before the reply, which may bring more.
        if is_only && self.link.polled.end_only() && self.link.stream.has_input() {
            self.lone_calls = 0;
        }
        polled
    }

    fn finish(&mut self, outcome: Outcome) -> Result<(), Ended> {
        let Ok(reply) = outcome else { return Err(Ended::Panicked) };
        let Some(frame) = reply else { return Ok(()) };
        self.turns.charge(frame.len() / BYTES_PER_COST);
        if frame.len() > KEPT_BUFFER_BYTES {
            self.queue_buffer();
            self.link.outgoing.push(frame.into());
            // A large reply leaves at once: the other end works on it while the next is read, into memory
            // that is warm.
            if !self.link.outgoing.is_blocked() {
                self.link.outgoing.flush(&self.link.stream)?;
            }
            self.ledger.set(Charge::Replies, self.link.outgoing.bytes() as u64);
            self.ledger.settle();
        } else {
            if self.buffer.is_empty() {
                self.buffer.reserve(frame.len().max(self.buffered_bytes));
            }
            self.buffer.extend_from_slice(&frame);
            REPLY_BUFFER.with(|kept| kept.set(frame));
        }
        Ok(())
    }

    fn queue_buffer(&mut self) {
        if !self.buffer.is_empty() {
            self.buffered_bytes = self.buffer.len().min(KEPT_BUFFER_BYTES);
            self.link.outgoing.push(std::mem::take(&mut self.buffer).into());
        }
    }

    fn flush(&mut self, context: &mut Context<'_>) -> Result<(), Ended> {
        self.queue_buffer();
        self.turns.replied();
        loop {
            if self.link.outgoing.is_blocked() {
                match self.link.stream.poll_write_ready(context) {
                    Poll::Pending => {
                        self.note_blocked();
                        return Ok(());
                    }
                    Poll::Ready(ready) => ready?,
                }
            }
            if self.link.outgoing.bytes() == 0
                || self.link.outgoing.flush(&self.link.stream)? == Flushed::Done
            {
                self.blocked = None;
                return Ok(());
            }
        }
    }

    /// The socket takes no more: the time within which it must take something begins again when it has
    /// since it was blocked before.
    fn note_blocked(&mut self) {
        let written = self.link.outgoing.written();
        if self.blocked.is_none_or(|blocked| blocked.written != written) {
            self.blocked = Some(Blocked { since: Instant::now(), written });
        }
    }
}

/// Has the task polled again when all others of this thread have been that can go on, those included that a
/// look at the sockets finds: a task that wakes itself goes before them.
fn give_way(context: &mut Context<'_>) {
    let again = std::pin::pin!(tokio::task::yield_now()).poll(context);
    debug_assert!(again.is_pending(), "it is woken later");
}

thread_local! {
    /// The buffer of the last small reply on this thread, for the next.
    static REPLY_BUFFER: std::cell::Cell<Vec<u8>> = const { std::cell::Cell::new(Vec::new()) };
}

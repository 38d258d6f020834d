//! One relayed connection: two sockets and the two queues between them. Decides what to read, write, end and
//! reset; it is told of readiness and says when it wants to be looked at again.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::sockopt;

use super::block::{BLOCK_BYTES, BlockPool};
use super::counters::Counters;
use super::delay_queue::{DelayQueue, End};
use super::pacer::Pacer;
use super::side::Side;

/// Index of the client's socket, and of the direction that starts there.
pub(super) const CLIENT: usize = 0;
/// Index of the target's socket, and of the direction that starts there.
pub(super) const TARGET: usize = 1;

/// Bytes that one direction of one connection may read before others have their turn.
const TURN_BYTES: usize = 8 * BLOCK_BYTES;

/// What all connections of a link share.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) target: SocketAddr,
    pub(super) half_trip: Duration,
    pub(super) in_flight_bytes_max: usize,
    pub(super) pacers: [Pacer; 2],
    pub(super) pool: BlockPool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Nothing to do before readiness changes or a time comes.
    Wait,
    /// More to do now.
    Again,
    /// The connection wants its target's socket watched and connected.
    Connect,
    /// Over; drop it.
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The request to connect is on its way.
    Travelling,
    Connecting,
    Open,
}

#[derive(Debug)]
pub(super) struct Connection {
    sides: [Side; 2],
    lanes: [Lane; 2],
    phase: Phase,
    connect_at: Instant,
    /// The earliest time at which the engine has promised to look at this connection.
    pub(super) wake_at: Option<Instant>,
    pub(super) runnable: bool,
    /// How many of the bytes in flight that the link has counted are ours.
    counted_bytes: usize,
}

/// One direction: from the side of the same index to the other one.
#[derive(Debug)]
struct Lane {
    queue: DelayQueue,
    /// The handshake that the kernel did not delay ends here: nothing counts as sent before.
    not_before: Instant,
    delivered_end: bool,
}

impl Lane {
    fn new(not_before: Instant) -> Self {
        Self { queue: DelayQueue::default(), not_before, delivered_end: false }
    }
}

impl Connection {
    /// A connection that a client made `now`. The request reaches the target half a round trip later, the
    /// client learns of it after a whole one, and its first bytes count as sent then.
    pub(super) fn new(stream: TcpStream, link: &Link, now: Instant) -> std::io::Result<Self> {
        Ok(Self {
            sides: [Side::accepted(stream)?, Side::unconnected(link.target)?],
            lanes: [Lane::new(now + 2 * link.half_trip), Lane::new(now + link.half_trip)],
            phase: Phase::Travelling,
            connect_at: now + link.half_trip,
            wake_at: None,
            runnable: false,
            counted_bytes: 0,
        })
    }

    pub(super) fn side_mut(&mut self, side: usize) -> &mut Side {
        &mut self.sides[side]
    }

    pub(super) fn side(&self, side: usize) -> &Side {
        &self.sides[side]
    }

    /// Starts connecting; the caller then watches the target's socket.
    pub(super) fn connect(&mut self, link: &mut Link, counters: &Counters) {
        self.phase = Phase::Connecting;
        let result = rustix::net::connect(&self.sides[TARGET], &link.target);
        if !matches!(result, Ok(()) | Err(Errno::INPROGRESS | Errno::INTR)) {
            counters.refused.fetch_add(1, Relaxed);
            self.fail(TARGET, link);
            self.count_in_flight(counters);
        }
    }

    /// Does what can be done now.
    pub(super) fn run(&mut self, link: &mut Link, counters: &Counters) -> Outcome {
        if self.phase == Phase::Travelling && Instant::now() >= self.connect_at {
            return Outcome::Connect;
        }
        if self.phase == Phase::Connecting && self.sides[TARGET].writable && !self.sides[TARGET].failed {
            self.connected(link, counters);
        }
        let mut again = false;
        for lane in [CLIENT, TARGET] {
            again |= self.read(lane, link);
            self.write(lane, link, counters);
            // Room that a write has made can be read into at once, but in the next turn.
            again |= self.wants_to_read(lane, link);
        }
        let over = self.is_over(link);
        self.count_in_flight(counters);
        match (over, again) {
            (true, _) => Outcome::Over,
            (false, true) => Outcome::Again,
            (false, false) => Outcome::Wait,
        }
    }

    /// The next time at which there is something to do. What waits for a socket needs no time.
    pub(super) fn next_due(&self) -> Option<Instant> {
        let connect = (self.phase == Phase::Travelling).then_some(self.connect_at);
        let lanes = [CLIENT, TARGET].into_iter().filter_map(|lane| {
            let due = self.lanes[lane].queue.next_due(self.can_write_to(1 - lane));
            due.filter(|_| !self.lanes[lane].delivered_end)
        });
        lanes.chain(connect).min()
    }

    /// Loses all bytes and makes both peers see a reset when the connection is dropped.
    pub(super) fn abort(&mut self, link: &mut Link, counters: &Counters) {
        self.lose_everything(link);
        self.count_in_flight(counters);
    }

    fn lose_everything(&mut self, link: &mut Link) {
        for index in [CLIENT, TARGET] {
            self.sides[index].reset_on_close();
            self.lanes[index].queue.clear(&mut link.pool);
        }
    }

    fn count_in_flight(&mut self, counters: &Counters) {
        let held: usize = self.lanes.iter().map(|lane| lane.queue.held_bytes()).sum();
        if held >= self.counted_bytes {
            counters.in_flight.fetch_add((held - self.counted_bytes) as u64, Relaxed);
        } else {
            counters.in_flight.fetch_sub((self.counted_bytes - held) as u64, Relaxed);
        }
        self.counted_bytes = held;
    }

    fn connected(&mut self, link: &mut Link, counters: &Counters) {
        match sockopt::socket_error(&self.sides[TARGET]) {
            Ok(Ok(())) => self.phase = Phase::Open,
            Ok(Err(_)) | Err(_) => {
                counters.refused.fetch_add(1, Relaxed);
                self.fail(TARGET, link);
            }
        }
    }

    fn can_write_to(&self, side: usize) -> bool {
        let side_open = side == CLIENT || self.phase == Phase::Open;
        side_open && self.sides[side].writable && !self.sides[side].failed
    }

    fn wants_to_read(&self, lane: usize, link: &Link) -> bool {
        let side = &self.sides[lane];
        let room = link.in_flight_bytes_max > self.lanes[lane].queue.held_bytes();
        let open = lane == CLIENT || self.phase == Phase::Open;
        // Bytes for a peer that is gone have nowhere to go; the reset on its way back will end them.
        side.readable && room && open && !side.read_ended && !side.failed && !self.sides[1 - lane].failed
    }

    /// Reads what has arrived, up to one turn. Returns whether the turn ended first.
    fn read(&mut self, lane: usize, link: &mut Link) -> bool {
        let mut turn_bytes = 0;
        while self.wants_to_read(lane, link) {
            if turn_bytes >= TURN_BYTES {
                return true;
            }
            let (side, queue) = (&mut self.sides[lane], &mut self.lanes[lane].queue);
            let room = link.in_flight_bytes_max - queue.held_bytes();
            match queue.fill(&mut link.pool, room, |buffer| side.stream.read(buffer)) {
                Ok((_, 0)) => {
                    side.read_ended = true;
                    self.end(lane, End::Finish, link);
                }
                Ok((offered, taken)) => {
                    turn_bytes += taken;
                    // A short read has emptied the socket, unless an end or an error waits behind it.
                    side.readable = taken == offered || side.hung_up;
                    self.stamp(lane, taken, link);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => side.readable = false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => self.fail(lane, link),
            }
        }
        let side = &self.sides[lane];
        if side.error && side.readable && !side.failed && self.phase == Phase::Open {
            // Not read from, because its peer is slow or its end was seen: a read would not tell us.
            self.fail(lane, link);
        }
        false
    }

    fn sent_at(&self, lane: usize) -> Instant {
        Instant::now().max(self.lanes[lane].not_before)
    }

    fn stamp(&mut self, lane: usize, mut bytes: usize, link: &mut Link) {
        let sent_at = self.sent_at(lane);
        let pacer = &mut link.pacers[lane];
        while bytes > 0 {
            let piece = bytes.min(pacer.piece_bytes_max());
            let left_at = pacer.leave(sent_at, piece);
            self.lanes[lane].queue.mark(left_at + link.half_trip, piece);
            bytes -= piece;
        }
    }

    /// Writes what is due, and ends the direction when its end is.
    fn write(&mut self, lane: usize, link: &mut Link, counters: &Counters) {
        let to = 1 - lane;
        let now = Instant::now();
        self.lanes[lane].queue.release(now);
        while self.can_write_to(to) && self.lanes[lane].queue.due_bytes() > 0 {
            let (side, queue) = (&mut self.sides[to], &mut self.lanes[lane].queue);
            match queue.drain(&mut link.pool, |slices| side.stream.write_vectored(slices)) {
                Ok((_, taken)) => {
                    counters.delivered[lane].fetch_add(taken as u64, Relaxed);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => side.writable = false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => self.fail(to, link),
            }
        }
        if self.lanes[lane].queue.ended(now) == Some(End::Finish) && self.can_write_to(to) {
            self.deliver_finish(lane);
        }
    }

    fn deliver_finish(&mut self, lane: usize) {
        if !self.lanes[lane].delivered_end {
            self.lanes[lane].delivered_end = true;
            // Fails only when the peer is gone, which its own direction reports.
            let _ = self.sides[1 - lane].stream.shutdown(Shutdown::Write);
        }
    }

    /// A socket is dead: what goes there is lost, and the other side will see a reset half a round trip from
    /// now.
    fn fail(&mut self, side: usize, link: &mut Link) {
        self.sides[side].failed = true;
        self.lanes[1 - side].queue.clear(&mut link.pool);
        self.lanes[side].delivered_end = false;
        self.end(side, End::Reset, link);
    }

    fn end(&mut self, lane: usize, end: End, link: &mut Link) {
        // An end follows the bytes before it, which a rate may have held up.
        let left_at = link.pacers[lane].leave(self.sent_at(lane), 0);
        self.lanes[lane].queue.finish(left_at + link.half_trip, end);
    }

    fn is_over(&mut self, link: &mut Link) -> bool {
        let now = Instant::now();
        let both_failed = self.sides.iter().all(|side| side.failed);
        let reset = self.lanes.iter().any(|lane| lane.queue.ended(now) == Some(End::Reset));
        if both_failed || reset {
            self.lose_everything(link);
        }
        both_failed || reset || self.lanes.iter().all(|lane| lane.delivered_end)
    }
}

//! The thread of a link: one epoll set, all connections, one clock. Owns the sockets and decides who runs
//! next; what a connection does with its turn is the connection's business.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};
use slab::Slab;
use tokio::sync::oneshot;

use super::LinkOptions;
use super::block::BlockPool;
use super::connection::{CLIENT, Connection, Link, Outcome, TARGET};
use super::counters::Counters;
use super::pacer::Pacer;
use crate::waker::Waker;

/// Connections that one link carries. More wait in the listener's backlog.
const CONNECTIONS_MAX: usize = 4096;

/// Connections accepted before those that exist have their turn.
const ACCEPTS_PER_TURN: usize = 64;

/// How long to let the process recover from a lack of descriptors before the next accept.
const ACCEPT_RETRY: Duration = Duration::from_millis(10);

const EVENTS_PER_WAIT: usize = 256;
const LISTENER: u64 = u64::MAX;
const WAKER: u64 = u64::MAX - 1;
/// Stands for the listener among the keys of connections.
const ACCEPT_KEY: usize = usize::MAX;

pub(super) enum Command {
    Cut { answer: mpsc::SyncSender<usize> },
    SetRoundTrip { round_trip: Duration, answer: oneshot::Sender<()> },
    Stop { answer: Option<oneshot::Sender<()>> },
}

pub(super) struct Engine {
    epoll: OwnedFd,
    listener: TcpListener,
    /// A connection may be waiting to be accepted.
    acceptable: bool,
    waker: Arc<Waker>,
    commands: mpsc::Receiver<Command>,
    connections: Slab<Connection>,
    /// When to look at which connection again. May name one that is gone, or another in its place: harmless.
    wakes: BinaryHeap<Reverse<(Instant, usize)>>,
    runnable: Vec<usize>,
    link: Link,
    counters: Arc<Counters>,
}

impl Engine {
    pub(super) fn new(
        listener: TcpListener,
        target: SocketAddr,
        options: &LinkOptions,
        counters: Arc<Counters>,
        commands: mpsc::Receiver<Command>,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let waker = Arc::new(Waker::new()?);
        epoll::add(&epoll, &*waker, EventData::new_u64(WAKER), EventFlags::IN)?;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN | EventFlags::ET)?;
        let pacer = || Pacer::new(options.rate_bytes_per_second, Instant::now());
        let link = Link {
            target,
            half_trip: options.round_trip / 2,
            in_flight_bytes_max: options.in_flight_bytes_max,
            pacers: [pacer(), pacer()],
            pool: BlockPool::default(),
        };
        Ok(Self {
            epoll,
            listener,
            acceptable: false,
            waker,
            commands,
            connections: Slab::new(),
            wakes: BinaryHeap::new(),
            runnable: Vec::new(),
            link,
            counters,
        })
    }

    pub(super) fn waker(&self) -> Arc<Waker> {
        Arc::clone(&self.waker)
    }

    /// Serves until told to stop.
    pub(super) fn run(mut self) {
        // The kernel may delay a thread's timers by 50 µs to save power; a link of 0.2 ms cannot spare that.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let mut events = Vec::with_capacity(EVENTS_PER_WAIT);
        let mut turn = Vec::new();
        loop {
            if let Some(answer) = self.obey() {
                drop(self);
                if let Some(answer) = answer {
                    // An error means that nobody waits any more.
                    let _ = answer.send(());
                }
                return;
            }
            self.wait(&mut events);
            self.collect_due();
            if self.acceptable {
                self.accept();
            }
            std::mem::swap(&mut self.runnable, &mut turn);
            for key in turn.drain(..) {
                self.run_connection(key);
            }
        }
    }

    /// Obeys all commands; the answer to give after stopping when one of them says so.
    fn obey(&mut self) -> Option<Option<oneshot::Sender<()>>> {
        loop {
            match self.commands.try_recv() {
                Ok(Command::Cut { answer }) => {
                    // An error means that nobody waits any more.
                    let _ = answer.send(self.cut());
                }
                Ok(Command::SetRoundTrip { round_trip, answer }) => {
                    self.link.half_trip = round_trip / 2;
                    // An error means that the caller has gone.
                    let _ = answer.send(());
                }
                Ok(Command::Stop { answer }) => return Some(answer),
                Err(mpsc::TryRecvError::Empty) => return None,
                Err(mpsc::TryRecvError::Disconnected) => return Some(None),
            }
        }
    }

    fn wait(&mut self, events: &mut Vec<epoll::Event>) {
        events.clear();
        let timeout = self.timeout();
        let wait = epoll::wait(&self.epoll, rustix::buffer::spare_capacity(events), timeout.as_ref());
        match wait {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => panic!("epoll failed on descriptors of our own: {error}"),
        }
        for event in events.drain(..) {
            match event.data.u64() {
                LISTENER => self.acceptable = true,
                WAKER => self.waker.clear(),
                token => self.observe(token, event.flags),
            }
        }
    }

    fn timeout(&self) -> Option<Timespec> {
        let accept_now = self.acceptable && self.connections.len() < CONNECTIONS_MAX;
        let wait = if !self.runnable.is_empty() || accept_now {
            Duration::ZERO
        } else {
            let Reverse((due, _)) = self.wakes.peek()?;
            due.saturating_duration_since(Instant::now())
        };
        Some(Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) })
    }

    fn observe(&mut self, token: u64, flags: EventFlags) {
        let (key, side) = ((token / 2) as usize, (token % 2) as usize);
        let Some(connection) = self.connections.get_mut(key) else { return };
        connection.side_mut(side).observe(flags);
        self.make_runnable(key);
    }

    fn make_runnable(&mut self, key: usize) {
        let connection = &mut self.connections[key];
        if !std::mem::replace(&mut connection.runnable, true) {
            self.runnable.push(key);
        }
    }

    fn collect_due(&mut self) {
        let now = Instant::now();
        while let Some(&Reverse((due, key))) = self.wakes.peek().filter(|wake| wake.0.0 <= now) {
            self.wakes.pop();
            if key == ACCEPT_KEY {
                self.acceptable = true;
            } else if let Some(connection) = self.connections.get_mut(key).filter(|c| c.wake_at == Some(due))
            {
                connection.wake_at = None;
                self.make_runnable(key);
            }
        }
    }

    fn accept(&mut self) {
        for _ in 0..ACCEPTS_PER_TURN {
            if self.connections.len() >= CONNECTIONS_MAX {
                return;
            }
            match self.accept_one() {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.acceptable = false;
                    return;
                }
                Err(error)
                    if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => {}
                Err(_) => {
                    self.acceptable = false;
                    self.wakes.push(Reverse((Instant::now() + ACCEPT_RETRY, ACCEPT_KEY)));
                    return;
                }
            }
        }
    }

    fn accept_one(&mut self) -> io::Result<()> {
        let (stream, _) = self.listener.accept()?;
        let connection = Connection::new(stream, &self.link, Instant::now())?;
        let key = self.connections.insert(connection);
        if let Err(error) = self.watch(key, CLIENT) {
            self.connections.remove(key);
            return Err(error);
        }
        self.counters.accepted.fetch_add(1, Relaxed);
        self.make_runnable(key);
        Ok(())
    }

    fn watch(&self, key: usize, side: usize) -> io::Result<()> {
        let token = EventData::new_u64((key * 2 + side) as u64);
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        Ok(epoll::add(&self.epoll, self.connections[key].side(side), token, flags)?)
    }

    fn run_connection(&mut self, key: usize) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        connection.runnable = false;
        let mut outcome = connection.run(&mut self.link, &self.counters);
        if outcome == Outcome::Connect {
            outcome = self.connect(key);
        }
        match outcome {
            Outcome::Over => self.remove(key),
            Outcome::Again | Outcome::Connect => self.make_runnable(key),
            Outcome::Wait => {}
        }
        self.promise_wake(key);
    }

    fn connect(&mut self, key: usize) -> Outcome {
        self.connections[key].connect(&mut self.link, &self.counters);
        match self.watch(key, TARGET) {
            Ok(()) => Outcome::Again,
            Err(_) => {
                self.connections[key].abort(&mut self.link, &self.counters);
                Outcome::Over
            }
        }
    }

    fn promise_wake(&mut self, key: usize) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        let Some(due) = connection.next_due() else { return };
        if connection.wake_at.is_none_or(|promised| due < promised) {
            connection.wake_at = Some(due);
            self.wakes.push(Reverse((due, key)));
        }
    }

    fn remove(&mut self, key: usize) {
        self.connections.remove(key);
        self.counters.closed.fetch_add(1, Relaxed);
    }

    fn cut(&mut self) -> usize {
        let count = self.connections.len();
        for mut connection in self.connections.drain() {
            connection.abort(&mut self.link, &self.counters);
        }
        self.counters.closed.fetch_add(count as u64, Relaxed);
        self.runnable.clear();
        self.wakes.clear();
        // A put-off accept was forgotten with the other times.
        self.acceptable = true;
        count
    }
}

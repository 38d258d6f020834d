//! A TCP link with a round trip, a rate and a bound on the bytes in flight, built from two loopback sockets.
//!
//! Half of the round trip is added in each direction: every chunk is stamped when it arrives and leaves when
//! its time has come, so delay never limits throughput; only [`LinkOptions::in_flight_bytes_max`] and
//! [`LinkOptions::rate_bytes_per_second`] do. The kernel finishes a TCP handshake undelayed, so a new
//! connection is charged one extra round trip before its first byte moves.
//!
//! One thread serves all connections of a link and sleeps with nanosecond time-outs: the millisecond timers
//! of an async runtime are too coarse for the delays of a local network. The link knows nothing of what it
//! carries.

mod block;
mod connection;
mod counters;
mod delay_queue;
mod engine;
mod pacer;
mod side;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::oneshot;

pub use counters::RelayStats;

use crate::waker::Waker;
use counters::Counters;
use engine::{Command, Engine};

/// What a link does to the bytes that cross it. The default is a link without delay and without a rate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkOptions {
    /// The round trip that the link adds; half of it in each direction. At most
    /// [`LinkOptions::ROUND_TRIP_MAX`].
    pub round_trip: Duration,
    /// The rate of each direction, shared by all connections of the link. `None`: as fast as the host.
    pub rate_bytes_per_second: Option<u64>,
    /// The most bytes that the link holds per direction and connection. A sender that outruns the receiver
    /// (or the rate) stalls when they are used up, as at a full queue of a real link.
    pub in_flight_bytes_max: usize,
}

impl LinkOptions {
    /// The longest round trip a link can have.
    pub const ROUND_TRIP_MAX: Duration = Duration::from_secs(60);

    /// Enough that 10 ms does not throttle a loopback connection (12 GB/s), and yet a bound.
    pub const IN_FLIGHT_BYTES_DEFAULT: usize = 64 << 20;

    /// A link with this round trip in milliseconds and no rate. Negative and undefined values mean no delay.
    #[must_use]
    pub fn round_trip_ms(round_trip_ms: f64) -> Self {
        let seconds = (round_trip_ms / 1e3).clamp(0.0, 2.0 * Self::ROUND_TRIP_MAX.as_secs_f64());
        let round_trip = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        Self { round_trip, ..Self::default() }
    }

    /// The same link with a rate, and with a queue in front of it that holds one round trip and 50 ms of
    /// bytes (at least 256 KiB), so that a stream can fill the link but not bury every other message under
    /// itself.
    #[must_use]
    pub fn with_rate(self, bytes_per_second: u64) -> Self {
        let queue_seconds = self.round_trip.as_secs_f64() + 0.05;
        let queue_bytes = (bytes_per_second as f64 * queue_seconds) as usize;
        Self {
            rate_bytes_per_second: Some(bytes_per_second),
            in_flight_bytes_max: queue_bytes.clamp(256 << 10, Self::IN_FLIGHT_BYTES_DEFAULT),
            ..self
        }
    }

    fn check(&self) -> io::Result<()> {
        let complaint = if self.round_trip > Self::ROUND_TRIP_MAX {
            "the round trip of a link is at most 60 seconds"
        } else if self.rate_bytes_per_second == Some(0) {
            "the rate of a link is at least one byte per second"
        } else if self.in_flight_bytes_max == 0 {
            "a link must hold at least one byte in flight"
        } else {
            return Ok(());
        };
        Err(io::Error::new(io::ErrorKind::InvalidInput, complaint))
    }
}

impl Default for LinkOptions {
    fn default() -> Self {
        Self {
            round_trip: Duration::ZERO,
            rate_bytes_per_second: None,
            in_flight_bytes_max: Self::IN_FLIGHT_BYTES_DEFAULT,
        }
    }
}

/// A running link. Dropping it closes its socket and every connection on it.
#[derive(Debug)]
pub struct Relay {
    address: SocketAddr,
    target: SocketAddr,
    options: LinkOptions,
    counters: Arc<Counters>,
    commands: mpsc::Sender<Command>,
    waker: Arc<Waker>,
    thread: Option<JoinHandle<()>>,
}

impl Relay {
    /// Opens a link to `target` on a free port of 127.0.0.1. Needs no runtime; the link has its own thread.
    ///
    /// # Errors
    /// `InvalidInput` for options outside their bounds; otherwise what the kernel answers when it has no
    /// socket, descriptor or thread left.
    pub fn start(target: SocketAddr, options: LinkOptions) -> io::Result<Self> {
        Self::start_at((Ipv4Addr::LOCALHOST, 0).into(), target, options)
    }

    /// Opens a link to `target` at an address of the caller's choice; port 0 takes a free one.
    ///
    /// # Errors
    /// As [`Relay::start`]; and what the kernel answers when the address is not free or not ours.
    pub fn start_at(listen: SocketAddr, target: SocketAddr, options: LinkOptions) -> io::Result<Self> {
        options.check()?;
        let listener = TcpListener::bind(listen)?;
        let address = listener.local_addr()?;
        let counters = Arc::new(Counters::default());
        let (commands, inbox) = mpsc::channel();
        let engine = Engine::new(listener, target, &options, Arc::clone(&counters), inbox)?;
        let waker = engine.waker();
        let thread = std::thread::Builder::new().name("netlab-relay".into()).spawn(move || engine.run())?;
        Ok(Self { address, target, options, counters, commands, waker, thread: Some(thread) })
    }

    /// Where clients connect instead of to the target.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where the link leads.
    #[must_use]
    pub fn target(&self) -> SocketAddr {
        self.target
    }

    /// What the link does to bytes.
    #[must_use]
    pub fn options(&self) -> &LinkOptions {
        &self.options
    }

    /// What has crossed the link so far.
    #[must_use]
    pub fn stats(&self) -> RelayStats {
        self.counters.read()
    }

    /// Resets every present connection at both ends, at once, losing the bytes in flight, and returns how
    /// many there were. New connections are served as before. Blocks for the time of one pass of the link's
    /// thread.
    pub fn cut(&self) -> usize {
        let (answer, answered) = mpsc::sync_channel(1);
        self.send(Command::Cut { answer });
        answered.recv().unwrap_or(0)
    }

    /// Changes the round trip of the link, and returns when bytes that arrive from now on have it. Those that
    /// are on their way keep theirs, and none overtakes others of its connection.
    ///
    /// # Errors
    /// `InvalidInput` for a round trip above [`LinkOptions::ROUND_TRIP_MAX`].
    pub async fn set_round_trip(&self, round_trip: Duration) -> io::Result<()> {
        LinkOptions { round_trip, ..self.options.clone() }.check()?;
        let (answer, answered) = oneshot::channel();
        self.send(Command::SetRoundTrip { round_trip, answer });
        // An error means that the link has ended.
        let _ = answered.await;
        Ok(())
    }

    /// Closes the link and all its connections, and returns when their sockets are closed.
    pub async fn shutdown(mut self) {
        let (answer, answered) = oneshot::channel();
        self.send(Command::Stop { answer: Some(answer) });
        // An error means that the thread has ended already, which is what we wait for.
        let _ = answered.await;
        self.join();
    }

    fn send(&self, command: Command) {
        if self.commands.send(command).is_ok() {
            self.waker.wake();
        }
    }

    fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            // A panic of the link's thread was printed when it happened; a destructor must not add a second
            // one.
            let _ = thread.join();
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.send(Command::Stop { answer: None });
        self.join();
    }
}

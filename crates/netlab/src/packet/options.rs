//! What a network is to be: how many clients, and what each direction of its bottleneck does to packets.

use std::io;
use std::time::Duration;

/// A network of one server and some clients, with one bottleneck between them.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkOptions {
    /// Client endpoints, from 1 to [`NetworkOptions::CLIENTS_MAX`].
    pub clients: u32,
    /// What the server sends and all clients receive: the server's card.
    pub to_clients: DirectionOptions,
    /// What all clients send and the server receives.
    pub to_server: DirectionOptions,
    /// What the kernel does with TCP at each end.
    pub tcp: TcpOptions,
}

impl NetworkOptions {
    /// The most clients of one network.
    pub const CLIENTS_MAX: u32 = 64;

    /// A network whose directions are alike.
    #[must_use]
    pub fn symmetric(clients: u32, direction: DirectionOptions) -> Self {
        Self { clients, to_clients: direction.clone(), to_server: direction, tcp: TcpOptions::default() }
    }

    /// # Errors
    /// `InvalidInput` when something is outside its bounds.
    pub(super) fn check(&self) -> io::Result<()> {
        if !(1..=Self::CLIENTS_MAX).contains(&self.clients) {
            return Err(invalid(format!("a network has from 1 to {} clients", Self::CLIENTS_MAX)));
        }
        self.to_clients.check()?;
        self.to_server.check()?;
        self.tcp.check()
    }
}

/// Settings of TCP that hold for every socket of every endpoint, unless a socket has its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TcpOptions {
    /// The algorithm that controls congestion, such as "cubic"; the machine's own if `None`.
    pub congestion_control: Option<String>,
    /// The most bytes that a receiver buffers, from 4 KiB to 64 MiB; the machine's own if `None`. Half of
    /// them, about, are the window that it grants: what a sender may have under way.
    pub receive_buffer_bytes_max: Option<u32>,
    /// The most bytes that a receiver lets its sender have under way, from 4 KiB to 16 MiB; no such bound if
    /// `None`. With it the receive buffer has a fixed size, and `receive_buffer_bytes_max` is not used.
    pub window_bytes_max: Option<u32>,
}

impl TcpOptions {
    /// The least and the largest bound of a window.
    pub const WINDOW_BYTES: std::ops::RangeInclusive<u32> = 4 << 10..=16 << 20;

    pub(super) fn check(&self) -> io::Result<()> {
        if self.congestion_control.as_deref().is_some_and(|name| !is_algorithm(name)) {
            return Err(invalid(
                "the name of a congestion control has from 1 to 15 letters, digits, - and _",
            ));
        }
        if self.receive_buffer_bytes_max.is_some_and(|bytes| !(4 << 10..=64 << 20).contains(&bytes)) {
            return Err(invalid("a receive buffer has from 4 KiB to 64 MiB"));
        }
        if self.window_bytes_max.is_some_and(|bytes| !Self::WINDOW_BYTES.contains(&bytes)) {
            return Err(invalid("a window has from 4 KiB to 16 MiB"));
        }
        Ok(())
    }
}

fn is_algorithm(name: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    // TCP_CA_NAME_MAX of the kernel is 16 with its terminator.
    (1..16).contains(&name.len()) && name.bytes().all(legal)
}

/// What one direction does to packets, in this order: loses some, queues them, sends them one after the
/// other, and lets them travel. The default is as fast as the machine, with one queue.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectionOptions {
    /// The way of every packet, at most [`DirectionOptions::DELAY_MAX`].
    pub delay: Duration,
    /// The way of each packet is longer or shorter by up to this much, all alike, at most the delay. Packets
    /// keep their order.
    pub jitter: Duration,
    /// Bytes of IP packets in each second; as fast as the machine if `None`.
    pub rate_bytes_per_second: Option<u64>,
    /// The share of packets that are lost before they are queued, from 0 to 1.
    pub loss: f64,
    /// How packets wait.
    pub discipline: Discipline,
    /// How much may wait.
    pub limit: QueueLimit,
    /// The seed of hash, jitter and loss.
    pub seed: u64,
}

impl DirectionOptions {
    /// The longest way.
    pub const DELAY_MAX: Duration = Duration::from_secs(10);

    pub(super) fn check(&self) -> io::Result<()> {
        if self.delay > Self::DELAY_MAX {
            return Err(invalid("the delay of a direction is at most 10 seconds"));
        }
        if self.jitter > self.delay {
            return Err(invalid("jitter is at most the delay"));
        }
        if self.rate_bytes_per_second.is_some_and(|rate| rate < 1000) {
            return Err(invalid("the rate of a direction is at least 1,000 bytes per second"));
        }
        if !(0.0..=1.0).contains(&self.loss) {
            return Err(invalid("the share of packets that are lost is from 0 to 1"));
        }
        self.discipline.check()?;
        self.limit.check(self.discipline.limited_queues())
    }
}

impl Default for DirectionOptions {
    fn default() -> Self {
        Self {
            delay: Duration::ZERO,
            jitter: Duration::ZERO,
            rate_bytes_per_second: None,
            loss: 0.0,
            discipline: Discipline::Fifo,
            limit: QueueLimit::Packets(1000),
            seed: 1,
        }
    }
}

/// How packets wait for their turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// In one queue, first come, first served. The limit holds for it; what comes to a full queue is dropped.
    Fifo,
    /// In the transmit queues of a card: each flow is hashed to one of them, and those that hold packets take
    /// turns, so that each busy queue sends an equal share. The limit holds for each queue; what comes to a
    /// full queue is dropped.
    MultiQueue {
        /// Queues, from 1 to [`Discipline::QUEUES_MAX`].
        queues: u32,
    },
    /// In a queue for each flow, and those that hold packets take turns (deficit round robin). The limit
    /// holds for all of them together; beyond it the longest queue loses its last packet.
    FairQueue {
        /// Flows with a queue of their own, from 1 to [`Discipline::QUEUES_MAX`]. More of them at once share
        /// queues by hash.
        flows_max: u32,
    },
}

impl Discipline {
    /// The most queues of a discipline.
    pub const QUEUES_MAX: u32 = 1024;

    /// The most queues that there will be.
    pub(super) fn queues(self) -> u32 {
        match self {
            Self::Fifo => 1,
            Self::MultiQueue { queues } => queues,
            Self::FairQueue { flows_max } => flows_max,
        }
    }

    /// How many times the limit may be used up.
    fn limited_queues(self) -> u32 {
        match self {
            Self::Fifo | Self::FairQueue { .. } => 1,
            Self::MultiQueue { queues } => queues,
        }
    }

    fn check(self) -> io::Result<()> {
        if (1..=Self::QUEUES_MAX).contains(&self.queues()) {
            return Ok(());
        }
        Err(invalid(format!("a queueing discipline has from 1 to {} queues", Self::QUEUES_MAX)))
    }
}

/// How much a queue takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// So many packets.
    Packets(u32),
    /// So many bytes of IP packets.
    Bytes(u64),
}

impl QueueLimit {
    /// The most bytes that all queues of a direction hold together.
    pub const BYTES_MAX: u64 = 256 << 20;

    fn check(self, queues: u32) -> io::Result<()> {
        let bytes = match self {
            Self::Packets(packets) => u64::from(packets) * super::MTU_BYTES as u64,
            Self::Bytes(bytes) => bytes,
        };
        if bytes < super::MTU_BYTES as u64 {
            return Err(invalid("a queue must hold at least one packet of 1,500 bytes"));
        }
        if bytes.saturating_mul(u64::from(queues)) > Self::BYTES_MAX {
            return Err(invalid("all queues of a direction together hold at most 256 MiB"));
        }
        Ok(())
    }

    /// Whether `packets` of `bytes` in all are more than it takes.
    pub(super) fn is_exceeded(self, packets: usize, bytes: u64) -> bool {
        match self {
            Self::Packets(most) => packets > most as usize,
            Self::Bytes(most) => bytes > most,
        }
    }
}

fn invalid(message: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(change: impl FnOnce(&mut NetworkOptions)) -> bool {
        let mut options = NetworkOptions::symmetric(2, DirectionOptions::default());
        change(&mut options);
        options.check().is_err_and(|error| error.kind() == io::ErrorKind::InvalidInput)
    }

    #[test]
    fn impossible_network_options_are_refused() {
        assert!(!refused(|_| {}));
        assert!(refused(|options| options.clients = 0));
        assert!(refused(|options| options.clients = 65));
        assert!(refused(|options| options.to_clients.delay = Duration::from_secs(11)));
        assert!(refused(|options| options.to_clients.jitter = Duration::from_millis(1)));
        assert!(refused(|options| options.to_server.rate_bytes_per_second = Some(0)));
        assert!(refused(|options| options.to_server.loss = 1.5));
        assert!(refused(|options| options.to_server.loss = f64::NAN));
        assert!(refused(|options| options.to_clients.discipline = Discipline::MultiQueue { queues: 0 }));
        assert!(refused(|options| options.to_clients.discipline = Discipline::FairQueue { flows_max: 1025 }));
        assert!(refused(|options| options.to_clients.limit = QueueLimit::Packets(0)));
        assert!(refused(|options| options.to_clients.limit = QueueLimit::Bytes(1499)));
        assert!(refused(|options| options.to_clients.limit = QueueLimit::Bytes((256 << 20) + 1)));
        assert!(refused(|options| options.tcp.congestion_control = Some("../cubic".into())));
        assert!(refused(|options| options.tcp.congestion_control = Some(String::new())));
        assert!(refused(|options| options.tcp.receive_buffer_bytes_max = Some(1)));
        assert!(refused(|options| options.tcp.window_bytes_max = Some(4095)));
        assert!(refused(|options| options.tcp.window_bytes_max = Some((16 << 20) + 1)));
    }

    #[test]
    fn the_memory_of_all_queues_together_is_bounded() {
        let many = |options: &mut NetworkOptions| {
            options.to_clients.discipline = Discipline::MultiQueue { queues: 64 };
            options.to_clients.limit = QueueLimit::Bytes(8 << 20);
        };
        assert!(refused(many));
        let shared = |options: &mut NetworkOptions| {
            options.to_clients.discipline = Discipline::FairQueue { flows_max: 64 };
            options.to_clients.limit = QueueLimit::Bytes(8 << 20);
        };
        assert!(!refused(shared));
    }
}

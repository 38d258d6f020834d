//! What to ask of an emulated card, and the network that it takes.

use std::path::PathBuf;
use std::time::Duration;

use netlab::packet::{
    DirectionOptions, Discipline, MTU_BYTES, NetworkOptions, QueueLimit, TcpOptions, has_congestion_control,
};

use super::Error;
use super::probability::{FLOWS_MAX, QUEUES_MAX};

/// What to find out.
#[derive(Debug, Clone)]
pub struct Options {
    /// Clients, from 2 to 32.
    pub clients: u32,
    /// Transmit queues of the server's card, from 1 to 256.
    pub queues: u32,
    /// What the card sends, in 10⁶ bits per second, from 1 to 10,000.
    pub rate_mbit: f64,
    /// The round trip, in milliseconds, from 0 to 1000.
    pub rtt_ms: f64,
    /// What controls congestion; the kernel's own choice if none.
    pub congestion_control: Option<String>,
    /// The most bytes that a receiver lets its sender have under way, within [`TcpOptions::WINDOW_BYTES`]: in
    /// all scenarios, or with `cures` in that of the clamped window only.
    pub window_clamp_bytes: Option<u32>,
    /// Whether the cures within TCP are measured, in turns with the card as it is.
    pub cures: bool,
    /// Connections of each client where more of them are tried, from 2 to 16.
    pub connections: u32,
    /// Runs of each scenario, from 1 to 100.
    pub runs: u32,
    /// Seconds that are measured in each run, from 0.5 to 600.
    pub seconds: f64,
    /// What to measure; with nothing, only probabilities are given.
    pub workloads: Vec<Workload>,
    /// `primetime` itself, to start a server for [`Workload::Nfs`].
    pub serve_command: PathBuf,
    /// The directory for hash-cast.json and hash-cast.html.
    pub out: PathBuf,
    /// The seed of the hash.
    pub seed: u64,
    /// Version of this tool.
    pub tool_version: String,
    /// The command with its arguments.
    pub command_line: Vec<String>,
}

/// What the clients do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    /// Receive what the server sends over plain TCP.
    Tcp,
    /// Read a file of an NFS server from its beginning to its end, again and again.
    Nfs,
}

impl Workload {
    /// Its name in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Nfs => "nfs",
        }
    }
}

/// The card as it is, and its cures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scenario {
    Card,
    MoreConnections,
    OneQueue,
    FairQueueing,
    Vegas,
    Bbr,
    ClampedWindow,
}

impl Scenario {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Card => "card",
            Self::MoreConnections => "more-connections",
            Self::OneQueue => "one-queue",
            Self::FairQueueing => "fair-queueing",
            Self::Vegas => VEGAS,
            Self::Bbr => BBR,
            Self::ClampedWindow => CLAMPED_WINDOW,
        }
    }

    /// Returns the congestion control that is the cure.
    pub(super) fn congestion_control(self) -> Option<&'static str> {
        [(Self::Vegas, "vegas"), (Self::Bbr, "bbr")]
            .into_iter()
            .find_map(|(scenario, name)| (scenario == self).then_some(name))
    }
}

/// The names of the cures within TCP.
pub(super) const VEGAS: &str = "vegas";
pub(super) const BBR: &str = "bbr";
pub(super) const CLAMPED_WINDOW: &str = "clamped-window";

/// The least that a receiver buffers: what most kernels begin with.
const BUFFER_BYTES_MIN: f64 = 131_072.0;
const BUFFER_BYTES_MAX: f64 = 16_777_216.0;

/// More packets than all connections together have under way fit into a queue, so that its length decides
/// nothing.
const QUEUE_PACKETS_MIN: u64 = 2000;

impl Options {
    /// Refuses what cannot be measured.
    pub(super) fn check(&self) -> Result<(), Error> {
        let whole = [
            ("clients", self.clients, 2..=32),
            ("queues", self.queues, 1..=256.min(QUEUES_MAX)),
            ("connections", self.connections, 2..=16),
            ("runs", self.runs, 1..=100),
        ];
        for (name, value, range) in whole {
            if !range.contains(&value) {
                return Err(outside(
                    name,
                    f64::from(value),
                    f64::from(*range.start()),
                    f64::from(*range.end()),
                ));
            }
        }
        let fractions = [
            ("rate-mbit", self.rate_mbit, 1.0..=10_000.0),
            ("rtt-ms", self.rtt_ms, 0.0..=1000.0),
            ("seconds", self.seconds, 0.5..=600.0),
        ];
        for (name, value, range) in fractions {
            if !range.contains(&value) {
                return Err(outside(name, value, *range.start(), *range.end()));
            }
        }
        if let Some(bytes) = self.window_clamp_bytes.filter(|bytes| !TcpOptions::WINDOW_BYTES.contains(bytes))
        {
            let (least, most) = TcpOptions::WINDOW_BYTES.into_inner();
            return Err(outside("window-clamp", bytes.into(), least.into(), most.into()));
        }
        debug_assert!(self.clients <= FLOWS_MAX);
        Ok(())
    }

    /// Returns the scenarios in the order of measuring. Those of a group are measured in turns.
    pub(super) fn groups(&self) -> Vec<Vec<Scenario>> {
        let mut first = vec![Scenario::Card];
        if self.cures {
            first.extend(self.controls().filter(|scenario| self.has_control(*scenario)));
            first.push(Scenario::ClampedWindow);
        }
        let rest = [Scenario::MoreConnections, Scenario::OneQueue, Scenario::FairQueueing];
        std::iter::once(first).chain(rest.map(|scenario| vec![scenario])).collect()
    }

    /// Returns a sentence for each cure that this kernel does not have, with the mend.
    pub(super) fn missing_cures(&self) -> Vec<String> {
        let missing = self.controls().filter(|scenario| self.cures && !self.has_control(*scenario));
        let names = missing.filter_map(Scenario::congestion_control);
        names
            .map(|name| {
                format!(
                    "The cure `{name}` was not measured, as this kernel does not have it: \
                     `modprobe tcp_{name}` loads it where the kernel was built with it."
                )
            })
            .collect()
    }

    /// Returns the cures by congestion control, without the one that the card itself is measured with.
    fn controls(&self) -> impl Iterator<Item = Scenario> {
        let own = self.congestion_control.as_deref();
        [Scenario::Vegas, Scenario::Bbr]
            .into_iter()
            .filter(move |scenario| scenario.congestion_control() != own)
    }

    fn has_control(&self, scenario: Scenario) -> bool {
        scenario.congestion_control().is_some_and(has_congestion_control)
    }

    pub(super) fn rate_bytes_per_second(&self) -> u64 {
        (self.rate_mbit * 1e6 / 8.0) as u64
    }

    pub(super) fn connections(&self, scenario: Scenario) -> u32 {
        if scenario == Scenario::MoreConnections { self.connections } else { 1 }
    }

    /// Enough that one connection alone can keep the card busy over the round trip, twice over, and yet a
    /// bound: the studies' servers were bounded by what a socket may have waiting in the card.
    pub(super) fn receive_buffer_bytes(&self) -> u32 {
        (4.0 * self.under_way()).clamp(BUFFER_BYTES_MIN, BUFFER_BYTES_MAX) as u32
    }

    /// Returns the congestion control of a scenario.
    pub(super) fn congestion(&self, scenario: Scenario) -> Option<String> {
        scenario.congestion_control().map(str::to_owned).or_else(|| self.congestion_control.clone())
    }

    /// Returns the bound of each window in a scenario.
    pub(super) fn window(&self, scenario: Scenario) -> Option<u32> {
        match (self.cures, scenario) {
            (true, Scenario::ClampedWindow) => {
                Some(self.window_clamp_bytes.unwrap_or_else(|| self.fitting_window()))
            }
            (true, _) => None,
            (false, _) => self.window_clamp_bytes,
        }
    }

    /// Returns a window of which all flows together have as much under way as the card sends in a round trip:
    /// it keeps the card busy, and leaves no queue that waits.
    fn fitting_window(&self) -> u32 {
        let (least, most) = TcpOptions::WINDOW_BYTES.into_inner();
        let each = self.under_way() / f64::from(self.clients);
        (each as u32).clamp(least, most)
    }

    /// Returns the bytes that the card sends in a round trip.
    fn under_way(&self) -> f64 {
        self.rate_bytes_per_second() as f64 * self.rtt_ms / 1000.0
    }

    /// The network of a scenario. Half of the round trip is in each direction; what the clients send is not
    /// queued.
    pub(super) fn network(&self, scenario: Scenario) -> NetworkOptions {
        let discipline = match scenario {
            Scenario::OneQueue => Discipline::Fifo,
            Scenario::FairQueueing => Discipline::FairQueue { flows_max: Discipline::QUEUES_MAX },
            _ => Discipline::MultiQueue { queues: self.queues },
        };
        let flows = u64::from(self.clients * self.connections(scenario));
        let each = self.window(scenario).unwrap_or_else(|| self.receive_buffer_bytes());
        let under_way = flows * u64::from(each) / MTU_BYTES as u64;
        let most = QueueLimit::BYTES_MAX / (MTU_BYTES as u64 * u64::from(self.queues));
        let packets = under_way.max(QUEUE_PACKETS_MIN).min(most);
        let way = DirectionOptions {
            delay: Duration::from_secs_f64(self.rtt_ms / 2000.0),
            rate_bytes_per_second: Some(self.rate_bytes_per_second()),
            seed: self.seed,
            ..DirectionOptions::default()
        };
        let limit = QueueLimit::Packets(u32::try_from(packets).unwrap_or(u32::MAX));
        NetworkOptions {
            clients: self.clients,
            to_clients: DirectionOptions { discipline, limit, ..way.clone() },
            to_server: way,
            tcp: TcpOptions {
                congestion_control: self.congestion(scenario),
                receive_buffer_bytes_max: Some(self.receive_buffer_bytes()),
                window_bytes_max: self.window(scenario),
            },
        }
    }
}

fn outside(name: &str, value: f64, least: f64, most: f64) -> Error {
    Error::Usage(format!("--{name} {value} is not from {least} to {most}"))
}

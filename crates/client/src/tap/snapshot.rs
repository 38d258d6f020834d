//! Counts at a moment, their differences and sums.

use std::collections::BTreeMap;
use std::iter::Sum;
use std::ops::AddAssign;
use std::time::Duration;

use hdrhistogram::Histogram;

/// What a client had sent and received at a moment, by name.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// Requests: the procedures of NFSv3 and NLM; for NFSv4 the COMPOUNDs, named after the operation they are
    /// for.
    pub requests: BTreeMap<&'static str, RequestStats>,
    /// How often each operation of NFSv4 was sent inside COMPOUNDs.
    pub operations: BTreeMap<&'static str, u64>,
    /// How often the server sent each callback operation.
    pub callbacks: BTreeMap<&'static str, u64>,
    /// Bytes of files in the replies to READ, without what surrounds them.
    pub data_read: u64,
    /// The length of the longest chain of requests each of which was sent after the one before it was
    /// answered: as many round trips of the network it took at least. In a sum of clients, as if one had
    /// followed on the other.
    pub round_trips: u64,
}

/// The requests of one name.
#[derive(Debug, Clone)]
pub struct RequestStats {
    /// Those answered.
    pub requests: u64,
    /// Those that were sent and never answered.
    pub unanswered: u64,
    /// Sum of the sizes of the calls on the wire.
    pub bytes_sent: u64,
    /// Sum of the sizes of the replies on the wire.
    pub bytes_received: u64,
    /// Sum of the times until they were given to the socket: waiting for a slot included.
    pub queued: Duration,
    /// Sum of the times from there to the replies.
    pub wire: Duration,
    /// `queued` and `wire` of each together, in microseconds.
    pub latency: Histogram<u64>,
}

/// Longer latencies count as this, in microseconds: an hour.
const LATENCY_MAX_MICROS: u64 = 3_600_000_000;

impl Snapshot {
    /// What came after `earlier`; without entries for what did not happen.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut difference = self.clone();
        for (name, before) in &earlier.requests {
            if let Some(stats) = difference.requests.get_mut(name) {
                stats.subtract(before);
            }
        }
        difference.requests.retain(|_, stats| stats.requests > 0 || stats.unanswered > 0);
        subtract_counts(&mut difference.operations, &earlier.operations);
        subtract_counts(&mut difference.callbacks, &earlier.callbacks);
        difference.round_trips = difference.round_trips.saturating_sub(earlier.round_trips);
        difference.data_read = difference.data_read.saturating_sub(earlier.data_read);
        difference
    }

    /// All requests that were answered.
    pub fn requests_total(&self) -> u64 {
        self.requests.values().map(|stats| stats.requests).sum()
    }

    /// Bytes sent with them.
    pub fn bytes_sent(&self) -> u64 {
        self.requests.values().map(|stats| stats.bytes_sent).sum()
    }

    /// Bytes received with their replies.
    pub fn bytes_received(&self) -> u64 {
        self.requests.values().map(|stats| stats.bytes_received).sum()
    }

    /// Sum of the times until they were given to the socket.
    pub fn queued(&self) -> Duration {
        self.requests.values().map(|stats| stats.queued).sum()
    }

    /// Sum of the times on the wire and at the server.
    pub fn wire(&self) -> Duration {
        self.requests.values().map(|stats| stats.wire).sum()
    }

    pub(super) fn empty_histogram() -> Histogram<u64> {
        Histogram::new_with_bounds(1, LATENCY_MAX_MICROS, 2).expect("the bounds are valid")
    }
}

impl Sum for Snapshot {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |mut sum, one| {
            for (name, stats) in &one.requests {
                *sum.requests.entry(name).or_default() += stats;
            }
            for (name, count) in one.operations {
                *sum.operations.entry(name).or_default() += count;
            }
            for (name, count) in one.callbacks {
                *sum.callbacks.entry(name).or_default() += count;
            }
            sum.data_read += one.data_read;
            sum.round_trips += one.round_trips;
            sum
        })
    }
}

impl Default for RequestStats {
    fn default() -> Self {
        Self {
            requests: 0,
            unanswered: 0,
            bytes_sent: 0,
            bytes_received: 0,
            queued: Duration::ZERO,
            wire: Duration::ZERO,
            latency: Snapshot::empty_histogram(),
        }
    }
}

impl RequestStats {
    fn subtract(&mut self, before: &Self) {
        self.requests = self.requests.saturating_sub(before.requests);
        self.unanswered = self.unanswered.saturating_sub(before.unanswered);
        self.bytes_sent = self.bytes_sent.saturating_sub(before.bytes_sent);
        self.bytes_received = self.bytes_received.saturating_sub(before.bytes_received);
        self.queued = self.queued.saturating_sub(before.queued);
        self.wire = self.wire.saturating_sub(before.wire);
        // Fails only if `before` is of another client; then the histogram stays as it is.
        let _ = self.latency.subtract(&before.latency);
    }
}

impl AddAssign<&Self> for RequestStats {
    fn add_assign(&mut self, other: &Self) {
        self.requests += other.requests;
        self.unanswered += other.unanswered;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.queued += other.queued;
        self.wire += other.wire;
        self.latency.add(&other.latency).expect("all histograms have the same bounds");
    }
}

fn subtract_counts(counts: &mut BTreeMap<&'static str, u64>, before: &BTreeMap<&'static str, u64>) {
    for (name, count) in before {
        if let Some(now) = counts.get_mut(name) {
            *now = now.saturating_sub(*count);
        }
    }
    counts.retain(|_, count| *count > 0);
}

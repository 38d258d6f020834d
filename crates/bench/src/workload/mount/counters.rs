//! What a client had sent and received at a moment, whoever counted it: the client library or a kernel.

use std::collections::BTreeMap;
use std::iter::Sum;
use std::time::Duration;

use client::Snapshot;
use netlab::guest::mountstats;
use serde::{Deserialize, Serialize};

use crate::results::WireBytes;

/// Counts, by name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Counters {
    /// Requests that were answered. A COMPOUND counts once, under the operation that it was sent for.
    pub(crate) requests: BTreeMap<String, u64>,
    /// Requests that were sent and never answered.
    pub(crate) unanswered: u64,
    /// How often each operation of NFSv4 was sent inside COMPOUNDs; a kernel does not tell.
    pub(crate) compound_operations: BTreeMap<String, u64>,
    /// How often the server sent each callback; a kernel does not tell.
    pub(crate) callbacks: BTreeMap<String, u64>,
    /// Bytes of files in the replies to READ.
    pub(crate) read_bytes: u64,
    /// Bytes on the wire.
    pub(crate) wire_bytes: WireBytes,
    /// Sum of the times that requests waited in the client.
    pub(crate) queued: Duration,
    /// Sum of the times from there to their replies.
    pub(crate) wire: Duration,
}

impl Counters {
    /// All requests that were answered.
    pub(crate) fn requests_total(&self) -> u64 {
        self.requests.values().sum()
    }

    /// What came after `earlier`; without entries for what did not happen.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self {
            requests: difference(&self.requests, &earlier.requests),
            unanswered: self.unanswered.saturating_sub(earlier.unanswered),
            compound_operations: difference(&self.compound_operations, &earlier.compound_operations),
            callbacks: difference(&self.callbacks, &earlier.callbacks),
            read_bytes: self.read_bytes.saturating_sub(earlier.read_bytes),
            wire_bytes: WireBytes {
                sent: self.wire_bytes.sent.saturating_sub(earlier.wire_bytes.sent),
                received: self.wire_bytes.received.saturating_sub(earlier.wire_bytes.received),
            },
            queued: self.queued.saturating_sub(earlier.queued),
            wire: self.wire.saturating_sub(earlier.wire),
        }
    }
}

fn difference(now: &BTreeMap<String, u64>, before: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let since = |(name, count): (&String, &u64)| {
        (name.clone(), count.saturating_sub(before.get(name).copied().unwrap_or_default()))
    };
    now.iter().map(since).filter(|(_, count)| *count > 0).collect()
}

impl Sum for Counters {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |mut sum, one| {
            add(&mut sum.requests, one.requests);
            sum.unanswered += one.unanswered;
            add(&mut sum.compound_operations, one.compound_operations);
            add(&mut sum.callbacks, one.callbacks);
            sum.read_bytes += one.read_bytes;
            sum.wire_bytes.sent += one.wire_bytes.sent;
            sum.wire_bytes.received += one.wire_bytes.received;
            sum.queued += one.queued;
            sum.wire += one.wire;
            sum
        })
    }
}

fn add(sum: &mut BTreeMap<String, u64>, one: BTreeMap<String, u64>) {
    for (name, count) in one {
        *sum.entry(name).or_default() += count;
    }
}

impl From<Snapshot> for Counters {
    fn from(seen: Snapshot) -> Self {
        let owned = |counts: &BTreeMap<&'static str, u64>| {
            counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
        };
        Self {
            requests: seen
                .requests
                .iter()
                .map(|(name, stats)| ((*name).to_owned(), stats.requests))
                .collect(),
            unanswered: seen.requests.values().map(|stats| stats.unanswered).sum(),
            compound_operations: owned(&seen.operations),
            callbacks: owned(&seen.callbacks),
            read_bytes: seen.data_read,
            wire_bytes: WireBytes { sent: seen.bytes_sent(), received: seen.bytes_received() },
            queued: seen.queued(),
            wire: seen.wire(),
        }
    }
}

impl From<&mountstats::Mount> for Counters {
    fn from(mount: &mountstats::Mount) -> Self {
        let all = || mount.operations.values();
        Self {
            requests: mount.operations.iter().map(|(name, counts)| (name.clone(), counts.requests)).collect(),
            read_bytes: mount.server_read_bytes,
            wire_bytes: WireBytes {
                sent: all().map(|counts| counts.sent_bytes).sum(),
                received: all().map(|counts| counts.received_bytes).sum(),
            },
            queued: Duration::from_millis(all().map(|counts| counts.queue_ms).sum()),
            wire: Duration::from_millis(all().map(|counts| counts.rtt_ms).sum()),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(reads: u64, opens: u64, sent: u64) -> Counters {
        Counters {
            requests: [("READ".to_owned(), reads), ("OPEN".to_owned(), opens)].into(),
            wire_bytes: WireBytes { sent, received: 2 * sent },
            wire: Duration::from_millis(sent),
            ..Counters::default()
        }
    }

    #[test]
    fn a_difference_has_what_happened_since_and_nothing_else() {
        let since = counters(5, 2, 70).since(&counters(3, 2, 30));
        assert_eq!(since.requests, BTreeMap::from([("READ".to_owned(), 2)]));
        assert_eq!((since.wire_bytes.sent, since.wire_bytes.received), (40, 80));
        assert_eq!((since.requests_total(), since.wire), (2, Duration::from_millis(40)));
    }

    #[test]
    fn clients_together_have_the_sum_of_each() {
        let all: Counters = [counters(1, 2, 10), counters(30, 40, 5)].into_iter().sum();
        assert_eq!(all, counters(31, 42, 15));
    }
}

//! The counts of one kind of request: atomics, and a histogram that is made with the first request.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hdrhistogram::Histogram;
use parking_lot::Mutex;

use super::snapshot::RequestStats;
use super::{Cost, Snapshot};

#[derive(Debug, Default)]
pub(super) struct Counter {
    requests: AtomicU64,
    unanswered: AtomicU64,
    bytes_sent: AtomicU64,
    bytes_received: AtomicU64,
    queued_nanos: AtomicU64,
    wire_nanos: AtomicU64,
    latency: OnceLock<Mutex<Histogram<u64>>>,
}

impl Counter {
    pub(super) fn answered(&self, cost: Cost) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.bytes_sent.fetch_add(u64::from(cost.bytes_sent), Ordering::Relaxed);
        self.bytes_received.fetch_add(u64::from(cost.bytes_received), Ordering::Relaxed);
        self.queued_nanos.fetch_add(nanos(cost.queued), Ordering::Relaxed);
        self.wire_nanos.fetch_add(nanos(cost.wire), Ordering::Relaxed);
        let micros = u64::try_from((cost.queued + cost.wire).as_micros()).unwrap_or(u64::MAX);
        let latency = self.latency.get_or_init(|| Mutex::new(Snapshot::empty_histogram()));
        latency.lock().saturating_record(micros.max(1));
    }

    pub(super) fn unanswered(&self) {
        self.unanswered.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    pub(super) fn stats(&self) -> RequestStats {
        RequestStats {
            requests: self.requests.load(Ordering::Relaxed),
            unanswered: self.unanswered.load(Ordering::Relaxed),
            bytes_sent: self.bytes_sent.load(Ordering::Relaxed),
            bytes_received: self.bytes_received.load(Ordering::Relaxed),
            queued: Duration::from_nanos(self.queued_nanos.load(Ordering::Relaxed)),
            wire: Duration::from_nanos(self.wire_nanos.load(Ordering::Relaxed)),
            latency: self.latency.get().map_or_else(Snapshot::empty_histogram, |l| l.lock().clone()),
        }
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

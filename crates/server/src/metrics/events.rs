//! What happens rarely, counted by all threads together.

use std::sync::atomic::{AtomicU64, Ordering};

/// The ends of the buckets of [`RecallTimes`], in milliseconds.
pub(super) const RECALL_BUCKETS_MS: [u64; 10] = [1, 2, 5, 10, 25, 100, 500, 2_000, 10_000, 60_000];

/// A counter.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// See the module.
#[derive(Debug, Default)]
pub struct Events {
    /// Connections that were accepted.
    pub(crate) connected: Counter,
    /// Of these, those that are gone.
    pub(crate) disconnected: Counter,
    /// Connections that were closed at once, for there were too many.
    pub(crate) connections_refused: Counter,
    /// Connections that were closed so that others could be accepted.
    pub(crate) connections_closed_for_others: Counter,
    /// Connections that were closed because their upgrade to TLS failed.
    pub(crate) upgrades_failed: Counter,
    /// Delegations that were asked back.
    pub(crate) recalls: Counter,
    /// Delegations that were taken away because their holder did not return them in time.
    pub(crate) delegations_revoked: Counter,
    /// Clients that lost what they held, for they were silent.
    pub(crate) clients_expired: Counter,
    /// Calls without a session that were sent again, and answered as the first time.
    pub(crate) retries_answered: Counter,
    /// How long it took until a delegation was given back.
    pub(crate) recall_times: RecallTimes,
}

/// How long recalls took.
#[derive(Debug, Default)]
pub struct RecallTimes {
    /// One more than the bounds: the last has no end.
    buckets: [Counter; RECALL_BUCKETS_MS.len() + 1],
    milliseconds: Counter,
}

impl Events {
    /// Connections that are open.
    pub fn connections_open(&self) -> u64 {
        // The later one is read first, so that none is missing.
        let gone = self.disconnected.get();
        self.connected.get().saturating_sub(gone)
    }

    /// Delegations that were asked back since the server started.
    pub fn recalls(&self) -> u64 {
        self.recalls.get()
    }

    /// Delegations that were taken away since the server started.
    pub fn delegations_revoked(&self) -> u64 {
        self.delegations_revoked.get()
    }

    /// Clients that were expelled since the server started.
    pub fn clients_expired(&self) -> u64 {
        self.clients_expired.get()
    }
}

impl RecallTimes {
    pub(crate) fn add(&self, milliseconds: u64) {
        let bucket = RECALL_BUCKETS_MS.iter().position(|end| milliseconds <= *end);
        self.buckets[bucket.unwrap_or(RECALL_BUCKETS_MS.len())].add(1);
        self.milliseconds.add(milliseconds);
    }

    pub(super) fn counts(&self) -> [u64; RECALL_BUCKETS_MS.len() + 1] {
        self.buckets.each_ref().map(Counter::get)
    }

    pub(super) fn milliseconds(&self) -> u64 {
        self.milliseconds.get()
    }
}

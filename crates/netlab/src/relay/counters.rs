//! What a link counts, shared between its thread and those who ask. Owns numbers only.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What has crossed a link since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RelayStats {
    /// Connections that clients made.
    pub connections_accepted: u64,
    /// Connections that are open now, those still being connected to the target included.
    pub connections_open: u64,
    /// Connections that the target did not take.
    pub connections_refused: u64,
    /// Bytes handed to the target's socket.
    pub bytes_to_target: u64,
    /// Bytes handed to clients' sockets.
    pub bytes_to_clients: u64,
    /// Bytes that the link holds now, both directions and all connections together.
    pub bytes_in_flight: u64,
}

/// The same numbers while they are being counted. The link's thread is the only writer.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) accepted: AtomicU64,
    pub(super) closed: AtomicU64,
    pub(super) refused: AtomicU64,
    /// Bytes written, by direction: to the target, to clients.
    pub(super) delivered: [AtomicU64; 2],
    pub(super) in_flight: AtomicU64,
}

impl Counters {
    pub(super) fn read(&self) -> RelayStats {
        let closed = self.closed.load(Relaxed);
        let accepted = self.accepted.load(Relaxed);
        RelayStats {
            connections_accepted: accepted,
            connections_open: accepted.saturating_sub(closed),
            connections_refused: self.refused.load(Relaxed),
            bytes_to_target: self.delivered[0].load(Relaxed),
            bytes_to_clients: self.delivered[1].load(Relaxed),
            bytes_in_flight: self.in_flight.load(Relaxed),
        }
    }
}

//! The bound of every table.

/// How much is remembered. What happens at a bound is said at each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long a silent client keeps its state, in seconds.
    pub lease_seconds: u32,
    /// How long a client that was silent for its lease keeps state that is in nobody's way, in seconds.
    pub courtesy_seconds: u32,
    /// Silent clients that keep state; of more, those silent the longest lose it.
    pub lapsed_clients_max: usize,
    /// Client records, confirmed or not. At the bound the oldest unconfirmed record of the address with the
    /// most gives way; without one, and for an address that has more confirmed records than it leaves to
    /// others, one more gets NFS4ERR_DELAY.
    pub clients_max: usize,
    /// Sessions of a client; one more gets NFS4ERR_NOSPC (RFC 8881 §18.36.4).
    pub sessions_per_client_max: usize,
    /// Slots of a session: fewer are granted than asked for. They take memory when they are used.
    pub slots_max: u32,
    /// Memory that all sessions together may need for slots and replies, in bytes. When three quarters are
    /// taken, clients are asked to use fewer slots; at the end a request in a slot that was not used before
    /// gets NFS4ERR_DELAY, and a new session NFS4ERR_NOSPC.
    pub session_bytes_max: u64,
    /// Longest request and reply in bytes, RPC header included: less is granted than asked for.
    pub message_bytes_max: u32,
    /// Longest reply that is kept in a slot, in bytes: less is granted than asked for.
    pub cached_reply_bytes_max: u32,
    /// Operations in a COMPOUND: fewer are granted than asked for.
    pub operations_max: u32,
    /// Opens, lock stateids, delegations and locked ranges of a client together; one more gets
    /// NFS4ERR_DELAY, a delegation is not granted.
    pub states_per_client_max: usize,
    /// Opens, lock stateids, delegations and locked ranges of all clients. An address has at most as many
    /// as it leaves to others; one more gets NFS4ERR_DELAY, a delegation is not granted. From seven eighths
    /// on, silent clients lose their state.
    pub states_max: usize,
    /// Ranges that are locked in one file; one more gets NFS4ERR_DELAY.
    pub ranges_per_file_max: usize,
    /// Delegations and other grants of all clients; beyond, none is granted.
    pub delegations_max: usize,
    /// How long a client may take to return a delegation before it is revoked, in milliseconds.
    pub recall_ms: u64,
    /// How long after a recall a file is not delegated again, in milliseconds.
    pub recall_pause_ms: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            lease_seconds: 90,
            courtesy_seconds: 24 * 3600,
            lapsed_clients_max: 4096,
            clients_max: 65_536,
            sessions_per_client_max: 64,
            slots_max: 8192,
            session_bytes_max: 512 << 20,
            message_bytes_max: (1 << 20) + (16 << 10),
            cached_reply_bytes_max: 16 << 10,
            operations_max: 256,
            states_per_client_max: 1 << 20,
            states_max: 1 << 21,
            ranges_per_file_max: 65_536,
            delegations_max: 1 << 20,
            recall_ms: 90_000,
            recall_pause_ms: 30_000,
        }
    }
}

impl Limits {
    pub(crate) fn lease_ms(&self) -> u64 {
        u64::from(self.lease_seconds) * 1000
    }
}

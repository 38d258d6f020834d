//! The bounds of an authenticator.

/// The bounds of an authenticator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GssLimits {
    /// The most established contexts. A new one takes the place of the one that was used least recently; the
    /// client of that one makes another. One principal may have a quarter of them.
    pub contexts_max: usize,
    /// The most memory of established contexts, in bytes, as they estimate it.
    pub context_bytes_max: usize,
    /// The most contexts in creation. Beyond, creation is answered with SYSTEM_ERR.
    pub negotiations_max: usize,
    /// The most contexts in creation of one IPv4 address, or of one prefix of 64 bits of IPv6.
    pub negotiations_per_peer_max: usize,
    /// How long the next token of a client is waited for, in milliseconds.
    pub negotiation_idle_ms_max: u64,
}

impl Default for GssLimits {
    /// 16,384 contexts of 64 MiB, and 1,024 in creation, of which a peer has at most 256 and each waits for
    /// its client for a minute. Two hundred users of one host may log in at once.
    fn default() -> Self {
        Self {
            contexts_max: 16_384,
            context_bytes_max: 64 << 20,
            negotiations_max: 1_024,
            negotiations_per_peer_max: 256,
            negotiation_idle_ms_max: 60_000,
        }
    }
}

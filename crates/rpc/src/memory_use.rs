//! The memory use of a process, for metrics.

use std::net::IpAddr;

/// The memory that clients make a process hold at a moment, in bytes unless a name says otherwise.
/// `rpc_net::memory::MemoryBudget` measures it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemoryUse {
    /// The budget.
    pub total: u64,
    /// Requests, from the moment they are buffered until their calls end.
    pub requests: u64,
    /// Replies that wait for the socket.
    pub replies: u64,
    /// Calls in progress, each with the reply that it may need.
    pub calls: u64,
    /// Connections, a fixed number of bytes each.
    pub connections: u64,
    /// The reply caches of sessions and of NFSv3.
    pub reply_caches: u64,
    /// Opens, locks, delegations, clients and sessions.
    pub state: u64,
    /// The share of a client.
    pub share: u64,
    /// The charge of the heaviest client.
    pub heaviest: u64,
    /// The address of the heaviest client, if any client is charged.
    pub heaviest_client: Option<IpAddr>,
    /// Connections that are not read because their client is over its share.
    pub stopped_connections: u64,
}

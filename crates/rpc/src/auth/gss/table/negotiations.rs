//! The contexts in creation. Any stranger can begin one, so each network of peers has a share.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::BuildHasherDefault;
use std::net::IpAddr;

use crate::auth::gss::handle::{Nonce, NonceHasher};
use crate::auth::gss::mechanism::Negotiation;

/// The bounds of the table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NegotiationBounds {
    /// The most contexts in creation.
    pub(crate) total_max: usize,
    /// The most of one network of peers.
    pub(crate) per_peer_max: usize,
    /// How long the next token of a client is waited for, in milliseconds.
    pub(crate) idle_ms_max: u64,
}

/// The peers that share one bound: an IPv4 address, or the first 64 bits of an IPv6 address, as a host
/// usually has all addresses of such a prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PeerNetwork(IpAddr);

impl PeerNetwork {
    pub(crate) fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V6(address) => {
                let prefix = u128::from(address) >> 64 << 64;
                Self(IpAddr::V6(prefix.into()))
            }
            v4 @ IpAddr::V4(_) => Self(v4),
        }
    }
}

/// The contexts in creation.
#[derive(Debug)]
pub(crate) struct Negotiations {
    bounds: NegotiationBounds,
    entries: HashMap<Nonce, Entry, BuildHasherDefault<NonceHasher>>,
    per_peer: BTreeMap<PeerNetwork, usize>,
}

#[derive(Debug)]
struct Entry {
    peer: PeerNetwork,
    state: State,
}

enum State {
    /// The mechanism has a token. Such an entry is not evicted.
    UnderWay,
    /// The next token of the client is waited for.
    Idle { negotiation: Box<dyn Negotiation>, since_ms: u64 },
}

/// The outcome of a further token.
pub(crate) enum Resumption {
    /// The mechanism may take it.
    Resumed(Box<dyn Negotiation>),
    /// The mechanism has the token before: this one repeats it.
    UnderWay,
    /// No such context is in creation.
    Unknown,
}

impl Negotiations {
    pub(crate) fn new(bounds: NegotiationBounds) -> Self {
        Self { bounds, entries: HashMap::default(), per_peer: BTreeMap::new() }
    }

    /// Adds a context whose first token is under way. Where there is no room, a context that waits for its
    /// client is evicted: one of the same peer if that has its share, else one of the peer that has the most;
    /// of these the one that waits longest. False when there is none.
    pub(crate) fn begin(&mut self, nonce: Nonce, peer: PeerNetwork, now_ms: u64) -> bool {
        if self.is_full() || self.has_share(peer) {
            self.expire(now_ms);
        }
        if self.has_share(peer) {
            self.evict(|entry| entry.peer == peer);
        }
        if self.is_full() {
            self.evict(|_| true);
        }
        if self.is_full() || self.has_share(peer) || self.entries.contains_key(&nonce) {
            return false;
        }
        self.entries.insert(nonce, Entry { peer, state: State::UnderWay });
        *self.per_peer.entry(peer).or_insert(0) += 1;
        true
    }

    /// Takes up a context with a further token of its client, which is then under way.
    pub(crate) fn resume(&mut self, nonce: Nonce, now_ms: u64) -> Resumption {
        let Some(entry) = self.entries.get_mut(&nonce) else { return Resumption::Unknown };
        match std::mem::replace(&mut entry.state, State::UnderWay) {
            State::UnderWay => Resumption::UnderWay,
            State::Idle { since_ms, .. } if is_over(since_ms, now_ms, self.bounds) => {
                self.end(nonce);
                Resumption::Unknown
            }
            State::Idle { negotiation, .. } => Resumption::Resumed(negotiation),
        }
    }

    /// Has a context wait for the next token of its client.
    pub(crate) fn wait(&mut self, nonce: Nonce, negotiation: Box<dyn Negotiation>, now_ms: u64) {
        if let Some(entry) = self.entries.get_mut(&nonce) {
            entry.state = State::Idle { negotiation, since_ms: now_ms };
        }
    }

    /// Removes a context: it is established, or will not be.
    pub(crate) fn end(&mut self, nonce: Nonce) {
        let Some(entry) = self.entries.remove(&nonce) else { return };
        if let Some(count) = self.per_peer.get_mut(&entry.peer) {
            *count -= 1;
            if *count == 0 {
                self.per_peer.remove(&entry.peer);
            }
        }
    }

    /// Returns how many contexts are in creation.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    fn is_full(&self) -> bool {
        self.entries.len() >= self.bounds.total_max
    }

    fn has_share(&self, peer: PeerNetwork) -> bool {
        self.count(peer) >= self.bounds.per_peer_max
    }

    fn count(&self, peer: PeerNetwork) -> usize {
        self.per_peer.get(&peer).copied().unwrap_or(0)
    }

    /// Removes the contexts whose clients have sent nothing for too long.
    fn expire(&mut self, now_ms: u64) {
        let bounds = self.bounds;
        let is_over = |entry: &Entry| match entry.state {
            State::Idle { since_ms, .. } => is_over(since_ms, now_ms, bounds),
            State::UnderWay => false,
        };
        let over = self.entries.iter().filter(|(_, entry)| is_over(entry)).map(|(nonce, _)| *nonce);
        for nonce in over.collect::<Vec<_>>() {
            self.end(nonce);
        }
    }

    fn evict(&mut self, among: impl Fn(&Entry) -> bool) {
        let idle = self.entries.iter().filter_map(|(nonce, entry)| match entry.state {
            State::Idle { since_ms, .. } if among(entry) => Some((nonce, entry.peer, since_ms)),
            _ => None,
        });
        let victim = idle
            .max_by_key(|(_, peer, since_ms)| (self.count(*peer), Reverse(*since_ms)))
            .map(|(nonce, ..)| *nonce);
        if let Some(nonce) = victim {
            self.end(nonce);
        }
    }
}

fn is_over(since_ms: u64, now_ms: u64, bounds: NegotiationBounds) -> bool {
    now_ms.saturating_sub(since_ms) > bounds.idle_ms_max
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnderWay => f.write_str("UnderWay"),
            Self::Idle { since_ms, .. } => f.debug_struct("Idle").field("since_ms", since_ms).finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::BoxFuture;
    use crate::auth::gss::mechanism::Step;

    struct Endless;

    impl Negotiation for Endless {
        fn accept(self: Box<Self>, _: Bytes) -> BoxFuture<Step> {
            Box::pin(std::future::pending())
        }
    }

    fn table() -> Negotiations {
        Negotiations::new(NegotiationBounds { total_max: 6, per_peer_max: 3, idle_ms_max: 1_000 })
    }

    fn peer(host: u8) -> PeerNetwork {
        PeerNetwork::of([10, 0, 0, host].into())
    }

    /// Begins a context, which then waits for its client.
    fn wait(table: &mut Negotiations, nonce: u128, host: u8, now_ms: u64) -> bool {
        let is_begun = table.begin(Nonce::from(nonce), peer(host), now_ms);
        table.wait(Nonce::from(nonce), Box::new(Endless), now_ms);
        is_begun
    }

    fn is_waiting(table: &mut Negotiations, nonce: u128, now_ms: u64) -> bool {
        match table.resume(Nonce::from(nonce), now_ms) {
            Resumption::Resumed(negotiation) => {
                table.wait(Nonce::from(nonce), negotiation, now_ms);
                true
            }
            Resumption::UnderWay => panic!("it is under way"),
            Resumption::Unknown => false,
        }
    }

    #[test]
    fn peer_above_its_share_evicts_its_own_context() {
        let mut table = table();
        assert!(wait(&mut table, 0, 1, 0));
        for nonce in 1..20 {
            assert!(wait(&mut table, nonce, 2, nonce as u64));
        }
        assert_eq!(table.len(), 4);
        assert!(is_waiting(&mut table, 0, 20) && is_waiting(&mut table, 17, 20));
        assert!(!is_waiting(&mut table, 16, 20));
    }

    #[test]
    fn full_table_evicts_from_the_peer_with_the_most() {
        let mut table = table();
        assert!(wait(&mut table, 0, 1, 0));
        for nonce in 1..4 {
            assert!(wait(&mut table, nonce, 2, 1));
        }
        assert!(wait(&mut table, 4, 3, 2) && wait(&mut table, 5, 3, 3));
        assert!(wait(&mut table, 6, 4, 4));
        assert_eq!(table.len(), 6);
        let left: Vec<u128> = (0..7).filter(|nonce| is_waiting(&mut table, *nonce, 5)).collect();
        assert_eq!(left.len(), 6);
        assert!([0, 4, 5, 6].iter().all(|nonce| left.contains(nonce)), "{left:?}");
    }

    #[test]
    fn contexts_under_way_are_not_evicted() {
        let mut table = table();
        for nonce in 0..3 {
            assert!(table.begin(Nonce::from(nonce), peer(1), 0));
        }
        assert!(!table.begin(Nonce::from(3), peer(1), 0), "the share of the peer");
        for nonce in 3..6 {
            assert!(table.begin(Nonce::from(nonce), peer(2), 0));
        }
        assert!(!table.begin(Nonce::from(6), peer(3), 1_000_000), "the table");
        assert!(matches!(table.resume(Nonce::from(0), 0), Resumption::UnderWay));
        table.end(Nonce::from(0));
        assert!(table.begin(Nonce::from(6), peer(3), 0));
    }

    #[test]
    fn client_that_waits_too_long_begins_again() {
        let mut table = table();
        assert!(wait(&mut table, 1, 1, 0) && wait(&mut table, 2, 1, 0));
        assert!(is_waiting(&mut table, 1, 1_000));
        assert!(!is_waiting(&mut table, 2, 1_001));
        table.end(Nonce::from(1));
        assert_eq!((table.len(), table.per_peer.len()), (0, 0));
    }

    #[test]
    fn addresses_of_one_prefix_share_a_bound() {
        let of = |text: &str| PeerNetwork::of(text.parse().unwrap());
        assert_eq!(of("2001:db8:1:2::1"), of("2001:db8:1:2:ffff::9"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
    }
}

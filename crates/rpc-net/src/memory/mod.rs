//! The memory that clients can make this process hold, by kind and by client.
//!
//! Owns the budget, the account of each client address, and the rule that decides whether a client's
//! connections are read. It has no socket and no runtime: connections report what they hold through a
//! ledger.

mod account;
mod address;
mod gate;
mod ledger;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering, Ordering::Relaxed};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use rpc::MemoryUse;

pub(crate) use account::Account;
pub use address::ClientAddress;
pub(crate) use ledger::Ledger;

/// A client that is charged more counts as heavy, in bytes.
const HEAVY_BYTES: u64 = 1 << 20;
/// The least share of a client in bytes: a record of the maximum size and its reply fit.
const SHARE_BYTES_MIN: u64 = 2 * HEAVY_BYTES + (256 << 10);
/// The least budget in bytes.
pub const BUDGET_BYTES_MIN: u64 = 16 << 20;

/// The kinds of memory that a client is charged for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charge {
    /// Bytes of requests, from the moment they are buffered until their calls end.
    Requests,
    /// Bytes of replies that wait for the socket.
    Replies,
    /// Calls under way, each with the reply that it may need.
    Calls,
}

/// How many kinds of [`Charge`] there are.
const CHARGES: usize = 3;

/// The kinds of memory that all clients share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shared {
    /// Connections, a fixed number of bytes each.
    Connections,
    /// The reply caches of sessions and of NFSv3.
    ReplyCaches,
    /// Opens, locks, delegations, clients and sessions.
    State,
}

/// How many kinds of [`Shared`] there are.
const SHARED: usize = 3;

/// The memory budget of a process.
///
/// The memory that all clients share is subtracted first; the rest is for requests, replies and calls. A
/// client that is charged more than its [share](MemoryBudget::share_bytes) is not read until its charge has
/// fallen. As the shares of all heavy clients together are less than the rest, the heaviest client waits
/// first when the budget is exceeded.
#[derive(Debug)]
pub struct MemoryBudget {
    total: u64,
    charged: [AtomicI64; CHARGES],
    shared: [AtomicI64; SHARED],
    /// Accounts with more than [`HEAVY_BYTES`].
    heavy: AtomicUsize,
    /// Connections that are not read because their client is over its share.
    stopped: AtomicUsize,
    accounts: Mutex<HashMap<ClientAddress, Weak<Account>>>,
}

impl MemoryBudget {
    /// A budget of `total` bytes; [`BUDGET_BYTES_MIN`] if that is more.
    pub fn new(total: u64) -> Arc<Self> {
        Arc::new(Self {
            total: total.max(BUDGET_BYTES_MIN),
            charged: Default::default(),
            shared: Default::default(),
            heavy: AtomicUsize::new(0),
            stopped: AtomicUsize::new(0),
            accounts: Mutex::default(),
        })
    }

    /// A budget that is never exceeded.
    pub fn unlimited() -> Arc<Self> {
        Self::new(u64::MAX / 2)
    }

    /// Replaces what is held of a shared kind, in bytes.
    pub fn set_shared(&self, kind: Shared, bytes: u64) {
        self.shared[kind as usize].store(signed(bytes), Relaxed);
    }

    /// Adds to what is held of a shared kind, in bytes.
    pub fn add_shared(&self, kind: Shared, bytes: i64) {
        self.shared[kind as usize].fetch_add(bytes, Relaxed);
    }

    /// The bound for requests, replies and calls of all clients together, in bytes: never less than a
    /// quarter of the budget.
    fn pool_bytes(&self) -> u64 {
        let shared = self.shared.iter().map(|bytes| unsigned(bytes.load(Relaxed))).sum::<u64>();
        self.total.saturating_sub(shared).max(self.total / 4)
    }

    /// Returns the share of one client, in bytes. An eighth of the pool is left for clients that are not
    /// heavy.
    pub fn share_bytes(&self) -> u64 {
        share(self.pool_bytes(), self.heavy.load(Relaxed))
    }

    /// Returns the memory in use now.
    pub fn memory_use(&self) -> MemoryUse {
        let charged = |kind: Charge| unsigned(self.charged[kind as usize].load(Relaxed));
        let shared = |kind: Shared| unsigned(self.shared[kind as usize].load(Relaxed));
        let accounts: Vec<_> = self.accounts.lock().values().filter_map(Weak::upgrade).collect();
        let heaviest = accounts.iter().max_by_key(|account| account.charged_bytes());
        let heaviest_bytes = heaviest.map_or(0, |account| account.charged_bytes());
        MemoryUse {
            total: self.total,
            requests: charged(Charge::Requests),
            replies: charged(Charge::Replies),
            calls: charged(Charge::Calls),
            connections: shared(Shared::Connections),
            reply_caches: shared(Shared::ReplyCaches),
            state: shared(Shared::State),
            share: self.share_bytes(),
            heaviest: heaviest_bytes,
            heaviest_client: heaviest.filter(|_| heaviest_bytes > 0).map(|account| account.address().ip()),
            stopped_connections: self.stopped.load(Relaxed) as u64,
        }
    }

    /// The account of a client, which exists as long as a connection holds it.
    pub(crate) fn account(self: &Arc<Self>, address: ClientAddress) -> Arc<Account> {
        let mut accounts = self.accounts.lock();
        if let Some(account) = accounts.get(&address).and_then(Weak::upgrade) {
            return account;
        }
        let account = Arc::new(Account::new(Arc::clone(self), address));
        accounts.insert(address, Arc::downgrade(&account));
        account
    }

    /// Forgets an account that nothing holds any more.
    fn forget(&self, address: ClientAddress) {
        let mut accounts = self.accounts.lock();
        // Another may have taken its place meanwhile.
        if accounts.get(&address).is_some_and(|account| account.strong_count() == 0) {
            accounts.remove(&address);
        }
    }
}

/// The share of a client in a pool of so many bytes with so many heavy clients.
fn share(pool: u64, heavy: usize) -> u64 {
    ((pool - pool / 8) / heavy.max(2) as u64).max(SHARE_BYTES_MIN)
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// Counters of several threads may be below zero for a moment.
fn unsigned(bytes: i64) -> u64 {
    u64::try_from(bytes).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    const MIB: u64 = 1 << 20;

    fn ledger(budget: &Arc<MemoryBudget>, last: u8) -> Ledger {
        Ledger::new(budget.account(ClientAddress::of(IpAddr::from([10, 0, 0, last]))))
    }

    #[test]
    fn share_is_half_of_the_pool_for_one_heavy_client_or_two() {
        let budget = MemoryBudget::new(64 * MIB);
        assert_eq!(budget.share_bytes(), 28 * MIB);
        let mut ledgers: Vec<_> = (1..=4).map(|last| ledger(&budget, last)).collect();
        for (ledger, share) in ledgers.iter_mut().zip([28, 28]) {
            ledger.set(Charge::Requests, 2 * MIB);
            ledger.settle();
            assert_eq!(budget.share_bytes(), share * MIB);
        }
        for ledger in &mut ledgers[2..] {
            ledger.set(Charge::Replies, 2 * MIB);
            ledger.settle();
        }
        assert_eq!(budget.share_bytes(), 14 * MIB);
        drop(ledgers);
        assert_eq!(budget.share_bytes(), 28 * MIB);
    }

    #[test]
    fn shares_of_all_heavy_clients_fit_into_the_pool() {
        for heavy in 0..40 {
            assert!(share(1024 * MIB, heavy) * heavy as u64 <= 1024 * MIB, "{heavy}");
        }
        assert_eq!(share(64 * MIB, 1000), SHARE_BYTES_MIN, "a request and its reply always fit");
    }

    #[test]
    fn shared_memory_leaves_less_for_clients_but_never_less_than_a_quarter() {
        let budget = MemoryBudget::new(64 * MIB);
        budget.set_shared(Shared::ReplyCaches, 16 * MIB);
        assert_eq!(budget.share_bytes(), 21 * MIB);
        budget.set_shared(Shared::State, 1000 * MIB);
        assert_eq!(budget.share_bytes(), 7 * MIB);
    }

    #[test]
    fn heaviest_client_waits_first() {
        let budget = MemoryBudget::new(64 * MIB);
        let (mut first, mut second) = (ledger(&budget, 1), ledger(&budget, 2));
        first.set(Charge::Requests, 27 * MIB);
        first.settle();
        second.set(Charge::Requests, 20 * MIB);
        second.settle();
        assert!(!first.is_over() && !second.is_over());
        // A third heavy client makes the shares smaller: 18 MiB, then 14 MiB with a fourth.
        let mut third = ledger(&budget, 3);
        third.set(Charge::Calls, 2 * MIB);
        third.settle();
        first.review();
        second.review();
        assert!(first.is_over() && second.is_over() && !third.is_over());
        second.set(Charge::Requests, 15 * MIB);
        second.settle();
        assert!(first.is_over() && !second.is_over());
    }

    #[test]
    fn everything_is_given_back() {
        let budget = MemoryBudget::new(64 * MIB);
        let mut one = ledger(&budget, 1);
        let mut other = ledger(&budget, 1);
        one.set(Charge::Requests, 40 * MIB);
        one.settle();
        other.set(Charge::Replies, 1000);
        other.settle();
        let used = budget.memory_use();
        assert_eq!((used.requests, used.replies, used.calls), (40 * MIB, 0, 0), "small changes wait");
        assert_eq!(used.heaviest_client, Some(IpAddr::from([10, 0, 0, 1])));
        assert!(other.is_over(), "the account is the client's, not the connection's");
        drop(one);
        assert!(!other.is_over());
        drop(other);
        let nothing = MemoryUse { total: 64 * MIB, share: 28 * MIB, ..MemoryUse::default() };
        assert_eq!(budget.memory_use(), nothing);
        assert!(budget.accounts.lock().is_empty());
    }

    #[test]
    fn only_one_idle_connection_of_a_client_over_its_share_is_read() {
        let budget = MemoryBudget::new(64 * MIB);
        let account = budget.account(ClientAddress::of(IpAddr::from([10, 0, 0, 1])));
        assert!(account.take_turn(1));
        assert!(account.take_turn(1) && !account.take_turn(2));
        account.end_turn(2);
        assert!(!account.take_turn(2), "it was not its own");
        account.end_turn(1);
        assert!(account.take_turn(2));
    }
}

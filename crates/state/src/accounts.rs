//! The shares of client addresses in the tables of state.
//!
//! Names of clients and owners cost nothing to invent, addresses do: so tables are shared by address. An
//! address may take as much as it leaves to all others: alone it has half of a table, beside another a
//! third, and an address that has little always finds room.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use bytes::Bytes;
use parking_lot::Mutex;
use proto::nfs4::ClientId;

use crate::reply_memory::{ReplyMemory, ReplyShare};

/// The network address of a client, without its port, in any form that tells addresses apart.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClientAddress(pub Bytes);

/// True when an address with `own` entries of a table with `total` may add one.
pub(crate) fn has_share(own: usize, total: usize, max: usize) -> bool {
    own < max.saturating_sub(total)
}

/// The state of all clients: opens, lock stateids, delegations and locked ranges.
#[derive(Debug, Default)]
pub(crate) struct Accounts {
    total: Arc<AtomicUsize>,
    replies: Arc<ReplyMemory>,
    by_address: Mutex<BTreeMap<ClientAddress, Weak<Account>>>,
}

impl Accounts {
    /// With the memory for replies that all share.
    pub(crate) fn new(replies: Arc<ReplyMemory>) -> Self {
        Self { replies, ..Self::default() }
    }

    /// The account of an address, which lives as long as one of its clients.
    pub(crate) fn of(&self, address: &ClientAddress) -> Arc<Account> {
        let mut by_address = self.by_address.lock();
        if let Some(account) = by_address.get(address).and_then(Weak::upgrade) {
            return account;
        }
        let replies = Arc::new(ReplyShare::new(Arc::clone(&self.replies)));
        let account = Account { own: AtomicUsize::new(0), total: Arc::clone(&self.total), replies };
        let account = Arc::new(account);
        by_address.insert(address.clone(), Arc::downgrade(&account));
        account
    }

    pub(crate) fn total(&self) -> usize {
        self.total.load(Ordering::Relaxed)
    }

    /// Forgets addresses without clients.
    pub(crate) fn forget_unused(&self) {
        self.by_address.lock().retain(|_, account| account.strong_count() > 0);
    }
}

/// The state of the clients of one address.
#[derive(Debug, Default)]
pub(crate) struct Account {
    own: AtomicUsize,
    total: Arc<AtomicUsize>,
    replies: Arc<ReplyShare>,
}

impl Account {
    /// The memory for replies of its sessions.
    pub(crate) fn replies(&self) -> &Arc<ReplyShare> {
        &self.replies
    }

    /// True when one more may be held of at most `max` in all.
    pub(crate) fn has_room(&self, max: usize) -> bool {
        has_share(self.own.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed), max)
    }

    /// Notes that so many became so many.
    pub(crate) fn change(&self, before: usize, after: usize) {
        for count in [&self.own, &self.total] {
            count.fetch_add(after.saturating_sub(before), Ordering::Relaxed);
            count.fetch_sub(before.saturating_sub(after), Ordering::Relaxed);
        }
    }
}

/// The records of clients by address: numbers only, the records are elsewhere.
#[derive(Debug, Default)]
pub(crate) struct RecordShares {
    by_address: BTreeMap<ClientAddress, Records>,
    /// Addresses with unconfirmed records, by their number.
    unconfirmed: BTreeSet<(usize, ClientAddress)>,
    confirmed: usize,
}

#[derive(Debug, Default)]
struct Records {
    confirmed: usize,
    /// Oldest first: numbers of clients grow.
    unconfirmed: BTreeSet<ClientId>,
}

impl RecordShares {
    /// True when the address may have one confirmed record more. Unconfirmed ones do not count: they give
    /// way.
    pub(crate) fn has_room(&self, address: &ClientAddress, max: usize) -> bool {
        let own = self.by_address.get(address).map_or(0, |records| records.confirmed);
        has_share(own, self.confirmed, max)
    }

    /// The unconfirmed record that gives way to a new one: the oldest of the address with the most.
    pub(crate) fn yielding(&self) -> Option<ClientId> {
        let (_, address) = self.unconfirmed.last()?;
        self.by_address.get(address)?.unconfirmed.first().copied()
    }

    pub(crate) fn add_unconfirmed(&mut self, address: &ClientAddress, id: ClientId) {
        self.change(address, |records| {
            records.unconfirmed.insert(id);
        });
    }

    pub(crate) fn confirm(&mut self, address: &ClientAddress, id: ClientId) {
        self.change(address, |records| {
            if records.unconfirmed.remove(&id) {
                records.confirmed += 1;
            }
        });
    }

    pub(crate) fn remove(&mut self, address: &ClientAddress, id: ClientId) {
        self.change(address, |records| {
            if !records.unconfirmed.remove(&id) {
                records.confirmed = records.confirmed.saturating_sub(1);
            }
        });
    }

    fn change(&mut self, address: &ClientAddress, change: impl FnOnce(&mut Records)) {
        let records = self.by_address.entry(address.clone()).or_default();
        let (confirmed, unconfirmed) = (records.confirmed, records.unconfirmed.len());
        change(records);
        self.confirmed = self.confirmed + records.confirmed - confirmed;
        let now = records.unconfirmed.len();
        if records.confirmed == 0 && now == 0 {
            self.by_address.remove(address);
        }
        if unconfirmed != now {
            self.unconfirmed.remove(&(unconfirmed, address.clone()));
            if now > 0 {
                self.unconfirmed.insert((now, address.clone()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: u8) -> ClientAddress {
        ClientAddress(Bytes::copy_from_slice(&[number]))
    }

    #[test]
    fn an_address_has_as_much_as_it_leaves_to_others() {
        let accounts = Accounts::default();
        let (a, b) = (accounts.of(&address(1)), accounts.of(&address(2)));
        let fill = |account: &Account| {
            let mut own = 0;
            while account.has_room(90) {
                account.change(own, own + 1);
                own += 1;
            }
            own
        };
        assert_eq!((fill(&a), fill(&b), accounts.total()), (45, 23, 68));
        assert_eq!(fill(&accounts.of(&address(3))), 11);
        a.change(45, 0);
        assert!(b.has_room(90) && Arc::ptr_eq(&b, &accounts.of(&address(2))));
        drop((a, b));
        accounts.forget_unused();
        assert!(accounts.by_address.lock().is_empty());
    }

    #[test]
    fn the_oldest_record_of_the_address_with_most_gives_way() {
        let mut shares = RecordShares::default();
        for (number, of) in [(1, 1), (2, 2), (3, 2), (4, 2), (5, 1)] {
            shares.add_unconfirmed(&address(of), ClientId(number));
        }
        assert_eq!(shares.yielding(), Some(ClientId(2)));
        shares.remove(&address(2), ClientId(2));
        shares.confirm(&address(2), ClientId(3));
        assert_eq!(shares.yielding(), Some(ClientId(1)));
        assert!(shares.has_room(&address(1), 2) && !shares.has_room(&address(2), 2));
        for (number, of) in [(1, 1), (3, 2), (4, 2), (5, 1)] {
            shares.remove(&address(of), ClientId(number));
        }
        assert!(shares.by_address.is_empty() && shares.unconfirmed.is_empty() && shares.confirmed == 0);
    }
}

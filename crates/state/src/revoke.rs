//! What an administrator takes away (RFC 8881 §8.5).
//!
//! ```text
//!   held ──(its client's record removed from stable storage)──▶ revoked ──FREE_STATEID──▶ forgotten
//! ```
//! Until they are freed the stateids are worth ADMIN_REVOKED, and SEQUENCE says ADMIN_STATE_REVOKED. What is held by NLM just
//! ends: its protocol has no words for it.

use std::sync::Arc;

use proto::nfs4::{ClientId, Status};

use crate::{Client, FileId, LockOwner, State};

/// How much was revoked.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Revoked {
    /// Opens.
    pub opens: usize,
    /// Lock-owners' locks of a file, each counted as one.
    pub locks: usize,
    /// Delegations.
    pub delegations: usize,
    /// Ranges and shares of NLM callers.
    pub nlm: usize,
}

impl Revoked {
    /// Adds up.
    pub fn add(&mut self, more: Self) {
        self.opens += more.opens;
        self.locks += more.locks;
        self.delegations += more.delegations;
        self.nlm += more.nlm;
    }
}

impl State {
    /// The clients that hold something of a file, in the order of their numbers.
    pub fn holders(&self, file: FileId) -> Vec<Arc<Client>> {
        let mut holders: Vec<Arc<Client>> = self.files.with(file, |state, _| {
            let opens = state.opens.iter().map(|open| &open.client);
            let delegations = state.delegations.iter().map(|delegation| &delegation.client);
            opens.chain(state.locks.iter().map(|lock| &lock.client)).chain(delegations).cloned().collect()
        });
        holders.sort_by_key(|client| client.id());
        holders.dedup_by_key(|client| client.id());
        holders
    }

    /// The files that a client holds something of.
    pub fn files_of(&self, client: &Client) -> Vec<FileId> {
        client.files().into_iter().collect()
    }

    /// The client with this number.
    pub fn client(&self, id: ClientId) -> Option<Arc<Client>> {
        self.clients.table.lock().records.get(&id).map(|record| Arc::clone(&record.client))
    }

    /// Revokes what a client holds of a file. Before, it must be written down that the client may not reclaim it; what it was
    /// let begin under it still ends.
    pub fn revoke(&self, client: &Client, file: FileId) -> Revoked {
        self.files.with(file, |state, shard| {
            let mine = |holder: &Arc<Client>| holder.id() == client.id();
            let locks: Vec<_> = state.locks.iter().filter(|l| mine(&l.client)).map(|l| l.other).collect();
            for other in &locks {
                state.remove_lock_state(other);
            }
            let opens: Vec<_> = state.opens.iter().filter(|o| mine(&o.client)).map(|o| o.other).collect();
            state.opens.retain(|open| !mine(&open.client));
            let held = state.delegations.iter().filter(|d| mine(&d.client));
            let delegations: Vec<_> = held.map(|delegation| delegation.other).collect();
            for other in &delegations {
                self.files.drop_delegation(state, shard, other);
            }
            for other in locks.iter().chain(&opens).chain(&delegations) {
                client.revoke(*other, file, Status::AdminRevoked);
            }
            let (opens, locks, delegations) = (opens.len(), locks.len(), delegations.len());
            Revoked { opens, locks, delegations, nlm: 0 }
        })
    }

    /// Ends the locks and shares of all NLM callers on a file.
    pub fn revoke_nlm(&self, file: FileId) -> Revoked {
        self.files.with(file, |state, _| {
            let before = state.ranges.len() + state.shares.len();
            let of_ranges = state.ranges.iter().filter_map(|held| match &held.owner {
                LockOwner::Nlm { host, .. } => Some(host),
                LockOwner::Nfs4 { .. } => None,
            });
            for host in of_ranges.chain(state.shares.iter().map(|share| &share.owner.host)) {
                self.holdings.change(host, 1, 0);
            }
            state.ranges.remove(|owner| matches!(owner, LockOwner::Nlm { .. }));
            state.shares.clear();
            Revoked { nlm: before - state.ranges.len(), ..Revoked::default() }
        })
    }

    /// Takes a client's sessions and number away, whatever its lease; what it held stands until [`State::finish_expel`], which
    /// is due when it is written down that nobody may reclaim it. `None` when there is no such client.
    pub fn evict(&self, id: ClientId) -> Option<Arc<Client>> {
        self.replace(&mut self.clients.table.lock(), id)
    }
}

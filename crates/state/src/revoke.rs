//! What an administrator takes away (RFC 8881 §8.5).
//!
//! ```text
//!   held ──(its client's record removed from stable storage)──▶ revoked ──FREE_STATEID──▶ forgotten
//! ```
//! Until they are freed the stateids are worth ADMIN_REVOKED, and SEQUENCE says ADMIN_STATE_REVOKED. What is
//! held by NLM just ends: its protocol has no words for it.

use std::sync::Arc;

use proto::nfs4::{ClientId, StateOther, Status};

use crate::client::StateKind;
use crate::file::FileState;
use crate::{Client, FileId, State};

/// How much was revoked.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Revoked {
    /// Opens.
    pub opens: usize,
    /// Lock-owners' locks of a file, each counted as one.
    pub locks: usize,
    /// Delegations, and other grants.
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
            let grants = state.grants.iter().map(|held| &held.client);
            state.opens.clients().chain(state.locks.clients()).chain(grants).cloned().collect()
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

    /// Revokes what a client holds of a file, a piece at a time: the locks first, then the opens that they
    /// are under. Before, it must be written down that the client may not reclaim it; what it was let begin
    /// under it still ends.
    pub fn revoke(&self, client: &Client, file: FileId) -> Revoked {
        let mut revoked = Revoked::default();
        while let Some((kind, other)) = self.files.with(file, |state, _| state.held_by(client)) {
            if !self.files.discard_some(client, file, kind, &other) {
                continue;
            }
            client.revoke(other, file, Status::AdminRevoked);
            let count = match kind {
                StateKind::Open => &mut revoked.opens,
                StateKind::Lock => &mut revoked.locks,
                StateKind::Grant(_) => &mut revoked.delegations,
            };
            *count += 1;
        }
        revoked
    }

    /// Ends the locks and shares of all NLM callers on a file.
    pub fn revoke_nlm(&self, file: FileId) -> Revoked {
        let mut nlm = 0;
        loop {
            let freed = self.nlm_free_some(file, None);
            if freed == 0 {
                return Revoked { nlm, ..Revoked::default() };
            }
            nlm += freed;
        }
    }

    /// Takes a client's sessions and number away, whatever its lease; what it held stands until
    /// [`State::finish_expel`], which is due when it is written down that nobody may reclaim it. `None` when
    /// there is no such client.
    pub fn evict(&self, id: ClientId) -> Option<Arc<Client>> {
        self.replace(&mut self.clients.table.lock(), id)
    }
}

impl FileState {
    /// Some state of a client: locks before opens.
    fn held_by(&self, client: &Client) -> Option<(StateKind, StateOther)> {
        let lock = self.locks.of_client(client.id()).map(|lock| (StateKind::Lock, lock.other));
        let open = self.opens.of_client(client.id()).map(|open| (StateKind::Open, open.other));
        let grant = self.grants.of_client(client.id());
        lock.or(open).or(grant.map(|held| (StateKind::Grant(held.kind.class), held.other)))
    }
}

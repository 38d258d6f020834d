//! How a delegation ends that is not returned in time (RFC 8881 §10.4.5).
//!
//! ```text
//!   recalled ──deadline──▶ overdue ──(its file on stable storage as lost)──▶ revoked ──FREE_STATEID──▶ forgotten
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use proto::nfs4::{ClientId, StateOther, Status};

use crate::{Client, FileId, Now, State};

/// Delegations that a client has not returned in time. As long as it lives they count as lost, see
/// [`Client::lost`].
#[derive(Debug)]
pub struct Overdue {
    client: Arc<Client>,
    delegations: Vec<(FileId, StateOther)>,
}

impl Overdue {
    /// Whose.
    pub fn client(&self) -> &Arc<Client> {
        &self.client
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.delegations.len()
    }

    fn files(&self) -> impl Iterator<Item = FileId> {
        self.delegations.iter().map(|(file, _)| *file)
    }
}

impl Drop for Overdue {
    fn drop(&mut self) {
        self.client.end_losing(self.files());
    }
}

impl State {
    /// What was not returned in time, by client in the order of their numbers: before it is revoked it must
    /// be written down, see [`State::revoke_overdue`].
    pub fn overdue(&self, now: Now) -> Vec<Overdue> {
        let mut found: BTreeMap<ClientId, Overdue> = BTreeMap::new();
        for shard in self.files.shards() {
            if shard.delegated.load(Ordering::SeqCst) == 0 {
                continue;
            }
            for (file, state) in shard.files.lock().iter_mut() {
                for held in state.delegations.iter_mut() {
                    if held.is_overdue(now, self.limits.recall_ms) {
                        let of_client = found.entry(held.client.id()).or_insert_with(|| Overdue {
                            client: Arc::clone(&held.client),
                            delegations: Vec::new(),
                        });
                        of_client.delegations.push((*file, held.other));
                        held.client.begin_losing(*file);
                    }
                }
            }
        }
        found.into_values().collect()
    }

    /// Revokes what is still overdue; returns how many. Before, [`Client::lost`] must be on stable storage,
    /// if there is anything by which the client might reclaim.
    pub fn revoke_overdue(&self, overdue: &Overdue, now: Now) -> usize {
        let revoke = |(file, other): &(FileId, StateOther)| {
            self.files.with(*file, |state, shard| {
                let held = state.delegations.get_mut(other);
                let is_overdue = held.is_some_and(|held| held.is_overdue(now, self.limits.recall_ms));
                if is_overdue {
                    self.files.drop_delegation(state, shard, other);
                    overdue.client.revoke(*other, *file, Status::DelegationRevoked);
                }
                is_overdue
            })
        };
        overdue.delegations.iter().filter(|delegation| revoke(delegation)).count()
    }
}

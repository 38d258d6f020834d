//! The revocation of a grant that is not returned in time (RFC 8881 §10.4.5).
//!
//! ```text
//!   recalled ──deadline──▶ overdue ──(its file on stable storage as lost)──▶ revoked ──FREE_STATEID──▶ forgotten
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use proto::nfs4::{ClientId, StateOther};

use crate::{Client, FileId, Now, State};

/// Grants that a client has not returned in time. As long as it lives they count as lost, see
/// [`Client::lost`].
#[derive(Debug)]
pub struct Overdue {
    client: Arc<Client>,
    grants: Vec<(FileId, StateOther)>,
}

impl Overdue {
    /// The holder.
    pub fn client(&self) -> &Arc<Client> {
        &self.client
    }

    /// The number of grants.
    pub fn count(&self) -> usize {
        self.grants.len()
    }

    fn files(&self) -> impl Iterator<Item = FileId> {
        self.grants.iter().map(|(file, _)| *file)
    }
}

impl Drop for Overdue {
    fn drop(&mut self) {
        self.client.end_losing(self.files());
    }
}

impl State {
    /// The grants that were not returned in time, by client in the order of their numbers. Before they are
    /// revoked, [`Client::lost`] must be on stable storage: see [`State::revoke_overdue`].
    pub fn overdue(&self, now: Now) -> Vec<Overdue> {
        let mut found: BTreeMap<ClientId, Overdue> = BTreeMap::new();
        for shard in self.files.shards() {
            if shard.granted.load(Ordering::SeqCst) == 0 {
                continue;
            }
            for (file, state) in shard.files.lock().iter_mut() {
                for held in state.grants.iter_mut() {
                    if held.is_overdue(now, self.limits.recall_ms) {
                        let of_client = found.entry(held.client.id()).or_insert_with(|| Overdue {
                            client: Arc::clone(&held.client),
                            grants: Vec::new(),
                        });
                        of_client.grants.push((*file, held.other));
                        held.client.begin_losing(*file);
                    }
                }
            }
        }
        found.into_values().collect()
    }

    /// Revokes the grants that are still overdue; returns how many. Before, [`Client::lost`] must be on
    /// stable storage, if there is a record by which the client might reclaim.
    pub fn revoke_overdue(&self, overdue: &Overdue, now: Now) -> usize {
        let revoke = |(file, other): &(FileId, StateOther)| {
            self.files.with(*file, |state, shard| {
                let held = state.grants.get_mut(other);
                let status = held.and_then(|held| {
                    held.is_overdue(now, self.limits.recall_ms).then_some(held.kind.revoked)
                });
                if let Some(status) = status {
                    self.files.drop_grant(state, shard, other);
                    overdue.client.revoke(*other, *file, status);
                }
                status.is_some()
            })
        };
        overdue.grants.iter().filter(|grant| revoke(grant)).count()
    }
}

//! What happens by itself as time goes by.

use std::sync::Arc;

use proto::nfs4::ClientId;

use crate::{Client, Now, State};

/// What a tick ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticked {
    /// Clients whose lease was over.
    pub expired_clients: usize,
    /// Delegations that were not returned in time.
    pub revoked_delegations: usize,
}

impl State {
    /// To be called every second or so: ends leases, revokes delegations, forgets old recalls.
    pub fn tick(&self, now: Now) -> Ticked {
        let revoked_delegations = self.revoke_overdue(now);
        let expired_clients = self.expire_clients(now);
        self.files.forget_recalls(now, self.limits.recall_pause_ms);
        Ticked { expired_clients, revoked_delegations }
    }

    pub(crate) fn client(&self, id: ClientId) -> Option<Arc<Client>> {
        self.clients.table.lock().records.get(&id).map(|record| Arc::clone(&record.client))
    }
}

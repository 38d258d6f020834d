//! The end of clients: when their lease is over, when they have nothing left, and when an administrator ends
//! them.

use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use proto::nfs4::ClientId;
use state::{Client, FileId, Now, Revoked};

use crate::recovery::Recovery;
use crate::service_core::ServiceCore;

/// Ends clients, and releases their state once stable storage says that it cannot be reclaimed.
pub(crate) struct Clients {
    core: ServiceCore,
    recovery: Arc<Recovery>,
    /// Clients that have ended and whose state is not released yet.
    undiscarded: Mutex<Vec<Arc<Client>>>,
}

impl Clients {
    pub(crate) fn new(core: ServiceCore, recovery: Arc<Recovery>) -> Self {
        Self { core, recovery, undiscarded: Mutex::default() }
    }

    /// Ends the clients that are overdue, and forgets those that hold nothing.
    pub(crate) async fn tick(&self, now: Now) {
        let overdue = self.core.state().overdue_clients(now);
        if !overdue.is_empty() {
            self.expel(&overdue).await;
        }
        self.discard_undone().await;
        for idle in self.core.state().idle_clients() {
            self.recovery.forget(&idle).await;
            idle.set_forgotten();
        }
    }

    /// Notes the end of the last request of a client that has ended: its state can be discarded now.
    pub(crate) fn last_request_ended(&self) {
        self.core.wake_held();
    }

    /// Expels clients whose lease is over. Their state is released once stable storage says that they may not
    /// reclaim it.
    pub(crate) async fn expel(&self, clients: &[Arc<Client>]) {
        for client in clients {
            if !self.core.state().begin_expel(client, self.core.now()) {
                continue;
            }
            self.core.events().clients_expired.add(1);
            if self.discard(client).await {
                tracing::info!(
                    client = client.id().0,
                    "a client was silent for longer than its lease, and lost its state"
                );
            }
        }
    }

    /// Releases the state of a client that has ended, once its record is removed and none of its requests is
    /// in progress. False when one of both is not so yet: the next tick tries again.
    pub(crate) async fn discard(&self, client: &Arc<Client>) -> bool {
        let mut discarding = Discarding { clients: self, client, is_done: false };
        discarding.is_done = self.try_discard(client).await;
        discarding.is_done
    }

    /// Tries again to release the state of clients that have ended.
    async fn discard_undone(&self) {
        let undone = self.undiscarded.lock().clone();
        for client in &undone {
            self.discard(client).await;
        }
    }

    async fn try_discard(&self, client: &Client) -> bool {
        if client.has_requests() {
            return false;
        }
        if let Err(error) = self.recovery.remove_record(client).await {
            tracing::debug!(%error, "a client that is gone keeps its state: its record could not be removed");
            return false;
        }
        self.core.state().finish_expel(client);
        self.core.wake_held();
        true
    }

    /// Expels a client, whatever its lease. False when there is no such client.
    pub(crate) async fn expel_client(&self, id: ClientId) -> bool {
        let Some(client) = self.core.state().evict(id) else { return false };
        tracing::info!(client = id.0, "a client was expelled");
        self.discard(&client).await;
        true
    }

    /// Revokes what a client holds of files, once its record is removed. Its sessions stay.
    ///
    /// # Errors
    /// Its record could not be removed: it keeps what it holds.
    pub(crate) async fn revoke(
        &self,
        client: &Client,
        files: impl IntoIterator<Item = FileId>,
    ) -> io::Result<Revoked> {
        // No later request writes the record again; writes that were asked for before precede the removal.
        client.begin_loss();
        let removed = self.recovery.remove_record(client).await;
        let mut revoked = Revoked::default();
        if removed.is_ok() {
            for file in files {
                revoked.add(self.core.state().revoke(client, file));
            }
        }
        client.end_loss();
        if removed.is_ok() && !client.has_lost_by_order() {
            // It held nothing of these files any more.
            self.recovery.record_again(client).await;
        }
        removed.map(|()| revoked)
    }
}

/// An attempt to discard a client. When it fails, or is dropped with the request that waits for it, the
/// next tick repeats it.
struct Discarding<'a> {
    clients: &'a Clients,
    client: &'a Arc<Client>,
    is_done: bool,
}

impl Drop for Discarding<'_> {
    fn drop(&mut self) {
        let mut undiscarded = self.clients.undiscarded.lock();
        undiscarded.retain(|known| !Arc::ptr_eq(known, self.client));
        if !self.is_done {
            undiscarded.push(Arc::clone(self.client));
        }
    }
}

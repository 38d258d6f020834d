//! What has to be on stable storage before state is given or given away.

use std::io;
use std::sync::Arc;

use proto::nfs4::Status;
use state::{Client, Now, Overdue};

use super::Recaller;
use crate::runtime::BoxFuture;

impl Recaller {
    /// Makes sure that the client's name is on stable storage, so that it may reclaim what it is about to be
    /// given.
    ///
    /// # Errors
    /// DELAY when it cannot be written: the client comes again, and may find the disk in order.
    pub(crate) async fn record(&self, client: &Client) -> Result<(), Status> {
        if client.is_recorded() {
            return Ok(());
        }
        // An addition that overtakes the removal would be undone by it.
        if client.is_being_forgotten() {
            return Err(Status::Delay);
        }
        if self.state().check_reclaim(client).is_ok() {
            // It is among those who may reclaim, and joins the others when it is done: if the grace period
            // ends before, what it has not reclaimed is given away, and after another crash it must not come
            // back for it (RFC 8881 §8.4.3).
            client.set_recorded();
            return Ok(());
        }
        self.add_record(client).await
    }

    /// Records a client that has reclaimed, before it says so.
    ///
    /// # Errors
    /// DELAY when it cannot be written.
    pub(crate) async fn record_reclaimed(&self, client: &Client) -> Result<(), Status> {
        if client.is_recorded() { self.add_record(client).await } else { Ok(()) }
    }

    pub(super) async fn add_record(&self, client: &Client) -> Result<(), Status> {
        if client.has_lost_by_order() {
            // It is given state, and cannot reclaim it.
            client.set_recorded();
            return Ok(());
        }
        // A request that outlives its client must not write over the record of the next one of that name.
        if client.is_gone() {
            return Err(Status::Delay);
        }
        match self.write_record(client).await {
            Ok(()) => {
                client.set_recorded();
                Ok(())
            }
            Err(error) => {
                tracing::debug!(%error, "a client could not be recorded, and is given no state");
                Err(Status::Delay)
            }
        }
    }

    /// Removes the name of a client that holds nothing, as soon as that can be written.
    pub(crate) async fn forget(&self, client: &Client) {
        let forgotten = {
            let _order = self.inner.recording.lock();
            self.inner.stable.forget(client.id(), client.record_name())
        };
        if let Err(error) = forgotten.await {
            // Until it is removed a restart would wait for it in vain; it holds nothing that it could
            // reclaim wrongly.
            tracing::debug!(%error, "the record of a client is removed later");
        }
    }

    /// Expels clients whose lease is over: what they hold is given away only when it is written down that
    /// they may not reclaim it.
    pub(crate) async fn expel(&self, clients: &[Arc<Client>]) {
        for client in clients {
            if !self.state().begin_expel(client, self.now()) {
                continue;
            }
            self.inner.events.clients_expired.add(1);
            if self.discard(client).await {
                tracing::info!(
                    client = client.id().0,
                    "a client was silent for longer than its lease, and lost its state"
                );
            }
        }
    }

    /// Gives away what a client held that is gone, when it is written down that nobody may reclaim it, and
    /// when nothing that it was let do before is still under way. False when that is not so yet: it is tried
    /// again later.
    pub(crate) async fn discard(&self, client: &Arc<Client>) -> bool {
        let mut discarding = Discarding { recaller: self, client, is_done: false };
        discarding.is_done = self.try_discard(client).await;
        discarding.is_done
    }

    /// Tries again what could not be done when a client went.
    pub(super) async fn discard_undone(&self) {
        let undone = self.inner.undone.lock().clone();
        for client in &undone {
            self.discard(client).await;
        }
    }

    async fn try_discard(&self, client: &Client) -> bool {
        if client.has_requests() {
            return false;
        }
        if let Err(error) = self.remove_record(client).await {
            tracing::debug!(%error, "a client that is gone keeps its state: its record could not be removed");
            return false;
        }
        self.state().finish_expel(client);
        self.wake();
        true
    }

    /// Revokes delegations that were not returned in time, once it is written down that their holders may not
    /// take back what they had of these files (RFC 8881 §8.4.3).
    pub(crate) async fn revoke_overdue(&self) {
        let now = self.now();
        let mut revoked = 0;
        for overdue in self.state().overdue(now) {
            revoked += self.revoke_of_client(overdue, now).await;
        }
        if revoked > 0 {
            self.inner.events.delegations_revoked.add(revoked as u64);
            tracing::info!(delegations = revoked, "delegations were revoked");
            self.wake();
        }
    }

    async fn revoke_of_client(&self, overdue: Overdue, now: Now) -> usize {
        let client = Arc::clone(overdue.client());
        // What a client held that is gone is discarded as a whole.
        if client.is_gone() || !self.may_lose(&client) {
            return 0;
        }
        if client.is_kept()
            && let Err(error) = self.write_record(&client).await
        {
            tracing::debug!(%error, "a delegation is not revoked: it cannot be written down");
            return 0;
        }
        let revoked = self.state().revoke_overdue(&overdue, now);
        let has_returned = revoked < overdue.count();
        drop(overdue);
        if has_returned {
            self.record_loss(&client).await;
        }
        revoked
    }

    /// False for a client that takes back what it held: in what is written down of that, nothing can be
    /// changed. Later it has a record of its own, or can take back nothing any more.
    fn may_lose(&self, client: &Client) -> bool {
        let _order = self.inner.recording.lock();
        client.is_kept() || client.has_lost_by_order() || !self.state().in_grace()
    }

    /// A client has lost less than is written down of it, for it knows.
    pub(crate) async fn record_loss(&self, client: &Client) {
        if client.is_kept()
            && client.is_recorded()
            && let Err(error) = self.write_record(client).await
        {
            // After a restart it may not reclaim what it could.
            tracing::debug!(%error, "the record of a client could not be changed");
        }
    }

    /// Asks for a record of the client with all that it has lost by now, unless it must have none. What is
    /// asked for later never knows less.
    fn write_record(&self, client: &Client) -> BoxFuture<io::Result<()>> {
        let _order = self.inner.recording.lock();
        if client.is_gone() || client.has_lost_by_order() {
            return Box::pin(std::future::ready(Ok(())));
        }
        client.set_kept();
        self.inner.stable.add(client.id(), client.record_name(), client.lost())
    }

    /// Asks for the removal of a client's record, after which none is asked for of who is gone or has lost
    /// something by order.
    pub(super) fn remove_record(&self, client: &Client) -> BoxFuture<io::Result<()>> {
        let _order = self.inner.recording.lock();
        self.inner.stable.remove(client.id(), client.record_name())
    }

    /// Ends the grace period when nobody is waited for any more.
    pub(crate) async fn end_grace_if_due(&self) {
        if !self.state().grace_may_end(self.now()) {
            return;
        }
        match self.inner.stable.end_grace().await {
            Ok(()) => {
                let missing = self.state().awaited_clients();
                self.state().end_grace();
                tracing::info!(missing, "the grace period is over");
            }
            Err(error) => tracing::debug!(%error, "the end of the grace period could not be written down"),
        }
    }
}

/// The attempt to discard a client. When it fails, or is dropped with the request that waits for it, it is
/// made again later.
struct Discarding<'a> {
    recaller: &'a Recaller,
    client: &'a Arc<Client>,
    is_done: bool,
}

impl Drop for Discarding<'_> {
    fn drop(&mut self) {
        let mut undone = self.recaller.inner.undone.lock();
        undone.retain(|known| !Arc::ptr_eq(known, self.client));
        if !self.is_done {
            undone.push(Arc::clone(self.client));
        }
    }
}

//! Recovery after a restart: the records that have to be on stable storage before state is granted or given
//! away, and the grace period (RFC 8881 §8.4).

mod sessions;

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use proto::nfs4::{SessionId, Status};
use state::Client;

use crate::runtime::BoxFuture;
use crate::service_core::ServiceCore;
use crate::stable::StableRecords;

/// Keeps the records that decide, after a restart, which clients may reclaim what; ends the grace period.
pub(crate) struct Recovery {
    core: ServiceCore,
    stable: Arc<dyn StableRecords>,
    /// Held while a record is asked for or its removal is: a later record must not know less than an earlier
    /// one.
    recording: Mutex<()>,
    /// Sessions that have a record, alive or dead.
    recorded_sessions: Mutex<BTreeSet<SessionId>>,
}

impl Recovery {
    pub(crate) fn new(core: ServiceCore, stable: Arc<dyn StableRecords>) -> Self {
        Self { core, stable, recording: Mutex::default(), recorded_sessions: Mutex::default() }
    }

    /// Records a client on stable storage, so that it may reclaim the state that it is about to be granted.
    ///
    /// # Errors
    /// DELAY when the record cannot be written: the client tries again, and the disk may have recovered.
    pub(crate) async fn record(&self, client: &Client) -> Result<(), Status> {
        if client.is_recorded() {
            return Ok(());
        }
        // An addition that overtakes the removal would be undone by it.
        if client.is_being_forgotten() {
            return Err(Status::Delay);
        }
        if self.core.state().check_reclaim(client).is_ok() {
            // The client may reclaim, and is recorded again when it has completed its reclaims. If the grace
            // period ends before, state that it has not reclaimed is given away, and the client must not
            // reclaim it after another crash (RFC 8881 §8.4.3).
            client.set_recorded();
            return Ok(());
        }
        self.add_record(client).await
    }

    /// Records a client that has completed its reclaims, before RECLAIM_COMPLETE is answered.
    ///
    /// # Errors
    /// DELAY when it cannot be written.
    pub(crate) async fn record_reclaimed(&self, client: &Client) -> Result<(), Status> {
        if client.is_recorded() { self.add_record(client).await } else { Ok(()) }
    }

    async fn add_record(&self, client: &Client) -> Result<(), Status> {
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

    /// Removes the record of a client that holds nothing.
    pub(crate) async fn forget(&self, client: &Client) {
        let forgotten = {
            let _order = self.recording.lock();
            self.stable.forget(client.id(), client.record_name())
        };
        if let Err(error) = forgotten.await {
            // Until it is removed a restart would wait for it in vain; it holds nothing that it could
            // reclaim wrongly.
            tracing::debug!(%error, "the record of a client is removed later");
        }
    }

    /// Records a client again that has just freed the last of what was revoked by order, and holds something.
    pub(crate) async fn record_again(&self, client: &Client) {
        if client.has_state() && self.add_record(client).await.is_err() {
            // Before it is given anything new it is tried again.
            client.set_unrecorded();
        }
    }

    /// False for a client that reclaims: the record of its former state cannot be changed. Later it has a
    /// record of its own, or can reclaim nothing any more.
    pub(crate) fn may_lose(&self, client: &Client) -> bool {
        let _order = self.recording.lock();
        client.is_kept() || client.has_lost_by_order() || !self.core.state().in_grace()
    }

    /// Reduces the losses in a client's record to those that the client does not know of.
    pub(crate) async fn record_loss(&self, client: &Client) {
        if client.is_kept()
            && client.is_recorded()
            && let Err(error) = self.write_record(client).await
        {
            // After a restart it may not reclaim what it could.
            tracing::debug!(%error, "the record of a client could not be changed");
        }
    }

    /// Asks for a record of the client with all its losses so far, unless it must have none. A later record
    /// never has fewer.
    pub(crate) fn write_record(&self, client: &Client) -> BoxFuture<io::Result<()>> {
        let _order = self.recording.lock();
        if client.is_gone() || client.has_lost_by_order() {
            return Box::pin(std::future::ready(Ok(())));
        }
        client.set_kept();
        self.stable.add(client.id(), client.record_name(), client.lost())
    }

    /// Asks for the removal of a client's record. Afterwards no record is asked for of a client that has
    /// ended or has lost state by order.
    pub(crate) fn remove_record(&self, client: &Client) -> BoxFuture<io::Result<()>> {
        let _order = self.recording.lock();
        self.stable.remove(client.id(), client.record_name())
    }

    /// Ends the grace period once no client is left to reclaim.
    pub(crate) async fn end_grace_if_due(&self) {
        if !self.core.state().grace_may_end(self.core.now()) {
            return;
        }
        match self.stable.end_grace().await {
            Ok(()) => {
                let missing = self.core.state().awaited_clients();
                self.core.state().end_grace();
                tracing::info!(missing, "the grace period is over");
            }
            Err(error) => tracing::debug!(%error, "the end of the grace period could not be written down"),
        }
    }
}

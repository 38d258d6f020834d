//! The recall of grants by the callback of their kind, and the revocation of those that are not returned in
//! time.

use std::sync::Arc;
use std::time::Duration;

use proto::nfs4::{FileHandle, Status};
use state::{Now, Overdue, Recall};
use xdr::{Encode, Encoder};

use super::Delegations;

/// Pause before a callback that did not get through is sent again.
const RESEND: Duration = Duration::from_millis(250);

/// The arguments of a recall, in the form that the kind has for them.
struct RecallArguments {
    recall: Recall,
    object: FileHandle,
}

impl Encode for RecallArguments {
    fn encode(&self, to: &mut Encoder) {
        (self.recall.kind.encode_recall)(&self.recall, &self.object, to);
    }
}

impl Delegations {
    /// Recalls the grants that were not recalled before.
    pub(super) fn send_recalls(self: &Arc<Self>, recalls: &[Recall]) {
        for recall in recalls.iter().copied() {
            if !self.core.state().begin_recall(&recall, self.core.now()) {
                continue;
            }
            self.core.events().recalls.add(1);
            let delegations = Arc::clone(self);
            self.core.world().spawn(Box::pin(async move { delegations.send(recall).await }));
        }
    }

    /// Sends the callback of the kind until the client accepts it or the grant has ended.
    async fn send(&self, recall: Recall) {
        let operation = recall.kind.callback;
        while let Some(callbacks) = self.core.state().begin_callback(&recall) {
            // A grant of this moment may not be noted yet.
            let granted = self.granted(&recall.state_id);
            if let Some(granted) = granted {
                let arguments = RecallArguments { recall, object: granted.object() };
                let referring = granted.referring_calls();
                let answer = self.callbacks.callback(recall.client, operation, &arguments, referring).await;
                // BAD_STATEID and BADHANDLE: the client has returned it, or does not know it yet (RFC 8881
                // §20.2.4); the deadline of the recall decides.
                match answer.map(|answer| answer.status) {
                    Some(Status::Ok) => return,
                    Some(status) => tracing::debug!(%operation, %status, callbacks, "a recall was refused"),
                    None => {}
                }
            }
            self.core.world().sleep(RESEND).await;
        }
    }

    /// Revokes grants that were not returned in time, once stable storage says that their holders may not
    /// reclaim state of these files (RFC 8881 §8.4.3).
    pub(crate) async fn revoke_overdue(&self) {
        let now = self.core.now();
        let mut revoked = 0;
        for overdue in self.core.state().overdue(now) {
            revoked += self.revoke_of_client(overdue, now).await;
        }
        if revoked > 0 {
            self.core.events().delegations_revoked.add(revoked as u64);
            tracing::info!(delegations = revoked, "delegations were revoked");
            self.core.wake_held();
        }
    }

    async fn revoke_of_client(&self, overdue: Overdue, now: Now) -> usize {
        let client = Arc::clone(overdue.client());
        // All state of a client that is gone is discarded at once.
        if client.is_gone() || !self.recovery.may_lose(&client) {
            return 0;
        }
        if client.is_kept()
            && let Err(error) = self.recovery.write_record(&client).await
        {
            tracing::debug!(%error, "a delegation is not revoked: it cannot be written down");
            return 0;
        }
        let revoked = self.core.state().revoke_overdue(&overdue, now);
        let has_returned = revoked < overdue.count();
        drop(overdue);
        if has_returned {
            self.recovery.record_loss(&client).await;
        }
        revoked
    }
}

//! CB_RECALL (RFC 8881 §20.2), and the revocation of delegations that are not returned in time.

use std::sync::Arc;
use std::time::Duration;

use proto::nfs4::{CallbackOperation, CbRecallArgs, Status};
use state::{Now, Overdue, Recall};

use super::Delegations;

/// Pause before a recall that did not get through is sent again.
const RESEND: Duration = Duration::from_millis(250);

impl Delegations {
    /// Recalls the delegations that were not recalled before.
    pub(super) fn send_recalls(self: &Arc<Self>, recalls: &[Recall]) {
        for recall in recalls.iter().copied() {
            if !self.core.state().begin_recall(&recall, self.core.now()) {
                continue;
            }
            self.core.events().recalls.add(1);
            self.recalled.lock().insert(recall.state_id.other, self.core.now());
            let delegations = Arc::clone(self);
            self.core.world().spawn(Box::pin(async move { delegations.send(recall).await }));
        }
    }

    /// Sends CB_RECALL until the client accepts it or the delegation has ended.
    async fn send(&self, recall: Recall) {
        while self.core.state().is_delegated(recall.file, &recall.state_id.other) {
            // A delegation that was granted at this moment may not be noted yet.
            let granted = self.granted(&recall.state_id);
            if let Some(granted) = granted {
                let arguments =
                    CbRecallArgs { state_id: recall.state_id, truncate: false, object: granted.object() };
                let referring = granted.referring_calls();
                let answer = self
                    .callbacks
                    .callback(recall.client, CallbackOperation::Recall, &arguments, referring)
                    .await;
                // BAD_STATEID and BADHANDLE: the client gave it back, or does not know it yet (RFC 8881
                // §20.2.4); the deadline of the recall decides.
                match answer.map(|answer| answer.status) {
                    Some(Status::Ok) => return,
                    Some(status) => tracing::debug!(%status, "CB_RECALL was refused"),
                    None => {}
                }
            }
            self.core.world().sleep(RESEND).await;
        }
    }

    /// Revokes delegations that were not returned in time, once it is written down that their holders may not
    /// take back what they had of these files (RFC 8881 §8.4.3).
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
        // What a client held that is gone is discarded as a whole.
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

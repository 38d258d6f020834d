//! CB_RECALL_ANY: reduces delegations before their table is full (RFC 8881 §20.6).

use std::sync::Arc;

use proto::nfs4::attributes::Bitmap;
use proto::nfs4::{CallbackOperation, CbRecallAnyArgs, ClientId};
use state::Now;

use super::Delegations;

/// Pause between two rounds: clients need time to return what they can miss.
const PAUSE_MS: u64 = 5000;
/// RCA4_TYPE_MASK_RDATA_DLG, WDATA_DLG and DIR_DLG (RFC 8881 §20.6.1).
const ALL_DELEGATIONS: Bitmap = Bitmap::from_word(0b111);

impl Delegations {
    /// When the table of delegations is nearly full, asks those clients that hold more than their share to
    /// keep half.
    pub(crate) fn recall_any_if_many(self: &Arc<Self>, now: Now) {
        let (held, max) = (self.core.state().delegation_count(), self.core.state().limits().delegations_max);
        // Nine tenths; a table of no delegations is never too full.
        if held == 0 || held < max - max / 10 {
            return;
        }
        let mut trimmed = self.trimmed.lock();
        if trimmed.0 != 0 && now.since_ms(*trimmed) < PAUSE_MS {
            return;
        }
        *trimmed = now;
        drop(trimmed);
        let holders = self.core.state().delegations_by_client();
        let share = held / holders.len().max(1);
        for (client, count) in holders.into_iter().filter(|(_, count)| *count >= share) {
            self.recall_any(client, count / 2);
        }
    }

    fn recall_any(self: &Arc<Self>, client: ClientId, keep: usize) {
        tracing::info!(client = client.0, keep, "a client is asked to return delegations");
        let delegations = Arc::clone(self);
        let keep = u32::try_from(keep).unwrap_or(u32::MAX);
        self.core.world().spawn(Box::pin(async move {
            let arguments = CbRecallAnyArgs { keep, types: ALL_DELEGATIONS };
            delegations
                .callbacks
                .callback(client, CallbackOperation::RecallAny, &arguments, Vec::new())
                .await;
        }));
    }
}

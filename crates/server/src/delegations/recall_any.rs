//! CB_RECALL_ANY: reduces grants before their table is full (RFC 8881 §20.6).

use std::sync::Arc;

use proto::nfs4::attributes::Bitmap;
use proto::nfs4::{CallbackOperation, CbRecallAnyArgs, ClientId};
use state::Now;
use state::recallable::KINDS;

use super::Delegations;

/// Pause between two rounds: clients need time to return what they can miss.
const PAUSE_MS: u64 = 5000;

/// The types of all kinds that the server grants (RFC 8881 §20.6.1).
fn all_types() -> Bitmap {
    Bitmap::from_word(KINDS.iter().fold(0, |types, kind| types | kind.recall_any))
}

impl Delegations {
    /// When the table of grants is nearly full, asks the clients that hold more than their share to keep
    /// half.
    pub(crate) fn recall_any_if_many(self: &Arc<Self>, now: Now) {
        let (held, max) = (self.core.state().grant_count(), self.core.state().limits().delegations_max);
        // Nine tenths; an empty table is never too full.
        if held == 0 || held < max - max / 10 {
            return;
        }
        let mut trimmed = self.trimmed.lock();
        if trimmed.0 != 0 && now.since_ms(*trimmed) < PAUSE_MS {
            return;
        }
        *trimmed = now;
        drop(trimmed);
        let holders = self.core.state().grants_by_client();
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
            let arguments = CbRecallAnyArgs { keep, types: all_types() };
            delegations
                .callbacks
                .callback(client, CallbackOperation::RecallAny, &arguments, Vec::new())
                .await;
        }));
    }
}

//! The records of persistent sessions on stable storage, see [`crate::persistent`].

use bytes::Bytes;
use proto::nfs4::{SessionId, SlotId, Status};

use super::Recovery;
use crate::persistent::{SessionRecord, SlotRecord};

impl Recovery {
    /// True when sessions may be persistent.
    pub(crate) fn keeps_sessions(&self) -> bool {
        self.stable.keeps_sessions()
    }

    /// Records a session that is about to be created; false when that fails, and it cannot be persistent.
    pub(crate) async fn keep_session(&self, id: SessionId, record: &SessionRecord) -> bool {
        if let Err(error) = self.stable.add_session(id, xdr::to_bytes(record)).await {
            tracing::debug!(%error, "a session could not be written down, and is not persistent");
            return false;
        }
        true
    }

    /// Takes charge of recorded sessions: their records are removed when the sessions have ended.
    pub(crate) fn adopt_sessions(&self, ids: impl IntoIterator<Item = SessionId>) {
        self.recorded_sessions.lock().extend(ids);
    }

    /// Records the change that a request is about to make, or its reply.
    ///
    /// # Errors
    /// DELAY when it cannot be written.
    pub(crate) async fn keep_slot(
        &self,
        session: SessionId,
        slot: SlotId,
        record: &SlotRecord,
    ) -> Result<(), Status> {
        let record: Bytes = xdr::to_bytes(record);
        self.stable.set_slot(session, slot, record).await.map_err(|error| {
            tracing::debug!(%error, "a request of a persistent session could not be written down");
            Status::Delay
        })
    }

    /// As [`Recovery::keep_slot`], without waiting: it is on stable storage before anything that is written
    /// down after it.
    pub(crate) fn keep_slot_soon(&self, session: SessionId, slot: SlotId, record: &SlotRecord) {
        let written = self.stable.set_slot_soon(session, slot, xdr::to_bytes(record));
        self.core.world().spawn(Box::pin(async move {
            if let Err(error) = written.await {
                tracing::debug!(%error, "the reply of a persistent session is written down later");
            }
        }));
    }

    /// Removes the records of sessions that have ended, however they did. Where that fails it is tried again
    /// with the next tick; until then a restart would find them dead, which does no harm.
    pub(crate) async fn forget_ended_sessions(&self) {
        let kept: Vec<_> = self.recorded_sessions.lock().iter().copied().collect();
        for id in kept
            .into_iter()
            .filter(|id| self.core.state().session(*id).is_err_and(|status| status == Status::BadSession))
        {
            match self.stable.remove_session(id).await {
                Ok(()) => {
                    self.recorded_sessions.lock().remove(&id);
                }
                Err(error) => {
                    tracing::debug!(%error, "a session that has ended could not be removed from the records");
                    return;
                }
            }
        }
    }
}

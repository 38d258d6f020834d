//! Persistent sessions after a restart: what each of their slots will answer, see [`crate::persistent`].

use std::collections::BTreeMap;

use proto::nfs4::{SequenceId, SlotId};
use state::{DeadSession, DeadSlot, Kept, Now, Principal};
use vfs::FileSystem;

use super::Nfs4;
use super::repeat::Repeat;
use crate::persistent::{
    Change, Entry, Intent, Repetition, Resolved, SessionRecord, SlotKept, SlotRecord, resolve,
};
use crate::stable::StoredSession;

/// A session with its records read.
struct Read {
    stored: StoredSession,
    session: SessionRecord,
    slots: Vec<(SlotId, SlotRecord)>,
}

impl<F: FileSystem> Nfs4<F> {
    /// Takes over the persistent sessions of the servers before: they are dead, and answer retries. What was under way when
    /// the server ended is looked up in the file systems, and logged where it cannot be told whether it was done.
    ///
    /// To be called before the first request.
    pub async fn bring_back(&self, mut stored: Vec<StoredSession>) {
        if stored.is_empty() {
            return;
        }
        self.recaller.adopt_sessions(stored.iter().map(|session| session.id));
        // Those that died last first.
        stored.sort_by_key(|session| (session.restarts, session.id));
        let sessions: Vec<Read> = stored.into_iter().filter_map(read).collect();
        let contested = contested(&sessions);
        let (mut dead, mut repetitions) = (Vec::new(), Vec::new());
        for Read { stored, session, slots } in sessions {
            let mut kept = BTreeMap::new();
            for (slot, record) in slots {
                let outcome = match record.kept {
                    SlotKept::Reply(reply) => Some(Kept::Reply(reply)),
                    SlotKept::Intents(intents) => {
                        let (done, repeated) = self.settle(&session, intents, &contested).await;
                        repetitions.extend(repeated);
                        done
                    }
                };
                if let Some(outcome) = outcome {
                    let (sequence, digest) = (SequenceId(record.sequence), record.digest);
                    kept.insert(slot, DeadSlot { sequence, digest, kept: outcome });
                }
            }
            dead.push(DeadSession {
                id: stored.id,
                principal: Principal(session.principal),
                highest_slot: SlotId(session.highest_slot),
                slots: kept,
            });
        }
        tracing::info!(sessions = dead.len(), "persistent sessions of before the restart answer retries");
        let now = self.recaller.now();
        self.state().bury(dead, now);
        // New opens wait until the grace period is over, which takes a lease at most; then there is one more to come.
        let until = Now(now.0.saturating_add(2000 * u64::from(self.lease_seconds())));
        self.repetitions.expect(repetitions, until);
    }

    /// What a retry gets of a request that was under way, and the OPEN in it that its client will repeat.
    async fn settle(
        &self,
        session: &SessionRecord,
        intents: Vec<Intent>,
        contested: &BTreeMap<Entry, usize>,
    ) -> (Option<Kept>, Option<Repetition>) {
        let Some(last) = intents.last() else { return (None, None) };
        let is_contested = last.change.entries().any(|entry| contested.get(entry) > Some(&1));
        let outcome =
            if is_contested { Resolved::Ambiguous } else { resolve(&self.exports, &last.change).await };
        match (outcome, &last.change) {
            (Resolved::Done(Some(file)), Change::Open(entry)) if intents.len() == 1 => {
                let file = bytes::Bytes::copy_from_slice(file.as_bytes());
                let repetition = Repetition { client: session.client.clone(), entry: entry.clone(), file };
                (None, Some(repetition))
            }
            (Resolved::Done(made), _) => (Some(Kept::Done(xdr::to_bytes(&Repeat::of(intents, made)))), None),
            (Resolved::NotDone, _) if intents.len() == 1 => (None, None),
            (Resolved::NotDone, change) => {
                tracing::warn!(operation = %change, "a request was carried out in part when the server ended");
                (None, None)
            }
            (Resolved::Ambiguous, change) => {
                tracing::warn!(
                    operation = %change,
                    "whether this was done when the server ended cannot be told; its client may do it again"
                );
                (None, None)
            }
        }
    }
}

fn read(stored: StoredSession) -> Option<Read> {
    let session = xdr::from_bytes(stored.record.clone());
    let slots = stored.slots.iter().map(|(slot, record)| Ok((*slot, xdr::from_bytes(record.clone())?)));
    match (session, slots.collect::<xdr::Result<_>>()) {
        (Ok(session), Ok(slots)) => Some(Read { stored, session, slots }),
        (Err(error), _) | (_, Err(error)) => {
            tracing::warn!(%error, "the record of a persistent session is damaged, and its replies are lost");
            None
        }
    }
}

/// How many requests under way were about each name.
fn contested(sessions: &[Read]) -> BTreeMap<Entry, usize> {
    let mut all = BTreeMap::new();
    for (_, record) in sessions.iter().flat_map(|session| &session.slots) {
        let SlotKept::Intents(intents) = &record.kept else { continue };
        for entry in intents.last().into_iter().flat_map(|intent| intent.change.entries()) {
            *all.entry(entry.clone()).or_default() += 1;
        }
    }
    all
}

//! Persistent sessions after a restart: what each of their slots will answer, see [`crate::persistent`].

use std::collections::BTreeMap;

use bytes::Bytes;
use futures_util::future::join_all;
use proto::nfs4::{SequenceId, SlotId};
use state::{CachedReply, DeadSession, DeadSlot, Now, Principal};
use vfs::FileSystem;

use crate::nfs4::engine::Nfs4;
use crate::nfs4::engine::repeat::Repeat;
use crate::persistent::{
    Change, Entry, Intent, Named, Repetition, Resolved, SessionRecord, SlotContents, SlotKey, SlotRecord,
    resolve,
};
use crate::stable::StoredSession;

/// A session with its records read.
struct Read {
    stored: StoredSession,
    session: SessionRecord,
    slots: Vec<(SlotId, SlotRecord)>,
}

impl<F: FileSystem> Nfs4<F> {
    /// Takes over the persistent sessions of the servers before: they are dead, and answer retries. What was
    /// under way when the server ended is looked up in the file systems, and logged where it cannot be told
    /// whether it was done.
    ///
    /// To be called before the first request.
    pub async fn bring_back(&self, mut stored: Vec<StoredSession>) {
        if stored.is_empty() {
            return;
        }
        self.services().recovery().adopt_sessions(stored.iter().map(|session| session.id));
        // Those that died last first.
        stored.sort_by_key(|session| (session.restarts, session.id));
        let mut sessions: Vec<Read> = stored.into_iter().filter_map(read).collect();
        self.settle_all(&mut sessions).await;
        let now = self.services().now();
        // New opens wait until the grace period is over, which takes a lease at most; then there is one more
        // to come.
        let until = Now(now.0.saturating_add(2000 * u64::from(self.lease_seconds())));
        self.repetitions().expect(sessions.iter().flat_map(repetitions), until);
        tracing::info!(sessions = sessions.len(), "persistent sessions of before the restart answer retries");
        self.state().bury(sessions.into_iter().map(dead), now);
    }

    /// Finds out what became of each request that was under way, and writes that down.
    async fn settle_all(&self, sessions: &mut [Read]) {
        let contested = contested(sessions);
        let mut settled = Vec::new();
        for Read { stored, slots, .. } in sessions {
            for (slot, record) in slots {
                if let SlotContents::Intents(intents) = &mut record.kept {
                    let intents = std::mem::take(intents);
                    record.kept = self.settle(intents, &contested).await;
                    settled.push((stored.id, *slot, &*record));
                }
            }
        }
        // What cannot be written is logged, and looked up again by the next server, which may find less.
        join_all(
            settled.iter().map(|(id, slot, record)| self.services().recovery().keep_slot(*id, *slot, record)),
        )
        .await;
    }

    async fn settle(&self, intents: Vec<Intent>, contested: &BTreeMap<Entry, usize>) -> SlotContents {
        let Some(last) = intents.last() else { return SlotContents::Nothing };
        let is_contested = last.change.entries().any(|entry| contested.get(entry) > Some(&1));
        let outcome = if is_contested {
            Resolved::Ambiguous
        } else {
            resolve(&self.exports().load(), &last.change).await
        };
        match (outcome, &last.change) {
            (Resolved::Done(Some(file)), Change::Open(entry)) if intents.len() == 1 => {
                let object = Bytes::copy_from_slice(file.as_bytes());
                return SlotContents::Made(Named { at: entry.clone(), object });
            }
            (Resolved::Done(made), _) => {
                return SlotContents::Done(xdr::to_bytes(&Repeat::of(intents, made)));
            }
            (Resolved::NotDone, _) if intents.len() == 1 => {}
            (Resolved::NotDone, change) => {
                tracing::warn!(operation = %change, "a request was carried out in part when the server \
                                                     ended");
            }
            (Resolved::Ambiguous, change) => {
                tracing::warn!(
                    operation = %change,
                    "whether this was done when the server ended cannot be told; its client may do it again"
                );
            }
        }
        SlotContents::Nothing
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
        let SlotContents::Intents(intents) = &record.kept else { continue };
        for entry in intents.last().into_iter().flat_map(|intent| intent.change.entries()) {
            *all.entry(entry.clone()).or_default() += 1;
        }
    }
    all
}

/// The OPENs of a session that its client will repeat.
fn repetitions(session: &Read) -> impl Iterator<Item = (Repetition, SlotKey)> {
    session.slots.iter().filter_map(|(slot, record)| {
        let SlotContents::Made(made) = &record.kept else { return None };
        let repetition = Repetition { client: session.session.client.clone(), made: made.clone() };
        Some((repetition, (session.stored.id, *slot)))
    })
}

fn dead(Read { stored, session, slots }: Read) -> DeadSession {
    let kept = slots.into_iter().filter_map(|(slot, record)| {
        let kept = match record.kept {
            SlotContents::Reply(reply) => CachedReply::Reply(reply),
            SlotContents::Done(done) => CachedReply::Done(done),
            SlotContents::Intents(_) | SlotContents::Made(_) | SlotContents::Nothing => return None,
        };
        Some((slot, DeadSlot { sequence: SequenceId(record.sequence), digest: record.digest, kept }))
    });
    DeadSession {
        id: stored.id,
        principal: Principal(session.principal),
        highest_slot: SlotId(session.highest_slot),
        slots: kept.collect(),
    }
}

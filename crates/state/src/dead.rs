//! Persistent sessions of the server's life before: they are *dead*, and only repeat what was kept of them
//! (RFC 8881 §2.10.6.5).
//!
//! ```text
//!   session ──the server restarts──▶ dead ──DESTROY_SESSION, or a lease is over──▶ gone
//! ```
//! A retry is answered; a new request, or the retry of one that was not kept, is told that the session is
//! dead, and its client sends it again on a session of its new client id.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use proto::nfs4::{SequenceId, SessionId, SlotId, Status};

use crate::{Now, Principal, State};

/// The most dead sessions that are kept; of more, those that died the longest ago are gone.
pub const DEAD_SESSIONS_MAX: usize = 4096;

/// What is kept of the last modifying request in a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CachedReply {
    /// Its reply.
    Reply(Bytes),
    /// It was carried out, as the file system shows, and its reply is lost: what it did, in the service's own
    /// form.
    Done(Bytes),
}

/// A slot of which something is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadSlot {
    /// The number of the request.
    pub sequence: SequenceId,
    /// What it asked for.
    pub digest: u64,
    /// How it ended.
    pub kept: CachedReply,
}

/// A session that died with the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadSession {
    /// Its id.
    pub id: SessionId,
    /// Who made its client, and alone may destroy it.
    pub principal: Principal,
    /// The highest slot that it had.
    pub highest_slot: SlotId,
    /// By slot.
    pub slots: BTreeMap<SlotId, DeadSlot>,
}

impl DeadSession {
    /// How the request ended that this is a retry of.
    ///
    /// # Errors
    /// DEADSESSION for everything else: requests that are new, that were not kept, or that only share their
    /// number with one.
    pub fn retry(&self, slot: SlotId, sequence: SequenceId, digest: u64) -> Result<&CachedReply, Status> {
        let found = self.slots.get(&slot).filter(|kept| kept.sequence == sequence && kept.digest == digest);
        found.map(|slot| &slot.kept).ok_or(Status::DeadSession)
    }
}

#[derive(Debug, Default)]
pub(crate) struct DeadSessions {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    by_id: BTreeMap<SessionId, Arc<DeadSession>>,
    until: Now,
}

impl State {
    /// Takes over the persistent sessions of the life before, those that died last first. Of more than
    /// [`DEAD_SESSIONS_MAX`] the rest is dropped. They are kept for a lease.
    ///
    /// To be called before the first request.
    pub fn bury(&self, sessions: impl IntoIterator<Item = DeadSession>, now: Now) {
        let by_id = sessions.into_iter().take(DEAD_SESSIONS_MAX).map(|dead| (dead.id, Arc::new(dead)));
        let until = Now(now.0.saturating_add(self.limits.lease_ms()));
        *self.dead.inner.lock() = Inner { by_id: by_id.collect(), until };
    }

    /// The dead session with this id.
    pub fn dead_session(&self, id: SessionId) -> Option<Arc<DeadSession>> {
        self.dead.inner.lock().by_id.get(&id).cloned()
    }

    /// Ends a dead session (RFC 8881 §18.37).
    ///
    /// # Errors
    /// BADSESSION when there is none; CONN_NOT_BOUND_TO_SESSION for a principal that is not its own, as no
    /// connection is associated with it any more.
    pub fn destroy_dead_session(&self, id: SessionId, principal: &Principal) -> Result<(), Status> {
        let mut inner = self.dead.inner.lock();
        let dead = inner.by_id.get(&id).ok_or(Status::BadSession)?;
        if dead.principal != *principal {
            return Err(Status::ConnectionNotBoundToSession);
        }
        inner.by_id.remove(&id);
        Ok(())
    }

    pub(crate) fn forget_dead_sessions(&self, now: Now) {
        let mut inner = self.dead.inner.lock();
        if now >= inner.until {
            inner.by_id.clear();
        }
    }
}

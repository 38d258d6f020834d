//! One grant: its holder, its recall, and the uses that give it time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proto::nfs4::{StateId, StateOther};

use super::{DelegationKind, Kind};
use crate::{Client, Now, Range};

/// The sequence of the stateid of a grant, which does not change as long as it is held.
pub(crate) const SEQUENCE: u32 = 1;

#[derive(Debug)]
pub(crate) struct Grant {
    pub(crate) other: StateOther,
    pub(crate) client: Arc<Client>,
    pub(crate) kind: &'static Kind,
    pub(crate) range: Range,
    /// Set when it was recalled. Boxed, because few grants are.
    pub(super) recall: Option<Box<Recalled>>,
    /// Operations under way that use it.
    pub(super) uses: Arc<AtomicUsize>,
}

/// The recall of a grant.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recalled {
    /// The time of the recall.
    pub(super) since: Now,
    /// The grant is revoked at this time, if its holder does not use it meanwhile.
    pub(super) revoke_at: Now,
    /// The grant is revoked at this time at the latest.
    pub(super) revoke_at_latest: Now,
    /// Callbacks that were sent.
    pub(super) callbacks: u32,
}

/// A use of a grant under way. As long as it lives the grant is not revoked before the last deadline.
#[derive(Debug)]
pub struct Using(Arc<AtomicUsize>);

impl Drop for Using {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Grant {
    pub(crate) fn state_id(&self) -> StateId {
        StateId { sequence: SEQUENCE, other: self.other }
    }

    pub(crate) fn is_write_delegation(&self) -> bool {
        self.kind.delegation == Some(DelegationKind::Write)
    }

    pub(crate) fn is_recalled(&self) -> bool {
        self.recall.is_some()
    }

    /// Begins the recall; false when it was recalled before.
    pub(super) fn begin_recall(&mut self, now: Now, recall_ms: u64) -> bool {
        if self.is_recalled() {
            return false;
        }
        let after = |times| Now(now.0.saturating_add(recall_ms.saturating_mul(times)));
        let (revoke_at, revoke_at_latest) = (after(1), after(self.kind.recall_times_max));
        self.recall = Some(Box::new(Recalled { since: now, revoke_at, revoke_at_latest, callbacks: 0 }));
        true
    }

    /// Gives a holder that flushes the time of a recall again.
    pub(super) fn give_time(&mut self, now: Now, recall_ms: u64) {
        if let Some(recall) = &mut self.recall {
            let again = Now(now.0.saturating_add(recall_ms)).min(recall.revoke_at_latest);
            recall.revoke_at = recall.revoke_at.max(again);
        }
    }

    /// True when it was not returned in time; a use under way gives it time.
    pub(super) fn is_overdue(&mut self, now: Now, recall_ms: u64) -> bool {
        if self.uses.load(Ordering::SeqCst) > 0 {
            self.give_time(now, recall_ms);
        }
        self.recall.as_ref().is_some_and(|recall| recall.revoke_at <= now)
    }

    /// Notes a use that begins.
    pub(crate) fn begin_use(&mut self, now: Now, recall_ms: u64) -> Using {
        self.give_time(now, recall_ms);
        self.uses.fetch_add(1, Ordering::SeqCst);
        Using(Arc::clone(&self.uses))
    }
}

//! What stands in the way of an operation for now, and who must act before it may go on.

use std::sync::Arc;

use proto::nfs4::{ClientId, StateId, Status};

use crate::recallable::Kind;
use crate::{Client, FileId, Now, Range, State};

/// Conflicting opens or locks that one attempt looks at. Where all of them are of clients whose lease is
/// over, those are expelled and the next attempt looks at more.
pub(crate) const CONFLICTS_MAX: usize = 64;

/// A grant in conflict with an operation: to be recalled, see [`State::begin_recall`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recall {
    /// The holder.
    pub client: ClientId,
    /// The file.
    pub file: FileId,
    /// The stateid.
    pub state_id: StateId,
    /// The kind, which says by which callback it is recalled.
    pub kind: &'static Kind,
    /// The range that is granted.
    pub range: Range,
}

/// What must go before an operation may be tried again.
#[derive(Debug, Default)]
pub struct Obstacles {
    /// Grants to be returned.
    pub recalls: Vec<Recall>,
    /// Clients whose lease is over and whose state is in the way: to be expelled, see [`State::begin_expel`].
    pub lapsed: Vec<Arc<Client>>,
}

impl Obstacles {
    /// Nothing is in the way.
    pub fn is_empty(&self) -> bool {
        self.recalls.is_empty() && self.lapsed.is_empty()
    }

    /// The outcome of one of several attempts; `None` when it was blocked, and the obstacles are noted.
    ///
    /// # Errors
    /// The final error of the attempt.
    pub(crate) fn collect<T>(&mut self, attempt: Result<T, Blocked>) -> Result<Option<T>, Status> {
        match attempt {
            Ok(done) => Ok(Some(done)),
            Err(Blocked::Status(status)) => Err(status),
            Err(Blocked::By(others)) => {
                self.recalls.extend(others.recalls);
                others.lapsed.iter().for_each(|client| self.add_lapsed(client));
                Ok(None)
            }
        }
    }

    /// Notes a client once.
    pub(crate) fn add_lapsed(&mut self, client: &Arc<Client>) {
        if !self.lapsed.iter().any(|known| Arc::ptr_eq(known, client)) {
            self.lapsed.push(Arc::clone(client));
        }
    }
}

/// Why an operation did not happen.
#[derive(Debug)]
pub enum Blocked {
    /// Others must act first; it may be tried again then.
    By(Obstacles),
    /// For good, as far as this request goes.
    Status(Status),
}

impl From<Status> for Blocked {
    fn from(status: Status) -> Self {
        Self::Status(status)
    }
}

impl State {
    /// True when the lease of a client is over, or the client is being expelled: what it holds stands in
    /// nobody's way any longer than it takes to expel it.
    pub(crate) fn has_lapsed(&self, client: &Client, now: Now) -> bool {
        client.is_gone() || now.since_ms(client.renewed()) > self.limits.lease_ms()
    }
}

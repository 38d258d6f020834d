//! Sessions by their ids.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use parking_lot::RwLock;
use proto::nfs4::{ClientId, SessionId, Status};

use crate::reply_memory::ReplyMemory;
use crate::{Session, State};

#[derive(Debug)]
pub(crate) struct Sessions {
    table: RwLock<Table>,
    pub(crate) memory: Arc<ReplyMemory>,
}

#[derive(Debug, Default)]
struct Table {
    by_id: BTreeMap<SessionId, Arc<Session>>,
    /// When thousands of clients come at once, none must search the sessions of all.
    by_client: BTreeSet<(ClientId, SessionId)>,
}

impl Table {
    fn remove(&mut self, id: SessionId) -> Option<Arc<Session>> {
        let session = self.by_id.remove(&id)?;
        self.by_client.remove(&(session.client().id(), id));
        Some(session)
    }

    fn of_client(&self, client: ClientId) -> impl Iterator<Item = SessionId> {
        let (first, last) = (SessionId([0; 16]), SessionId([u8::MAX; 16]));
        self.by_client.range((client, first)..=(client, last)).map(|(_, id)| *id)
    }
}

impl Sessions {
    pub(crate) fn new(memory_bytes_max: u64) -> Self {
        Self { table: RwLock::default(), memory: Arc::new(ReplyMemory::new(memory_bytes_max)) }
    }

    pub(crate) fn insert(&self, session: Arc<Session>) {
        let mut table = self.table.write();
        table.by_client.insert((session.client().id(), session.id()));
        table.by_id.insert(session.id(), session);
    }

    pub(crate) fn remove_of_client(&self, client: ClientId) {
        let mut table = self.table.write();
        let ids: Vec<_> = table.of_client(client).collect();
        let removed: Vec<_> = ids.into_iter().filter_map(|id| table.remove(id)).collect();
        // Sessions with many slots take their time to be freed.
        drop(table);
        drop(removed);
    }

    pub(crate) fn len(&self) -> usize {
        self.table.read().by_id.len()
    }

    /// At most `most` sessions after `after`, in the order of their ids.
    pub(crate) fn after(&self, after: Option<SessionId>, most: usize) -> Vec<Arc<Session>> {
        let table = self.table.read();
        let piece = table.by_id.range((after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded));
        piece.take(most).map(|(_, session)| Arc::clone(session)).collect()
    }

    pub(crate) fn count_of_client(&self, client: ClientId) -> usize {
        self.table.read().of_client(client).count()
    }
}

impl State {
    /// The session with this id.
    ///
    /// # Errors
    /// DEADSESSION for one that only [`State::dead_session`] has; BADSESSION.
    pub fn session(&self, id: SessionId) -> Result<Arc<Session>, Status> {
        let found = self.sessions.table.read().by_id.get(&id).cloned();
        found.ok_or_else(|| match self.dead_session(id) {
            Some(_) => Status::DeadSession,
            None => Status::BadSession,
        })
    }

    /// Ends a session (RFC 8881 §18.37).
    ///
    /// # Errors
    /// BADSESSION.
    pub fn destroy_session(&self, id: SessionId) -> Result<(), Status> {
        let removed = self.sessions.table.write().remove(id);
        removed.map(drop).ok_or(Status::BadSession)
    }

    /// Bytes that the sessions may need for their slots and replies, of [`Limits::session_bytes_max`](crate::Limits).
    pub fn session_bytes(&self) -> u64 {
        self.sessions.memory.taken()
    }

    /// The sessions of a client.
    pub fn sessions_of(&self, client: ClientId) -> Vec<Arc<Session>> {
        let table = self.sessions.table.read();
        table.of_client(client).filter_map(|id| table.by_id.get(&id).cloned()).collect()
    }
}

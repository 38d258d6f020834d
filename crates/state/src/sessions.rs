//! Sessions by their ids.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::RwLock;
use proto::nfs4::{ClientId, SessionId, Status};

use crate::reply_memory::ReplyMemory;
use crate::{ConnectionId, Session, State};

#[derive(Debug)]
pub(crate) struct Sessions {
    by_id: RwLock<BTreeMap<SessionId, Arc<Session>>>,
    pub(crate) memory: Arc<ReplyMemory>,
}

impl Sessions {
    pub(crate) fn new(memory_bytes_max: u64) -> Self {
        Self { by_id: RwLock::default(), memory: Arc::new(ReplyMemory::new(memory_bytes_max)) }
    }

    pub(crate) fn insert(&self, session: Arc<Session>) {
        self.by_id.write().insert(session.id(), session);
    }

    pub(crate) fn remove_of_client(&self, client: ClientId) {
        self.by_id.write().retain(|_, session| session.client().id() != client);
    }

    pub(crate) fn count_of_client(&self, client: ClientId) -> usize {
        self.by_id.read().values().filter(|session| session.client().id() == client).count()
    }
}

impl State {
    /// The session with this id.
    ///
    /// # Errors
    /// BADSESSION.
    pub fn session(&self, id: SessionId) -> Result<Arc<Session>, Status> {
        self.sessions.by_id.read().get(&id).cloned().ok_or(Status::BadSession)
    }

    /// A connection is gone.
    pub fn disconnected(&self, connection: ConnectionId) {
        self.sessions.by_id.read().values().for_each(|session| session.disconnected(connection));
    }

    /// Ends a session (RFC 8881 §18.37).
    ///
    /// # Errors
    /// BADSESSION.
    pub fn destroy_session(&self, id: SessionId) -> Result<(), Status> {
        self.sessions.by_id.write().remove(&id).map(|_| ()).ok_or(Status::BadSession)
    }

    /// Bytes that the sessions may need for their slots and replies, of [`Limits::session_bytes_max`](crate::Limits).
    pub fn session_bytes(&self) -> u64 {
        self.sessions.memory.taken()
    }

    /// The sessions of a client.
    pub fn sessions_of(&self, client: ClientId) -> Vec<Arc<Session>> {
        self.sessions.by_id.read().values().filter(|s| s.client().id() == client).cloned().collect()
    }
}

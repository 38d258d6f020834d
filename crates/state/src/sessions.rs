//! Sessions by their ids.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use proto::nfs4::{ClientId, SessionId, Status};

use crate::reply_memory::ReplyMemory;
use crate::{Session, State};

/// Every request looks for its session: one lock for all would be written to by every processor. Ids are
/// random.
const SHARDS: usize = 64;

/// In the order of their ids, which the first bits of an id decide.
#[derive(Debug)]
pub(crate) struct Sessions {
    shards: Box<[Shard]>,
    /// When thousands of clients come at once, none must search the sessions of all. Whoever changes a shard
    /// holds this.
    by_client: Mutex<BTreeSet<(ClientId, SessionId)>>,
    pub(crate) memory: Arc<ReplyMemory>,
}

/// Alone on its cache lines, of which processors take two at a time.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Shard(RwLock<BTreeMap<SessionId, Arc<Session>>>);

fn shard_of(id: SessionId) -> usize {
    usize::from(id.0[0]) * SHARDS / 256
}

fn of_client(
    by_client: &BTreeSet<(ClientId, SessionId)>,
    client: ClientId,
) -> impl Iterator<Item = SessionId> {
    let (first, last) = (SessionId([0; 16]), SessionId([u8::MAX; 16]));
    by_client.range((client, first)..=(client, last)).map(|(_, id)| *id)
}

impl Sessions {
    pub(crate) fn new(memory_bytes_max: u64) -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Shard::default()).collect(),
            by_client: Mutex::default(),
            memory: Arc::new(ReplyMemory::new(memory_bytes_max)),
        }
    }

    fn get(&self, id: SessionId) -> Option<Arc<Session>> {
        self.shards[shard_of(id)].0.read().get(&id).cloned()
    }

    pub(crate) fn insert(&self, session: Arc<Session>) {
        let id = session.id();
        let mut by_client = self.by_client.lock();
        by_client.insert((session.client().id(), id));
        self.shards[shard_of(id)].0.write().insert(id, session);
    }

    fn remove(&self, id: SessionId) -> Option<Arc<Session>> {
        self.take_out(&mut self.by_client.lock(), id)
    }

    fn take_out(
        &self,
        by_client: &mut BTreeSet<(ClientId, SessionId)>,
        id: SessionId,
    ) -> Option<Arc<Session>> {
        let session = self.shards[shard_of(id)].0.write().remove(&id)?;
        by_client.remove(&(session.client().id(), id));
        Some(session)
    }

    pub(crate) fn remove_of_client(&self, client: ClientId) {
        let mut by_client = self.by_client.lock();
        let ids: Vec<_> = of_client(&by_client, client).collect();
        let removed: Vec<_> = ids.into_iter().filter_map(|id| self.take_out(&mut by_client, id)).collect();
        // Sessions with many slots take their time to be freed.
        drop(by_client);
        drop(removed);
    }

    pub(crate) fn len(&self) -> usize {
        self.by_client.lock().len()
    }

    /// At most `most` sessions after `after`, in the order of their ids. What comes and goes meanwhile may be
    /// among them or not.
    pub(crate) fn after(&self, after: Option<SessionId>, most: usize) -> Vec<Arc<Session>> {
        let mut piece = Vec::new();
        for shard in &self.shards[after.map_or(0, shard_of)..] {
            if piece.len() == most {
                break;
            }
            let sessions = shard.0.read();
            let rest = sessions.range((after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded));
            piece.extend(rest.take(most - piece.len()).map(|(_, session)| Arc::clone(session)));
        }
        piece
    }

    pub(crate) fn count_of_client(&self, client: ClientId) -> usize {
        of_client(&self.by_client.lock(), client).count()
    }

    fn of_client(&self, client: ClientId) -> Vec<Arc<Session>> {
        let by_client = self.by_client.lock();
        of_client(&by_client, client).filter_map(|id| self.get(id)).collect()
    }
}

impl State {
    /// The session with this id.
    ///
    /// # Errors
    /// DEADSESSION for one that only [`State::dead_session`] has; BADSESSION.
    pub fn session(&self, id: SessionId) -> Result<Arc<Session>, Status> {
        self.sessions.get(id).ok_or_else(|| match self.dead_session(id) {
            Some(_) => Status::DeadSession,
            None => Status::BadSession,
        })
    }

    /// Ends a session (RFC 8881 §18.37).
    ///
    /// # Errors
    /// BADSESSION.
    pub fn destroy_session(&self, id: SessionId) -> Result<(), Status> {
        self.sessions.remove(id).map(drop).ok_or(Status::BadSession)
    }

    /// Bytes that the sessions may need for their slots and replies, of
    /// [`Limits::session_bytes_max`](crate::Limits).
    pub fn session_bytes(&self) -> u64 {
        self.sessions.memory.taken()
    }

    /// The sessions of a client.
    pub fn sessions_of(&self, client: ClientId) -> Vec<Arc<Session>> {
        self.sessions.of_client(client)
    }
}

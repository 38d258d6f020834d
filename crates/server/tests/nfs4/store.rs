//! Stable storage that a server can be killed at, and servers that are started on it one after the other.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use parking_lot::Mutex;
use proto::nfs4::{ClientId, SessionId, SlotId};
use rpc::BoxFuture;
use server::exports::Exports;
use server::stable::{StableRecords, StoredSession};
use state::Limits;
use vfs::memory::{Memory, MemoryOptions};

use crate::peer::{Life, TestServer, exports, test_options};

/// What becomes of a write to a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Written,
    /// The server dies before.
    Lost,
    /// The server dies after it, and before it knows.
    Unanswered,
    Failed,
}

#[derive(Debug, Default)]
struct Inner {
    owners: BTreeMap<Bytes, ClientId>,
    sessions: BTreeMap<SessionId, Stored>,
    /// Of the next writes to slots; those after are written.
    fates: Vec<Fate>,
    writes: usize,
}

#[derive(Debug, Default)]
struct Stored {
    restarts: u32,
    record: Bytes,
    slots: BTreeMap<SlotId, Bytes>,
}

#[derive(Debug, Clone, Default)]
pub struct Store(Arc<Mutex<Inner>>);

impl Store {
    /// What will become of the next writes to slots.
    pub fn expect(&self, fates: &[Fate]) {
        self.0.lock().fates = fates.iter().rev().copied().collect();
    }

    /// Clients with a record.
    pub fn owners(&self) -> usize {
        self.0.lock().owners.len()
    }

    /// Writes to slots so far.
    pub fn writes(&self) -> usize {
        self.0.lock().writes
    }

    pub fn sessions(&self) -> usize {
        self.0.lock().sessions.len()
    }

    fn open(&self) -> (Vec<Bytes>, Vec<StoredSession>) {
        let mut inner = self.0.lock();
        let owners = std::mem::take(&mut inner.owners).into_keys().collect();
        let all = inner.sessions.iter_mut().map(|(id, stored)| {
            stored.restarts += 1;
            let slots = stored.slots.iter().map(|(slot, record)| (*slot, record.clone())).collect();
            StoredSession { id: *id, restarts: stored.restarts, record: stored.record.clone(), slots }
        });
        (owners, all.collect())
    }
}

fn ready() -> BoxFuture<io::Result<()>> {
    Box::pin(std::future::ready(Ok(())))
}

impl StableRecords for Store {
    fn add(&self, client: ClientId, owner: Bytes, _: state::Lost) -> BoxFuture<io::Result<()>> {
        self.0.lock().owners.insert(owner, client);
        ready()
    }

    fn remove(&self, client: ClientId, owner: Bytes) -> BoxFuture<io::Result<()>> {
        self.0.lock().owners.retain(|name, id| *name != owner || *id != client);
        ready()
    }

    fn end_grace(&self) -> BoxFuture<io::Result<()>> {
        ready()
    }

    fn keeps_sessions(&self) -> bool {
        true
    }

    fn add_session(&self, id: SessionId, record: Bytes) -> BoxFuture<io::Result<()>> {
        self.0.lock().sessions.insert(id, Stored { record, ..Stored::default() });
        ready()
    }

    fn set_slot(&self, session: SessionId, slot: SlotId, record: Bytes) -> BoxFuture<io::Result<()>> {
        let mut inner = self.0.lock();
        let fate = inner.fates.pop().unwrap_or(Fate::Written);
        if matches!(fate, Fate::Written | Fate::Unanswered) {
            inner.writes += 1;
            if let Some(stored) = inner.sessions.get_mut(&session) {
                stored.slots.insert(slot, record);
            }
        }
        match fate {
            Fate::Written => ready(),
            Fate::Lost | Fate::Unanswered => Box::pin(std::future::pending()),
            Fate::Failed => Box::pin(std::future::ready(Err(io::Error::other("the disk is broken")))),
        }
    }

    fn remove_session(&self, id: SessionId) -> BoxFuture<io::Result<()>> {
        self.0.lock().sessions.remove(&id);
        ready()
    }
}

/// Stable storage that nothing can be removed from for a while.
pub struct Stuck(AtomicBool);

impl Stuck {
    pub fn new(is_stuck: bool) -> Self {
        Self(AtomicBool::new(is_stuck))
    }

    pub fn set(&self, is_stuck: bool) {
        self.0.store(is_stuck, Ordering::Relaxed);
    }
}

impl StableRecords for Stuck {
    fn add(&self, _: ClientId, _: Bytes, _: state::Lost) -> BoxFuture<io::Result<()>> {
        ready()
    }

    fn remove(&self, _: ClientId, _: Bytes) -> BoxFuture<io::Result<()>> {
        let stuck = self.0.load(Ordering::Relaxed);
        let result = if stuck { Err(io::Error::other("the disk is broken")) } else { Ok(()) };
        Box::pin(std::future::ready(result))
    }

    fn end_grace(&self) -> BoxFuture<io::Result<()>> {
        ready()
    }
}

/// A machine whose files and records outlive its servers.
pub struct Machine {
    exports: Arc<Exports<Memory>>,
    pub store: Store,
    lives: u32,
}

impl Machine {
    pub fn new() -> Self {
        let memory = Memory::new(MemoryOptions { root_mode: 0o777, ..MemoryOptions::default() }).unwrap();
        Self { exports: exports(memory), store: Store::default(), lives: 0 }
    }

    /// Starts a server; the one before is dead.
    pub fn start(&mut self) -> Arc<TestServer> {
        self.lives += 20;
        let (owners, sessions) = self.store.open();
        let life = Life { boot: self.lives, stable: Arc::new(self.store.clone()), owners, sessions };
        let exports = Arc::clone(&self.exports);
        Arc::new(TestServer::live(exports, test_options(), None, Limits::default(), life))
    }
}

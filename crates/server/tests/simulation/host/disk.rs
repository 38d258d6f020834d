//! Stable storage whose writes take time: acknowledged changes survive a crash, and the first few of the
//! others may.
//!
//! The records of the test kit would not do: here changes end by the simulated clock, in order, and a seed
//! decides their outcome.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use proto::nfs4::{ClientId, SessionId, SlotId};
use rpc::BoxFuture;
use server::runtime::Runtime;
use server::stable::{StableRecords, StoredSession};
use state::Lost;

use super::world::{Clock, World};
use crate::random::Random;

#[derive(Debug, Clone)]
enum Change {
    Add(ClientId, Bytes, Lost),
    Remove(ClientId, Bytes),
    EndGrace,
    AddSession(SessionId, Bytes),
    SetSlot(SessionId, SlotId, Bytes),
    RemoveSession(SessionId),
}

/// A session on the platter.
#[derive(Debug, Default)]
struct Session {
    restarts: u32,
    record: Bytes,
    slots: BTreeMap<SlotId, Bytes>,
}

/// What is on the platter, and what is on its way there.
#[derive(Debug)]
struct Platter {
    current: BTreeMap<Bytes, (ClientId, Lost)>,
    recovery: BTreeMap<Bytes, Lost>,
    sessions: BTreeMap<SessionId, Session>,
    /// In the order in which they were asked for.
    pending: Vec<Change>,
    /// When the last pending change will be done.
    busy_until: u64,
    random: Random,
    failures_per_mille: u64,
}

#[derive(Debug, Clone)]
pub struct Disk(Arc<Mutex<Platter>>);

impl Disk {
    pub fn new(random: Random) -> Self {
        let platter = Platter {
            current: BTreeMap::new(),
            recovery: BTreeMap::new(),
            sessions: BTreeMap::new(),
            pending: Vec::new(),
            busy_until: 0,
            random,
            failures_per_mille: 0,
        };
        Self(Arc::new(Mutex::new(platter)))
    }

    pub fn fail(&self, per_mille: u64) {
        self.0.lock().failures_per_mille = per_mille;
    }

    /// Power is lost: of what was not acknowledged, the first few changes may have been written.
    pub fn crash(&self) {
        let mut platter = self.0.lock();
        let pending = std::mem::take(&mut platter.pending);
        let written = platter.random.below(pending.len() as u64 + 1) as usize;
        pending[..written].iter().for_each(|change| platter.apply(change));
        platter.busy_until = 0;
    }

    /// The owners that may reclaim, as the server reads them when it starts, and what each has lost.
    pub fn open(&self) -> Vec<(Bytes, Lost)> {
        let platter = &mut *self.0.lock();
        for (owner, (_, lost)) in std::mem::take(&mut platter.current) {
            platter.recovery.entry(owner).or_default().add(&lost);
        }
        platter.recovery.clone().into_iter().collect()
    }

    /// The sessions that the server finds when it starts.
    pub fn open_sessions(&self) -> Vec<StoredSession> {
        let platter = &mut *self.0.lock();
        let found = platter.sessions.iter_mut().map(|(id, session)| {
            session.restarts += 1;
            StoredSession {
                id: *id,
                restarts: session.restarts,
                record: session.record.clone(),
                slots: session.slots.iter().map(|(slot, record)| (*slot, record.clone())).collect(),
            }
        });
        found.collect()
    }

    /// The records as one incarnation of the server uses them, with sessions or without.
    pub fn records(
        &self,
        world: &Arc<World>,
        clock: &Arc<Clock>,
        keeps_sessions: bool,
    ) -> Arc<dyn StableRecords> {
        let (disk, world, clock) = (self.clone(), Arc::downgrade(world), Arc::clone(clock));
        Arc::new(Records { disk, world, clock, keeps_sessions })
    }
}

impl Platter {
    fn apply(&mut self, change: &Change) {
        match change {
            Change::Add(client, owner, lost) => {
                self.current.insert(owner.clone(), (*client, lost.clone()));
            }
            Change::Remove(client, owner) => {
                if self.current.get(owner).is_some_and(|(recorded, _)| recorded == client) {
                    self.current.remove(owner);
                }
            }
            Change::EndGrace => self.recovery.clear(),
            Change::AddSession(id, record) => {
                let session = Session { record: record.clone(), ..Session::default() };
                self.sessions.insert(*id, session);
            }
            Change::SetSlot(id, slot, record) => {
                if let Some(session) = self.sessions.get_mut(id) {
                    session.slots.insert(*slot, record.clone());
                }
            }
            Change::RemoveSession(id) => {
                self.sessions.remove(id);
            }
        }
    }
}

struct Records {
    disk: Disk,
    world: Weak<World>,
    clock: Arc<Clock>,
    keeps_sessions: bool,
}

impl Records {
    fn change(&self, change: Change) -> BoxFuture<io::Result<()>> {
        let Some(world) = self.world.upgrade() else { return Box::pin(std::future::pending()) };
        let disk = self.disk.clone();
        let platter = &mut *disk.0.lock();
        let now = self.clock.now();
        if platter.random.chance(platter.failures_per_mille) {
            return Box::pin(std::future::ready(Err(io::Error::other("the disk is broken"))));
        }
        platter.busy_until = platter.busy_until.max(now) + platter.random.between(1, 30);
        platter.pending.push(change);
        let written = world.sleep(Duration::from_millis(platter.busy_until - now));
        let disk = self.disk.clone();
        // The disk writes whether somebody waits or not.
        let (done, outcome) = {
            let promise = crate::promise::Promise::new();
            (Arc::clone(&promise), promise.wait())
        };
        world.spawn(Box::pin(async move {
            written.await;
            let mut platter = disk.0.lock();
            let change = platter.pending.remove(0);
            platter.apply(&change);
            done.fulfil(Ok(()));
        }));
        outcome
    }
}

impl StableRecords for Records {
    fn add(&self, client: ClientId, owner: Bytes, lost: Lost) -> BoxFuture<io::Result<()>> {
        self.change(Change::Add(client, owner, lost))
    }

    fn remove(&self, client: ClientId, owner: Bytes) -> BoxFuture<io::Result<()>> {
        self.change(Change::Remove(client, owner))
    }

    fn end_grace(&self) -> BoxFuture<io::Result<()>> {
        self.change(Change::EndGrace)
    }

    fn keeps_sessions(&self) -> bool {
        self.keeps_sessions
    }

    fn add_session(&self, id: SessionId, record: Bytes) -> BoxFuture<io::Result<()>> {
        self.change(Change::AddSession(id, record))
    }

    fn set_slot(&self, session: SessionId, slot: SlotId, record: Bytes) -> BoxFuture<io::Result<()>> {
        self.change(Change::SetSlot(session, slot, record))
    }

    fn remove_session(&self, id: SessionId) -> BoxFuture<io::Result<()>> {
        self.change(Change::RemoveSession(id))
    }
}

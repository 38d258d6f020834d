//! The objects that are known, by file id, and a bound on their descriptors.
//!
//! Sharded; a hit takes a shared lock. When too many descriptors are open, objects that nobody holds are let
//! go, those first that were not used since the last look (the clock algorithm). Objects that somebody holds
//! lose their descriptors only where `reopens` says that they can be opened again.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Weak};

use foldhash::fast::RandomState;
use parking_lot::RwLock;

use super::health::Health;
use super::object::{Descriptors, Object, Purpose};
use super::pool::Handle as PoolHandle;
use super::stat;
use crate::{Error, Result};

pub(super) const SHARDS: usize = 16;
/// A shard's ring and map are cleaned when they hold this many dead entries beside the live ones.
const SLACK: usize = 64;

/// What is counted over all objects.
pub(super) struct Counts {
    /// Open descriptors.
    pub(super) open: AtomicUsize,
    /// Objects that were made of an open inode.
    pub(super) made: AtomicU64,
    /// Where descriptors are closed.
    pub(super) closer: Closer,
}

/// Closes descriptors: in place, or by the pool where that may hang, as it does of files without a name on
/// a frozen file system.
pub(super) struct Closer {
    pub(super) health: Arc<Health>,
    pub(super) pool: PoolHandle,
}

impl Closer {
    pub(super) fn close(&self, descriptors: Descriptors) {
        if self.health.is_slow() {
            // No more than there are descriptors.
            self.pool.execute_elsewhere(move || drop(descriptors));
        } else {
            let _call = self.health.begin_call();
            drop(descriptors);
        }
    }
}

/// All known objects.
pub(super) struct Cache {
    shards: [RwLock<Shard>; SHARDS],
    pub(super) counts: Arc<Counts>,
    /// Above this the cache lets go of what it can.
    open_target: AtomicUsize,
    /// Above this nothing new is opened.
    open_max: AtomicUsize,
    reopens: bool,
}

#[derive(Default)]
struct Shard {
    /// By a hash that is quick, as each request asks here: file ids are the file system's choice, not the
    /// callers'.
    objects: HashMap<u64, Slot, RandomState>,
    /// File ids of the kept objects in the order of their last look, and some dead ones.
    ring: VecDeque<u64>,
    kept: usize,
}

enum Slot {
    /// The cache keeps it.
    Kept(Arc<Object>),
    /// Others do: it has no name any more, or its descriptors were taken.
    Held(Weak<Object>),
}

impl Cache {
    pub(super) fn new(open_target: usize, open_max: usize, reopens: bool, closer: Closer) -> Self {
        let counts = Counts { open: AtomicUsize::new(0), made: AtomicU64::new(0), closer };
        let (open_target, open_max) = (AtomicUsize::new(open_target), AtomicUsize::new(open_max));
        Self { shards: Default::default(), counts: Arc::new(counts), open_target, open_max, reopens }
    }

    /// Changes the bounds.
    pub(super) fn set_bounds(&self, open_target: usize, open_max: usize) {
        self.open_target.store(open_target, Relaxed);
        self.open_max.store(open_max, Relaxed);
        self.trim(0);
    }

    pub(super) fn get(&self, fileid: u64) -> Option<Arc<Object>> {
        let object = self.shard(fileid).read().known(fileid)?;
        object.mark_used();
        Some(object)
    }

    /// The moment, for [`Cache::get_older`].
    pub(super) fn now(&self) -> u64 {
        self.counts.made.load(SeqCst)
    }

    /// As [`Cache::get`], of an object that was made before that moment: a file id that was seen after it,
    /// while the object has a descriptor open, is no other inode's. One that was made since may have got the
    /// number after it was seen.
    pub(super) fn get_older(&self, fileid: u64, moment: u64) -> Option<Arc<Object>> {
        self.get(fileid).filter(|object| object.made < moment)
    }

    /// Adds an object, or returns the known one that it equals.
    pub(super) fn insert(&self, object: Object) -> Arc<Object> {
        let fileid = object.id.fileid;
        let (object, replaced) = self.shard(fileid).write().insert(fileid, object, &self.counts);
        drop(replaced);
        self.trim(fileid);
        object
    }

    /// Adds an object that the cache does not keep alive.
    pub(super) fn insert_held(&self, object: &Arc<Object>) {
        let slot = Slot::Held(Arc::downgrade(object));
        self.shard(object.id.fileid).write().objects.insert(object.id.fileid, slot);
    }

    /// Keeps an object again that got its descriptors back; not where others know the inode by another
    /// object.
    pub(super) fn revive(&self, object: &Arc<Object>) {
        let mut shard = self.shard(object.id.fileid).write();
        let known = shard.known(object.id.fileid);
        if known.is_some_and(|known| known.id == object.id && !Arc::ptr_eq(&known, object)) {
            return;
        }
        let replaced = shard.keep(object.clone());
        drop(shard);
        drop(replaced);
        self.trim(object.id.fileid);
    }

    /// Stops keeping an object that lost its last name, so that its space is freed when nobody holds it.
    pub(super) fn release(&self, object: &Arc<Object>) {
        let mut shard = self.shard(object.id.fileid).write();
        if let Some(slot) = shard.objects.get_mut(&object.id.fileid)
            && matches!(slot, Slot::Kept(kept) if Arc::ptr_eq(kept, object))
        {
            // The caller holds the object, so nothing is closed under the lock.
            *slot = Slot::Held(Arc::downgrade(object));
            shard.kept -= 1;
        }
    }

    /// Objects without a name cannot be opened again, so their descriptors stay: three at most of each, and a
    /// quarter of all.
    pub(super) fn nameless_max(&self) -> usize {
        self.open_max.load(Relaxed) / 4 / 3
    }

    /// True when keeping more would soon cost others their place.
    pub(super) fn is_half_full(&self) -> bool {
        self.counts.open.load(Relaxed) >= self.open_target.load(Relaxed) / 2
    }

    /// Refuses when no descriptor may be opened any more.
    pub(super) fn check_room(&self) -> Result<()> {
        let open_max = self.open_max.load(Relaxed);
        if self.counts.open.load(Relaxed) < open_max {
            return Ok(());
        }
        self.trim(0);
        if self.counts.open.load(Relaxed) < open_max { Ok(()) } else { Err(Error::TryAgain) }
    }

    /// The objects that a shard keeps.
    pub(super) fn kept(&self, shard: usize) -> Vec<Arc<Object>> {
        let shard = self.shards[shard].read();
        let kept = shard.objects.values().filter_map(|slot| match slot {
            Slot::Kept(object) => Some(Arc::clone(object)),
            Slot::Held(_) => None,
        });
        kept.collect()
    }

    /// Lets go of an object that only the cache and the caller hold; false when others do.
    pub(super) fn close_idle(&self, object: Arc<Object>) -> bool {
        let fileid = object.id.fileid;
        let mut shard = self.shard(fileid).write();
        let is_kept =
            matches!(shard.objects.get(&fileid), Some(Slot::Kept(kept)) if Arc::ptr_eq(kept, &object));
        if !is_kept || Arc::strong_count(&object) > 2 {
            return false;
        }
        let removed = shard.objects.remove(&fileid);
        shard.kept -= 1;
        drop(shard);
        // Closing happens here, after the lock.
        drop((object, removed));
        true
    }

    /// Lets go of objects until few enough descriptors are open, beginning with the shard of `fileid`.
    fn trim(&self, fileid: u64) {
        for step in 0..SHARDS as u64 {
            while self.counts.open.load(Relaxed) > self.open_target.load(Relaxed) {
                // Closing happens here, after the lock.
                let Some(evicted) = self.shard(fileid.wrapping_add(step)).write().evict(self.reopens) else {
                    break;
                };
                drop(evicted);
            }
        }
    }

    fn shard(&self, fileid: u64) -> &RwLock<Shard> {
        &self.shards[(fileid % SHARDS as u64) as usize]
    }
}

/// What an eviction closes when it is dropped.
#[allow(dead_code, reason = "held to be dropped outside the lock")]
struct Evicted(Option<Arc<Object>>, Descriptors);

impl Shard {
    /// Returns the object now known and what must be dropped after the lock.
    fn insert(
        &mut self,
        fileid: u64,
        object: Object,
        counts: &Arc<Counts>,
    ) -> (Arc<Object>, Option<Dropped>) {
        match self.known(fileid) {
            Some(known) if known.id == object.id && known.device == object.device => {
                if known.is_open() {
                    return (known, Some(Dropped::New(Box::new(object))));
                }
                known.put_back(object.take_descriptors(), counts);
                let replaced = self.keep(known.clone());
                (known, replaced.map(Dropped::Old))
            }
            _ => {
                let object = Arc::new(object);
                let replaced = self.keep(object.clone());
                (object, replaced.map(Dropped::Old))
            }
        }
    }

    fn known(&self, fileid: u64) -> Option<Arc<Object>> {
        match self.objects.get(&fileid)? {
            Slot::Kept(known) => Some(known.clone()),
            Slot::Held(known) => known.upgrade(),
        }
    }

    fn keep(&mut self, object: Arc<Object>) -> Option<Arc<Object>> {
        self.clean();
        let fileid = object.id.fileid;
        match self.objects.insert(fileid, Slot::Kept(object)) {
            Some(Slot::Kept(replaced)) => Some(replaced),
            _ => {
                self.ring.push_back(fileid);
                self.kept += 1;
                None
            }
        }
    }

    /// Lets go of one object, or closes what one has open.
    fn evict(&mut self, reopens: bool) -> Option<Evicted> {
        for _ in 0..2 * self.ring.len() {
            let fileid = self.ring.pop_front()?;
            let Some(Slot::Kept(object)) = self.objects.get(&fileid) else { continue };
            if object.used.swap(false, Relaxed) {
                self.ring.push_back(fileid);
            } else if Arc::strong_count(object) == 1 {
                // Nobody can get at it but through this map, which is locked.
                let Some(Slot::Kept(object)) = self.objects.remove(&fileid) else { return None };
                self.kept -= 1;
                return Some(Evicted(Some(object), Descriptors::default()));
            } else if reopens && has_name(object) {
                let (descriptors, held) = (object.take_descriptors(), Slot::Held(Arc::downgrade(object)));
                // Somebody else holds it, so this drop is not the last.
                self.objects.insert(fileid, held);
                self.kept -= 1;
                return Some(Evicted(None, descriptors));
            } else {
                self.ring.push_back(fileid);
            }
        }
        None
    }

    /// Throws out dead entries once there are many.
    fn clean(&mut self) {
        if self.objects.len() > 2 * self.kept + SLACK {
            self.objects.retain(|_, slot| match slot {
                Slot::Kept(_) => true,
                Slot::Held(object) => object.strong_count() > 0,
            });
        }
        if self.ring.len() > 2 * self.kept + SLACK {
            self.ring = self
                .objects
                .iter()
                .filter(|(_, slot)| matches!(slot, Slot::Kept(_)))
                .map(|(id, _)| *id)
                .collect();
        }
    }
}

/// What an insertion leaves to drop.
#[allow(dead_code, reason = "held to be dropped outside the lock")]
enum Dropped {
    New(Box<Object>),
    Old(Arc<Object>),
}

/// False for an object that its descriptors alone keep alive.
fn has_name(object: &Object) -> bool {
    object.descriptor(Purpose::Path).is_some_and(|fd| stat::has_name(std::os::fd::AsFd::as_fd(&fd)))
}

//! An object that has been found, with the descriptors that are open on it.

use std::fmt;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, RwLock};

use super::cache::Counts;
use super::names::LARGE_BYTES;
use super::persistent::Persistent;
use super::stat;
use super::sync::SyncGroup;
use super::writing::Writing;
use crate::{DeviceNumber, FileKind, Handle, Identity, ObjectId};

/// An object of a [`Local`](super::Local) that has been found.
#[derive(Clone)]
pub struct Node(pub(super) Arc<Object>);

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Node({})", self.0.id.fileid)
    }
}

/// One inode that we know. While a descriptor is open on it the kernel cannot use its number for another.
pub(super) struct Object {
    pub(super) id: Persistent,
    pub(super) handle: Handle,
    pub(super) object_id: ObjectId,
    pub(super) kind: FileKind,
    pub(super) device: DeviceNumber,
    /// Used since the cache last looked.
    pub(super) used: AtomicBool,
    pub(super) verified: Mutex<Option<Verified>>,
    pub(super) syncs: SyncGroup,
    pub(super) writing: Writing,
    /// Held while the position of the directory descriptor is in use.
    pub(super) stream: Mutex<()>,
    /// It has lost its last name: to close it frees its space.
    is_nameless: AtomicBool,
    /// How many objects had been opened before it.
    pub(super) made: u64,
    descriptors: RwLock<Descriptors>,
    /// Where its descriptors are counted, once there are any: what is only listed writes to nothing that
    /// others do.
    counts: OnceLock<Arc<Counts>>,
}

/// Open descriptors, each at most once.
#[derive(Default)]
pub(super) struct Descriptors {
    /// For metadata: `O_PATH`, or the same as one of the others.
    pub(super) path: Option<Arc<OwnedFd>>,
    /// For reading data or entries.
    pub(super) read: Option<Arc<OwnedFd>>,
    /// For writing data, and for reading where it is open for both.
    pub(super) write: Option<Arc<OwnedFd>>,
}

/// Somebody who was found to have permissions at a time of the last change.
pub(super) struct Verified {
    pub(super) identity: Identity,
    pub(super) change_ns: i64,
    pub(super) mode: u32,
}

/// Which of the descriptors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Path,
    Read,
    Write,
}

impl Object {
    /// `counts` are those of all objects. What is opened later has been made no earlier than now: its number
    /// may not have been another's since.
    pub(super) fn new(
        id: Persistent,
        handle: Handle,
        object_id: ObjectId,
        kind: FileKind,
        device: DeviceNumber,
        descriptors: Descriptors,
        counts: &Arc<Counts>,
    ) -> Self {
        let object = Self {
            id,
            handle,
            object_id,
            kind,
            device,
            used: AtomicBool::new(true),
            verified: Mutex::new(None),
            syncs: SyncGroup::default(),
            writing: Writing::default(),
            stream: Mutex::new(()),
            is_nameless: AtomicBool::new(false),
            made: match descriptors.path {
                Some(_) => counts.made.fetch_add(1, SeqCst),
                None => counts.made.load(SeqCst),
            },
            descriptors: RwLock::default(),
            counts: OnceLock::new(),
        };
        object.put_back(descriptors, counts);
        object
    }

    /// The descriptor for `purpose`, when it is open.
    pub(super) fn descriptor(&self, purpose: Purpose) -> Option<Arc<OwnedFd>> {
        let descriptors = self.descriptors.read();
        match purpose {
            Purpose::Path => descriptors.path.clone(),
            Purpose::Read => descriptors.read.clone(),
            Purpose::Write => descriptors.write.clone(),
        }
    }

    /// Keeps `fd` for `purpose`, unless another was quicker, and returns the one kept.
    pub(super) fn keep(&self, purpose: Purpose, fd: Arc<OwnedFd>, counts: &Arc<Counts>) -> Arc<OwnedFd> {
        let mut descriptors = self.descriptors.write();
        let slot = match purpose {
            Purpose::Path => &mut descriptors.path,
            Purpose::Read => &mut descriptors.read,
            Purpose::Write => &mut descriptors.write,
        };
        if let Some(kept) = slot {
            return kept.clone();
        }
        *slot = Some(fd.clone());
        self.count_in(counts, 1);
        fd
    }

    /// True for what holds neither data nor names, and has no `fsync` of its own.
    pub(super) fn is_bare(&self) -> bool {
        !matches!(self.kind, FileKind::Regular | FileKind::Directory)
    }

    /// True while the inode is pinned by a descriptor.
    pub(super) fn is_open(&self) -> bool {
        self.descriptors.read().path.is_some()
    }

    /// Gives an object without descriptors those of another on the same inode.
    pub(super) fn put_back(&self, given: Descriptors, counts: &Arc<Counts>) {
        let mut descriptors = self.descriptors.write();
        if descriptors.count() == 0 {
            self.count_in(counts, given.count());
            *descriptors = given;
        }
    }

    fn count_in(&self, counts: &Arc<Counts>, opened: usize) {
        if opened > 0 {
            self.counts.get_or_init(|| Arc::clone(counts)).open.fetch_add(opened, Relaxed);
        }
    }

    /// Takes all descriptors away.
    pub(super) fn take_descriptors(&self) -> Descriptors {
        let taken = std::mem::take(&mut *self.descriptors.write());
        if let Some(counts) = self.counts.get() {
            counts.open.fetch_sub(taken.count(), Relaxed);
        }
        taken
    }

    /// Notes that it has lost its last name: to let go of it frees its space, which the pool does where it
    /// takes long.
    pub(super) fn set_nameless(&self) {
        self.is_nameless.store(true, Relaxed);
    }

    pub(super) fn mark_used(&self) {
        // Mostly set already; a store would take the cache line from the other threads.
        if !self.used.load(Relaxed) {
            self.used.store(true, Relaxed);
        }
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        let taken = self.take_descriptors();
        let Some(counts) = self.counts.get() else { return };
        let is_large =
            |fd: &Arc<OwnedFd>| stat::owner_and_size(fd.as_fd()).is_ok_and(|(_, size)| size > LARGE_BYTES);
        let closer = &counts.closer;
        if self.is_nameless.load(Relaxed)
            && !closer.health.is_slow()
            && taken.path.as_ref().is_some_and(is_large)
        {
            closer.pool.execute(move || drop(taken));
        } else {
            closer.close(taken);
        }
    }
}

impl Descriptors {
    /// How many different ones there are.
    fn count(&self) -> usize {
        let all = [&self.path, &self.read, &self.write];
        let is_new = |(i, fd): &(usize, &Arc<OwnedFd>)| {
            !all[..*i].iter().any(|other| other.as_ref().is_some_and(|other| Arc::ptr_eq(other, fd)))
        };
        all.iter().enumerate().filter_map(|(i, fd)| Some((i, fd.as_ref()?))).filter(is_new).count()
    }
}

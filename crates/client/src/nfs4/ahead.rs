//! A lock that is asked for by the very request that opens the file, because it has always followed: LOCK
//! behind OPEN (RFC 8881 §18.10), with the attributes after it.
//!
//! It is held by the open file, which alone may take it, as if it had locked that moment. What somebody else
//! does instead of taking it gives it back: anything but a lock of the same range, a lock by another open
//! file of ours, and time.

use std::ops::Range;
use std::sync::Arc;

use proto::nfs4::{LockArgs, LockType, Locker, NewLockOwner, StateId};

use super::Mount;
use super::open::owner_of;
use crate::file::OpenFile;
use crate::locks::{UnknownLock, length};
use crate::node::Node;
use crate::open::OpenOptions;
use crate::shared::Shared;

/// A lock that the server has granted and nobody has asked for yet.
#[derive(Debug)]
pub(crate) struct LockAhead {
    range: Range<u64>,
    exclusive: bool,
    /// As [`super::ServerOpen::epoch`].
    epoch: u64,
    /// LOCKU is under way: no caller may take the lock any more, and CLOSE waits until it is gone.
    going: bool,
    _unknown: UnknownLock,
}

impl LockAhead {
    fn is(&self, range: &Range<u64>, exclusive: bool, epoch: u64) -> bool {
        !self.going && (&self.range, self.exclusive, self.epoch) == (range, exclusive, epoch)
    }
}

/// A LOCK that may ride along with an OPEN.
#[derive(Debug)]
pub(super) struct Plan {
    range: Range<u64>,
    exclusive: bool,
    file_id: u64,
    unknown: UnknownLock,
}

impl Plan {
    /// Worth while for a file that exists, and for a lock that this kind of open allows and nobody here is in
    /// the way of.
    pub(super) fn make(
        shared: &Shared,
        node: Option<&Arc<Node>>,
        options: &OpenOptions,
        file_id: u64,
    ) -> Option<Self> {
        if !shared.options.lock_with_open || options.create || options.truncate {
            return None;
        }
        let state = node?.state.lock();
        let (range, exclusive) = state.habit.expected()?;
        let allowed = if exclusive { options.write } else { options.read };
        if !allowed || state.locks.conflicts(file_id, &range, exclusive) {
            return None;
        }
        Some(Self { range, exclusive, file_id, unknown: state.unknown_locks.ask() })
    }

    pub(super) fn args(&self) -> LockArgs {
        LockArgs {
            kind: if self.exclusive { LockType::Write } else { LockType::Read },
            reclaim: false,
            offset: self.range.start,
            length: length(&self.range),
            locker: Locker::New(NewLockOwner {
                open_sequence: 0,
                open_state_id: StateId::CURRENT,
                lock_sequence: 0,
                owner: owner_of(self.file_id),
            }),
        }
    }

    pub(super) fn granted(self, epoch: u64) -> LockAhead {
        LockAhead {
            range: self.range,
            exclusive: self.exclusive,
            epoch,
            going: false,
            _unknown: self.unknown,
        }
    }
}

impl Mount {
    /// Takes the lock that came with the open, if it is this one.
    pub(crate) fn take_lock_ahead(&self, file: &OpenFile, range: &Range<u64>, exclusive: bool) -> bool {
        let epoch = self.core.epoch();
        // In the order in which others take them: the object first.
        let mut state = file.node.state.lock();
        let mut v4 = file.v4.lock();
        // A delegation that has come since may have granted others what is in its way.
        if v4.lock.is_none()
            || state.locks.conflicts(file.id, range, exclusive)
            || v4.ahead.take_if(|ahead| ahead.is(range, exclusive, epoch)).is_none()
        {
            return false;
        }
        state.locks.insert(file.id, range.clone(), exclusive);
        true
    }

    /// Gives the lock that came with the open back, if nobody has taken it.
    pub(crate) async fn drop_lock_ahead(&self, file: &Arc<OpenFile>) {
        if file.v4.lock().ahead.is_none() {
            return;
        }
        // A caller who gives up does not stop it: nobody else knows of the lock.
        let (mount, file) = (Self { core: Arc::clone(&self.core) }, Arc::clone(file));
        let _ = tokio::spawn(async move { mount.unlock_ahead(&file).await }).await;
    }

    async fn unlock_ahead(&self, file: &OpenFile) {
        let _gate = file.node.gate.lock().await;
        let (range, epoch) = {
            let mut v4 = file.v4.lock();
            let Some(ahead) = &mut v4.ahead else { return };
            ahead.going = true;
            (ahead.range.clone(), ahead.epoch)
        };
        if epoch == self.core.epoch() {
            let last = file.node.state.lock().locks.holds_nothing(file.id);
            if let Err(error) = self.unlock(file, range.start, length(&range), last).await {
                tracing::debug!(%error, "giving up a lock that nobody asked for");
            }
        }
        file.v4.lock().ahead = None;
    }

    /// Gives the locks that came with opens of this object back, all but that of `file`.
    pub(crate) async fn drop_locks_ahead_of_others(&self, file: &OpenFile) {
        let others = file.node.state.lock().open_files();
        for other in others.iter().filter(|other| other.id != file.id) {
            self.drop_lock_ahead(other).await;
        }
    }
}

/// Gives the lock that came with an open back if the file does not take it in time.
pub(crate) fn expire_lock_ahead(file: &Arc<OpenFile>) {
    let wait = file.shared.options.waits.lock;
    let file = Arc::downgrade(file);
    tokio::spawn(async move {
        tokio::time::sleep(wait).await;
        if let Some(file) = file.upgrade() {
            file.give_up_lock_ahead().await;
        }
    });
}

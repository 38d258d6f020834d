//! LOCK with the attributes after it, and LOCKU with FREE_STATEID (RFC 8881 §18.10, §18.12, §18.38): one
//! request each.

use std::sync::atomic::Ordering;

use proto::nfs4::{
    ExistingLockOwner, FreeStateIdArgs, LockArgs, LockResult, LockType, LockUArgs, LockUResult, Locker,
    NewLockOwner, Operation, StateId, Status,
};

use super::Mount;
use super::compound::status_of;
use super::open::owner_of;
use super::send::Kind;
use super::state::newest;
use crate::error::{Error, Result};
use crate::file::OpenFile;
use crate::lock::LockKind;
use crate::protocol::Locking;

impl Mount {
    /// The caller holds the object's gate.
    pub(crate) async fn lock(
        &self,
        file: &OpenFile,
        (offset, length): (u64, u64),
        kind: LockKind,
        wait: bool,
    ) -> Result<Locking> {
        let kind = match (kind, wait) {
            (LockKind::Shared, false) => LockType::Read,
            (LockKind::Exclusive, false) => LockType::Write,
            (LockKind::Shared, true) => LockType::ReadWait,
            (LockKind::Exclusive, true) => LockType::WriteWait,
        };
        let mut attempts = 0;
        loop {
            let epoch = self.core.session().await?.epoch();
            let Some((locker, used)) = locker(file, epoch)? else {
                self.reopen(file, epoch).await?;
                continue;
            };
            let args = LockArgs { kind, reclaim: false, offset, length, locker };
            let sent = self.core.compound(Kind::repeatable(Operation::Lock).in_epoch(epoch), |operations| {
                operations.put_fh(&file.node.handle).put(Operation::Lock, &args).get_attr();
            });
            let locked = sent.await.and_then(|mut results| {
                results.done(Operation::PutFh)?;
                Ok((results.get::<LockResult>(Operation::Lock)?, results))
            });
            match locked {
                Ok((granted, mut results)) => {
                    let mut v4 = file.v4.lock();
                    if v4.open.is_some_and(|open| open.epoch == epoch) && epoch == self.core.epoch() {
                        v4.lock = Some(newest(granted.state_id));
                        return Ok(Locking::Granted(results.attributes().ok()));
                    }
                    // Granted by a server that has restarted since: it does not count.
                }
                Err(error) if status_of(&error) == Some(Status::Denied) => return Ok(Locking::Denied),
                Err(error) => self.after_state_error(file, (used, epoch), error, &mut attempts)?,
            }
        }
    }

    /// True when the server has said that it sends CB_NOTIFY_LOCK (OPEN4_RESULT_MAY_NOTIFY_LOCK, RFC 8881
    /// §18.16.3).
    pub(crate) fn notifies_locks(&self) -> bool {
        self.core.notifies_locks.load(Ordering::Relaxed)
    }

    /// The caller holds the object's gate.
    pub(crate) async fn unlock(&self, file: &OpenFile, offset: u64, length: u64, last: bool) -> Result<()> {
        let mut attempts = 0;
        loop {
            let epoch = self.core.session().await?.epoch();
            // The server forgets it with the last range. Whoever read by it then would be told that the locks
            // are gone, also those that a delegation has granted since.
            let held = {
                let lock = &mut file.v4.lock().lock;
                if last { lock.take() } else { *lock }
            };
            let Some(state_id) = held else { return Ok(()) };
            match self.unlock_once(file, (state_id, epoch), (offset, length), last).await {
                Ok((unlocked, freed)) => {
                    let mut v4 = file.v4.lock();
                    if last || v4.lock == Some(state_id) {
                        v4.lock = (!freed).then_some(newest(unlocked.state_id));
                    }
                    return Ok(());
                }
                Err(error) => {
                    if last && epoch == self.core.epoch() {
                        file.v4.lock().lock.get_or_insert(state_id);
                    }
                    self.after_state_error(file, (state_id, epoch), error, &mut attempts)?;
                    if epoch == self.core.epoch() && file.v4.lock().lock.is_none() {
                        return Err(Error::Revoked);
                    }
                }
            }
        }
    }

    async fn unlock_once(
        &self,
        file: &OpenFile,
        (state_id, epoch): (StateId, u64),
        (offset, length): (u64, u64),
        last: bool,
    ) -> Result<(LockUResult, bool)> {
        let args = LockUArgs { kind: LockType::Write, sequence: 0, state_id, offset, length };
        let sent = self.core.compound(Kind::repeatable(Operation::LockU).in_epoch(epoch), |operations| {
            operations.put_fh(&file.node.handle).put(Operation::LockU, &args);
            if last {
                operations.put(Operation::FreeStateId, &FreeStateIdArgs { state_id });
            }
        });
        let mut results = sent.await?;
        results.done(Operation::PutFh)?;
        let unlocked: LockUResult = results.get(Operation::LockU)?;
        // If it cannot be freed, it goes with the open.
        let freed = last && results.done(Operation::FreeStateId).is_ok();
        Ok((unlocked, freed))
    }

    /// The locks of a file were lost, and its user gives them up: true when that was so. From here on it is
    /// used again.
    pub(crate) async fn give_up_lost_locks(&self, file: &OpenFile) -> bool {
        if !file.v4.lock().lost_locks {
            return false;
        }
        // Some of them may have been had again.
        if let Err(error) = self.unlock(file, 0, u64::MAX, true).await {
            tracing::debug!(%error, "giving up what is left of lost locks");
        }
        let mut v4 = file.v4.lock();
        v4.lock = None;
        std::mem::take(&mut v4.lost_locks)
    }
}

/// By which state a file locks, in that incarnation of the client; `None` when its open is to be made anew.
fn locker(file: &OpenFile, epoch: u64) -> Result<Option<(Locker, StateId)>> {
    let v4 = file.v4.lock();
    if v4.lost_locks {
        return Err(Error::Revoked);
    }
    let Some(open) = v4.open.filter(|open| open.epoch == epoch) else { return Ok(None) };
    Ok(Some(match v4.lock {
        Some(state_id) => (Locker::Existing(ExistingLockOwner { state_id, sequence: 0 }), state_id),
        None => {
            let new = NewLockOwner {
                open_sequence: 0,
                open_state_id: open.state_id,
                lock_sequence: 0,
                owner: owner_of(file.id),
            };
            (Locker::New(new), open.state_id)
        }
    }))
}

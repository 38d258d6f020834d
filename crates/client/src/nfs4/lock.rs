//! LOCK with the attributes after it, and LOCKU with FREE_STATEID (RFC 8881 §18.10, §18.12, §18.38): one request each.

use proto::nfs4::{
    ExistingLockOwner, FreeStateIdArgs, LockArgs, LockResult, LockType, LockUArgs, LockUResult, Locker,
    NewLockOwner, Operation, Status,
};

use super::Mount;
use super::compound::{is_state_lost, status_of};
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
        offset: u64,
        length: u64,
        kind: LockKind,
    ) -> Result<Locking> {
        let locker = {
            let v4 = file.v4.lock();
            let epoch = self.core.epoch();
            let open = v4.open.filter(|open| open.epoch == epoch).ok_or(Error::Revoked)?;
            match v4.lock {
                Some(state_id) => Locker::Existing(ExistingLockOwner { state_id, sequence: 0 }),
                None => Locker::New(NewLockOwner {
                    open_sequence: 0,
                    open_state_id: open.state_id,
                    lock_sequence: 0,
                    owner: self.owner(file.id),
                }),
            }
        };
        let kind = match kind {
            LockKind::Shared => LockType::Read,
            LockKind::Exclusive => LockType::Write,
        };
        let args = LockArgs { kind, reclaim: false, offset, length, locker };
        let mut results = self
            .core
            .compound(Kind::repeatable(Operation::Lock), |operations| {
                operations.put_fh(&file.node.handle).put(Operation::Lock, &args).get_attr();
            })
            .await?;
        results.done(Operation::PutFh)?;
        match results.get::<LockResult>(Operation::Lock) {
            Ok(granted) => {
                file.v4.lock().lock = Some(newest(granted.state_id));
                Ok(Locking::Granted(results.attributes().ok()))
            }
            Err(error) => match status_of(&error) {
                Some(Status::Denied) => Ok(Locking::Denied),
                Some(status) if is_state_lost(status) => Err(Error::Revoked),
                _ => Err(error),
            },
        }
    }

    /// The caller holds the object's gate.
    pub(crate) async fn unlock(&self, file: &OpenFile, offset: u64, length: u64, last: bool) -> Result<()> {
        let Some(state_id) = file.v4.lock().lock else { return Ok(()) };
        let args = LockUArgs { kind: LockType::Write, sequence: 0, state_id, offset, length };
        let mut results = self
            .core
            .compound(Kind::repeatable(Operation::LockU), |operations| {
                operations.put_fh(&file.node.handle).put(Operation::LockU, &args);
                if last {
                    operations.put(Operation::FreeStateId, &FreeStateIdArgs { state_id });
                }
            })
            .await?;
        results.done(Operation::PutFh)?;
        let unlocked = match results.get::<LockUResult>(Operation::LockU) {
            Ok(unlocked) => unlocked,
            Err(error) if status_of(&error).is_some_and(is_state_lost) => {
                file.v4.lock().lock = None;
                return Err(Error::Revoked);
            }
            Err(error) => return Err(error),
        };
        // If it cannot be freed, it goes with the open.
        let freed = last && results.done(Operation::FreeStateId).is_ok();
        file.v4.lock().lock = (!freed).then_some(newest(unlocked.state_id));
        Ok(())
    }
}

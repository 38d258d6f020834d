//! Locks: NLM version 4 (RFC 1813 §6).
//!
//! LOCK lets the server remember us over its restart: see [`super::reclaim`]. Callers that wait at the
//! server: see [`super::lock_waits`].

use std::sync::atomic::Ordering;
use std::time::Instant;

use bytes::Bytes;
use proto::nlm4::{self, NetObject, Procedure, TestResult};
use xdr::Encode;

use super::Mount;
use crate::error::{Error, Result};
use crate::file::OpenFile;
use crate::lock::{Conflict, GRACE_PAUSE, LockKind, from_wire};
use crate::protocol::Locking;
use crate::tap::Request;

impl Mount {
    /// Asks once. With `block` the server queues a request that conflicts. The caller holds the object's
    /// gate, and so does not wait here until a grace period is over.
    pub(crate) async fn lock(
        &self,
        file: &OpenFile,
        offset: u64,
        length: u64,
        kind: LockKind,
        block: bool,
    ) -> Result<Locking> {
        if file.v4.lock().lost_locks {
            return Err(Error::Revoked);
        }
        let mut args = self.lock_args(file, (offset, length), kind == LockKind::Exclusive);
        args.block = block;
        let mut status = self.ask_once(self.lock_procedure(), &args).await?;
        if status == nlm4::Status::DeniedNoLocks && self.lock_procedure() == Procedure::Lock {
            // It may be that it cannot have us monitored: then the lock does not survive its restart.
            status = self.ask_once(Procedure::NmLock, &args).await?;
            if status != nlm4::Status::DeniedNoLocks {
                self.lock_watch.unmonitored.store(true, Ordering::Relaxed);
            }
        }
        match status {
            nlm4::Status::Granted => Ok(Locking::Granted(None)),
            nlm4::Status::Blocked if block => Ok(Locking::Queued),
            nlm4::Status::Denied | nlm4::Status::Blocked => Ok(Locking::Denied),
            status => Err(Error::server("LOCK", status)),
        }
    }

    pub(super) fn lock_args(
        &self,
        file: &OpenFile,
        (offset, length): (u64, u64),
        exclusive: bool,
    ) -> nlm4::LockArgs {
        nlm4::LockArgs {
            cookie: cookie(file),
            block: false,
            exclusive,
            lock: self.lock_of(file, offset, length),
            reclaim: false,
            state: 0,
        }
    }

    /// Gives a range back. The caller holds the object's gate, as for [`Mount::lock`].
    pub(crate) async fn unlock(&self, file: &OpenFile, offset: u64, length: u64, _last: bool) -> Result<()> {
        match self.ask_once(Procedure::Unlock, &self.unlock_args(file, offset, length)).await? {
            nlm4::Status::Granted => Ok(()),
            status => Err(Error::server("UNLOCK", status)),
        }
    }

    pub(super) fn unlock_args(&self, file: &OpenFile, offset: u64, length: u64) -> nlm4::UnlockArgs {
        nlm4::UnlockArgs { cookie: cookie(file), lock: self.lock_of(file, offset, length) }
    }

    /// NLM_TEST.
    pub(crate) async fn test_lock(
        &self,
        file: &OpenFile,
        offset: u64,
        length: u64,
        kind: LockKind,
    ) -> Result<Option<Conflict>> {
        let args = nlm4::TestArgs {
            cookie: cookie(file),
            exclusive: kind == LockKind::Exclusive,
            lock: self.lock_of(file, offset, length),
        };
        let manager = self.lock_manager().await?;
        let numbers = (nlm4::PROGRAM, nlm4::VERSION, Procedure::Test.number());
        let request = Request::Lock(Procedure::Test);
        let response: nlm4::TestResponse =
            self.transport.call(manager, numbers, request, |to| to.put(&args)).await?;
        match response.result {
            TestResult::Denied(holder) => {
                let length = if holder.length == 0 { u64::MAX } else { holder.length };
                let kind = if holder.exclusive { LockKind::Exclusive } else { LockKind::Shared };
                Ok(Some(Conflict { range: from_wire(holder.offset, length), kind }))
            }
            TestResult::Other(nlm4::Status::Granted) => Ok(None),
            TestResult::Other(status) => Err(Error::server("TEST", status)),
        }
    }

    /// The locks of a file were lost, and its user gives them up: true when that was so.
    pub(crate) async fn give_up_lost_locks(&self, file: &OpenFile) -> bool {
        let lost = std::mem::take(&mut file.v4.lock().lost_locks);
        if lost && let Err(error) = self.ask(Procedure::Unlock, &self.unlock_args(file, 0, u64::MAX)).await {
            tracing::debug!(%error, "giving up what is left of lost locks");
        }
        lost
    }

    /// Asks until the server is not in its grace period any more.
    pub(super) async fn ask(&self, procedure: Procedure, args: &impl Encode) -> Result<nlm4::Status> {
        let started = Instant::now();
        loop {
            let status = self.ask_once(procedure, args).await?;
            let is_over = self.options.time_limit().is_some_and(|limit| started.elapsed() > limit);
            if status != nlm4::Status::DeniedGracePeriod || is_over {
                return Ok(status);
            }
            tokio::time::sleep(GRACE_PAUSE).await;
        }
    }

    pub(super) async fn ask_once(&self, procedure: Procedure, args: &impl Encode) -> Result<nlm4::Status> {
        let manager = self.lock_manager().await?;
        let numbers = (nlm4::PROGRAM, nlm4::VERSION, procedure.number());
        let request = Request::Lock(procedure);
        let response: nlm4::Response =
            self.transport.call(manager, numbers, request, |to| to.put(args)).await?;
        Ok(response.status)
    }

    pub(super) fn lock_of(&self, file: &OpenFile, offset: u64, length: u64) -> nlm4::Lock {
        nlm4::Lock {
            caller_name: crate::call::host_name(),
            file: NetObject(file.node.handle.0.clone()),
            owner: NetObject(self.lock_owner(file)),
            // Linux's server tells the owners of one host apart by it alone, also those of several clients.
            process: (self.instance.wrapping_add(file.id) & 0x7fff_ffff) as i32,
            offset,
            // In NLM 0 reaches to the end of the file.
            length: if length == u64::MAX { 0 } else { length },
        }
    }

    /// Another for each open file of each client.
    fn lock_owner(&self, file: &OpenFile) -> Bytes {
        let mut owner = Vec::with_capacity(24);
        owner.extend_from_slice(&self.instance.to_be_bytes());
        owner.extend_from_slice(&file.id.to_be_bytes());
        owner.into()
    }
}

pub(super) fn cookie(file: &OpenFile) -> NetObject {
    NetObject(Bytes::copy_from_slice(&file.id.to_be_bytes()))
}

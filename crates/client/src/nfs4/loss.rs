//! What the server has taken away: noted where it was held, so that nothing is decided, read or written by it
//! any more. Opens are made anew when they are next needed; locks cannot be, for others may have had them
//! meanwhile.

use std::sync::Arc;
use std::time::Instant;

use proto::nfs4::{FreeStateIdArgs, OpenArgs, OpenClaim, OpenResult, Operation, StateId, Status, share};

use super::Mount;
use super::compound::{is_state_lost, status_of};
use super::core::Core;
use super::open::owner_of;
use super::send::Kind;
use super::state::{LOST, ServerOpen, newest};
use crate::error::{Error, Result};
use crate::file::OpenFile;
use crate::node::Node;

/// How often a request is made anew because the server has forgotten what it gave a moment ago.
pub(super) const ATTEMPTS_MAX: u32 = 4;

impl Core {
    /// The delegation of an object is gone, with the locks that the server was never told of.
    pub(super) fn lose_delegation(&self, node: &Node) {
        let (files, writer) = {
            let mut state = node.state.lock();
            if state.delegation.take().is_none() {
                return;
            }
            state.known.doubt(Instant::now());
            (state.open_files(), state.writer.upgrade())
        };
        if let Some(writer) = writer {
            writer.lose_delegation();
        }
        tracing::debug!("a delegation is lost");
        if let Some(watcher) = self.shared().and_then(|shared| shared.watcher.get().cloned()) {
            watcher.changed(node.key);
        }
        self.delegations.lock().pop(&node.key);
        for file in files {
            let is_unknown = file.v4.lock().lock.is_none();
            if is_unknown && !node.state.lock().locks.holds_nothing(file.id) {
                self.lose_locks(&file);
            }
        }
    }

    /// All locks of a file are gone: nothing is read or written under them any more, until they are given up.
    pub(super) fn lose_locks(&self, file: &OpenFile) {
        let mut state = file.node.state.lock();
        let mut v4 = file.v4.lock();
        v4.ahead = None;
        if state.locks.holds_nothing(file.id) {
            // Nobody has asked for them yet, or they were just given up.
            return;
        }
        tracing::warn!(
            "the locks of an open file are lost; it cannot be read or written until they are given up"
        );
        v4.lost_locks = true;
        state.locks.remove(file.id, &(0..u64::MAX));
        // What others wrote meanwhile must be seen.
        state.known.doubt(Instant::now());
    }

    /// The server does not know `state_id` of `epoch` any more. Nothing is lost when it was replaced
    /// meanwhile.
    fn lose(&self, file: &OpenFile, state_id: StateId, epoch: u64) {
        if epoch != self.epoch() {
            return;
        }
        let is_delegation =
            file.node.state.lock().delegation.is_some_and(|held| held.state_id.other == state_id.other);
        if is_delegation {
            return self.lose_delegation(&file.node);
        }
        let loses_locks = {
            let mut v4 = file.v4.lock();
            let lock = v4.lock;
            match &mut v4.open {
                Some(open) if open.state_id == state_id => {
                    open.epoch = LOST;
                    lock.is_some()
                }
                _ => lock == Some(state_id),
            }
        };
        if loses_locks {
            file.v4.lock().lock = None;
            self.lose_locks(file);
        }
    }

    /// Tells the server that we know that it took state away (RFC 8881 §8.5, §18.38).
    pub(super) async fn free_state(self: &Arc<Self>, state_id: StateId, epoch: u64) -> Result<()> {
        let args = FreeStateIdArgs { state_id };
        let kind = Kind::repeatable(Operation::FreeStateId).in_epoch(epoch);
        let sent = self.compound(kind, |operations| {
            operations.put(Operation::FreeStateId, &args);
        });
        match sent.await.and_then(|mut results| results.done(Operation::FreeStateId)) {
            Err(Error::Server { .. }) => Ok(()),
            other => other,
        }
    }
}

impl Mount {
    /// After an error of a request that carried `used`: `Ok` when it is worth making it anew.
    pub(super) fn after_state_error(
        &self,
        file: &OpenFile,
        (used, epoch): (StateId, u64),
        error: Error,
        attempts: &mut u32,
    ) -> Result<()> {
        let Some(status) = status_of(&error).filter(|status| is_state_lost(*status)) else {
            return Err(error);
        };
        *attempts += 1;
        if *attempts > ATTEMPTS_MAX {
            return Err(Error::Revoked);
        }
        self.core.lose(file, used, epoch);
        if matches!(status, Status::Expired | Status::AdminRevoked | Status::DelegationRevoked) {
            let core = Arc::clone(&self.core);
            tokio::spawn(async move {
                if let Err(error) = core.free_state(used, epoch).await {
                    tracing::debug!(%error, "freeing what was revoked");
                }
            });
        }
        Ok(())
    }

    /// Makes the open of a file anew, by its handle (CLAIM_FH, RFC 8881 §18.16.3), unless it is of `epoch`
    /// already.
    pub(super) async fn reopen(&self, file: &OpenFile, epoch: u64) -> Result<()> {
        let _one_at_a_time = file.reopening.lock().await;
        let lost = file.v4.lock().open;
        if lost.is_some_and(|open| open.epoch == epoch) {
            return Ok(());
        }
        let owner = lost.map_or_else(|| self.core.owners.lock().take(), |open| open.owner);
        let wanted = ServerOpen {
            owner,
            state_id: StateId::ANONYMOUS,
            read: file.readable,
            write: file.writable,
            epoch: LOST,
        };
        let outcome = self.open_by_handle(&file.node, &wanted).await;
        if outcome.is_err() && lost.is_none() {
            self.core.owners.lock().give_back(owner);
        }
        let open = outcome?;
        let loses_locks = {
            let mut v4 = file.v4.lock();
            if file.is_closed() {
                self.core.spawn_close(&file.node.handle, open);
                return Err(Error::Usage("the file is closed"));
            }
            v4.open = Some(open);
            v4.lock.take().is_some()
        };
        if loses_locks {
            self.core.lose_locks(file);
        }
        Ok(())
    }

    async fn open_by_handle(&self, node: &Node, wanted: &ServerOpen) -> Result<ServerOpen> {
        let args = OpenArgs {
            sequence: 0,
            share_access: wanted.access() | share::WANT_NO_DELEGATION,
            share_deny: 0,
            owner: owner_of(wanted.owner),
            create: None,
            claim: OpenClaim::Handle,
        };
        let sent = self.core.compound(Kind::repeatable(Operation::Open), |operations| {
            operations.put_fh(&node.handle).put(Operation::Open, &args);
        });
        let mut results = sent.await?;
        results.done(Operation::PutFh)?;
        let opened: OpenResult = results.get(Operation::Open)?;
        Ok(ServerOpen { state_id: newest(opened.state_id), epoch: results.epoch, ..*wanted })
    }
}

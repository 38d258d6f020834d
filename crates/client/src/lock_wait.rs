//! Waits for a lock in the queue of a server of NFSv3, which calls when it has granted the lock.
//!
//! ```text
//!              BLOCKED                 GRANTED, or 2 s
//!   LOCK ─────────────────▶ queued ─────────────────────▶ LOCK again ──▶ held
//!     ▲                        │
//!     │ DENIED: polls          │ the caller gives up
//!     └──────                  ▼
//!                           CANCEL, UNLOCK
//! ```
//! The reply to LOCK alone says that a lock is held: GRANTED wakes the caller, which asks again, and so does
//! a pause after which GRANTED must be lost. GRANTED may come before the reply that says BLOCKED, so it is
//! accepted from before LOCK is sent.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::watch;

use crate::carried_out::carried_out;
use crate::error::{Error, Result};
use crate::file::OpenFile;
use crate::lock::{Answer, GRACE_PAUSE, LockKind, PAUSE, next_pause};
use crate::nfs3;

impl OpenFile {
    /// Waits for a lock. A caller that drops the future leaves the server's queue.
    pub(crate) async fn lock_in_server_queue(
        self: &Arc<Self>,
        range: Range<u64>,
        kind: LockKind,
    ) -> Result<()> {
        // Closed when the future is dropped.
        let (caller, is_gone) = watch::channel(());
        let outcome = carried_out(wait(Arc::clone(self), range, kind, is_gone)).await;
        drop(caller);
        outcome
    }

    /// Leaves the server's queue, when the grace period is over in which a server takes no such request.
    async fn leave_server_queue(self: &Arc<Self>, range: &Range<u64>, exclusive: bool) {
        let started = Instant::now();
        let Some(mount) = self.shared.protocol().as_v3() else { return };
        loop {
            let gate = Arc::clone(&self.node.gate).lock_owned().await;
            match mount.leave_queue(self, range, exclusive).await {
                Err(error) if self.waits_for_grace(&error, started) => {}
                Err(error) => {
                    tracing::debug!(%error, "taking back a request for a lock");
                    break;
                }
                Ok(()) => break,
            }
            drop(gate);
            tokio::time::sleep(GRACE_PAUSE).await;
        }
        // Another thread of the owner may wait for the same lock, whose place in the queue is gone.
        self.node.lock_queue.wake_owner(self.id);
    }
}

async fn wait(
    file: Arc<OpenFile>,
    range: Range<u64>,
    kind: LockKind,
    mut caller: watch::Receiver<()>,
) -> Result<()> {
    let Some(mount) = file.shared.protocol().as_v3() else { return Err(Error::Locked) };
    let exclusive = kind == LockKind::Exclusive;
    let turn = file.node.lock_queue.join(file.id, range.clone(), exclusive);
    let held_nothing = file.node.state.lock().locks.split(file.id, &range).0.is_empty();
    let (mut pause, mut is_overdue) = (PAUSE, false);
    // The server may have the request in its queue while `queued` is there.
    let (mut call, mut queued) = (None, None);
    let (mut was_denied, mut is_queued) = (false, false);
    let outcome = loop {
        let mut longest = mount.ask_again();
        if is_overdue || turn.has_come() {
            if turn.has_come() && call.is_none() {
                call = mount.begin_lock_wait(&file, &range, exclusive, was_denied).await;
            }
            let block = turn.has_come() && call.is_some();
            if block && queued.is_none() {
                queued = Some(mount.count_queued());
            }
            match file.lock_once(&range, kind, block).await {
                Ok(Answer::Granted) => {
                    if let Some(call) = call.as_ref().filter(|_| is_queued) {
                        note_granted(mount, is_overdue, call.is_granted());
                    }
                    break Ok(());
                }
                Ok(Answer::Queued) => is_queued = true,
                Ok(Answer::HeldHere) => {}
                Ok(Answer::Denied) => {
                    let is_first = !std::mem::replace(&mut was_denied, true);
                    if is_first && turn.has_come() && call.is_none() {
                        continue;
                    }
                    longest = next_pause(&mut pause);
                }
                Err(error) => break Err(error),
            }
        }
        tokio::select! {
            biased;
            // It fails when the caller has gone.
            _ = caller.changed() => break Err(Error::Locked),
            () = mount.until_waits_end() => break Err(Error::Usage("the client is being shut down")),
            is_woken = turn.sleep(longest) => is_overdue = !is_woken,
        }
    };
    // GRANTED is denied from here on, unless the owner holds a part of the range.
    drop(call);
    if outcome.is_err()
        && let Some(queued) = queued
    {
        let file = Arc::clone(&file);
        tokio::spawn(async move {
            file.leave_server_queue(&range, exclusive).await;
            drop(queued);
        });
    } else if outcome.is_ok() && held_nothing && caller.has_changed().is_err() {
        // Granted to a caller that has gone in the same moment.
        return file.unlock_range(&range).await;
    }
    outcome
}

/// A lock that was waited for is there: with the server's call, or found when asked again because of the
/// time.
fn note_granted(mount: &nfs3::Mount, is_overdue: bool, has_called: bool) {
    if has_called || is_overdue {
        mount.note_granted_call(has_called);
    }
}

#[cfg(test)]
mod peer;
#[cfg(test)]
mod tests;

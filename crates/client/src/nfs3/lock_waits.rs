//! Callers that wait for locks in the server's queue (NLM, X/Open C702 §14.4): the lock manager that the
//! server calls, and what a caller that gives up takes back.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use proto::nlm4::{self, Procedure, Status};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, watch};

use super::Mount;
use super::lock::cookie;
use crate::error::{Error, Result};
use crate::file::OpenFile;
use crate::lock::WOKEN_PAUSE;
use crate::lock_manager::{Attachment, LockHolder, LockManager, LockRequest, LockWait, Responder};
use crate::locks::length;
use crate::tap::{Cost, Request};

/// Locks in a row that the server granted and did not call about, as behind a firewall. From then on callers
/// poll.
const MISSED_CALLS_MAX: u32 = 3;
/// Answers to GRANTED_MSG under way; the server repeats a message that gets none.
const ANSWERS_MAX: usize = 16;
/// How long such an answer may take.
const ANSWER: Duration = Duration::from_secs(5);
/// How long a client that is shut down waits until its callers have left the server's queues.
const END_LIMIT: Duration = Duration::from_secs(5);

/// The waits of a mount.
#[derive(Debug, Default)]
pub(super) struct LockWaits {
    /// The lock manager that the server calls; from the first caller that had to wait.
    attachment: Mutex<Option<Arc<Attachment>>>,
    /// Held while a lock manager is looked for.
    starting: tokio::sync::Mutex<()>,
    /// The server cannot call this process.
    is_missing: AtomicBool,
    missed_calls: AtomicU32,
    /// Instead of [`WOKEN_PAUSE`], in tests.
    ask_again: OnceLock<Duration>,
    is_over: AtomicBool,
    ending: watch::Sender<()>,
    /// Requests that may be in a queue of the server.
    queued: watch::Sender<usize>,
}

impl LockWaits {
    /// Has all callers leave the server's queues, and waits for it.
    pub(super) async fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        self.ending.send_replace(());
        let mut queued = self.queued.subscribe();
        if tokio::time::timeout(END_LIMIT, queued.wait_for(|count| *count == 0)).await.is_err() {
            tracing::debug!("the server does not take back requests for locks");
        }
        // The last mount waits until the lock manager has unregistered.
        let attachment = self.attachment.lock().take();
        let _ = tokio::task::spawn_blocking(move || drop(attachment)).await;
    }
}

/// A request that may be in a queue of the server, until it is dropped.
pub(crate) struct Queued(watch::Sender<usize>);

impl Drop for Queued {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

impl LockHolder for OpenFile {
    fn wake(&self) {
        self.node.lock_queue.wake_owner(self.id);
    }

    fn holds_part_of(&self, range: &Range<u64>) -> bool {
        let state = self.node.state.lock();
        state.locks.of(self.id).any(|held| held.range.start < range.end && range.start < held.range.end)
    }
}

impl Mount {
    /// False where callers poll instead: the server cannot call this process, or its calls do not arrive.
    pub(crate) fn can_wait_at_server(&self) -> bool {
        let waits = &self.lock_waits;
        self.options.lock_callbacks
            && !self.options.local_locks
            && !waits.is_missing.load(Ordering::Relaxed)
            && waits.missed_calls.load(Ordering::Relaxed) < MISSED_CALLS_MAX
    }

    /// How long a caller waits for a call before it asks again.
    pub(crate) fn ask_again(&self) -> Duration {
        self.lock_waits.ask_again.get().copied().unwrap_or(WOKEN_PAUSE)
    }

    #[cfg(test)]
    pub(crate) async fn use_lock_manager(&self, manager: &Arc<LockManager>, ask_again: Duration) {
        let server = self.server.address.ip();
        let attachment = manager.attach(server, self.responder().await.unwrap());
        *self.lock_waits.attachment.lock() = Some(Arc::new(attachment));
        self.lock_waits.ask_again.set(ask_again).unwrap();
    }

    /// Counts a request until it is sure not to be in a queue of the server.
    pub(crate) fn count_queued(&self) -> Queued {
        self.lock_waits.queued.send_modify(|count| *count += 1);
        Queued(self.lock_waits.queued.clone())
    }

    /// Returns when the client is shut down.
    pub(crate) async fn until_waits_end(&self) {
        let mut ending = self.lock_waits.ending.subscribe();
        while !self.lock_waits.is_over.load(Ordering::SeqCst) {
            // The sender is part of the mount.
            if ending.changed().await.is_err() {
                return;
            }
        }
    }

    /// Has GRANTED for this lock accepted, before it is asked for: the call may overtake the reply to LOCK.
    /// With `start` a lock manager is started where there is none. `None` where the server cannot call.
    pub(crate) async fn begin_lock_wait(
        &self,
        file: &Arc<OpenFile>,
        range: &Range<u64>,
        exclusive: bool,
        start: bool,
    ) -> Option<LockWait> {
        let attachment = match self.attachment(start).await {
            Ok(attachment) => attachment?,
            Err(error) => {
                tracing::debug!(%error, "no lock can be waited for in the server's queue");
                return None;
            }
        };
        let lock = self.lock_of(file, range.start, length(range));
        let request = LockRequest {
            file: lock.file.0,
            owner: lock.owner.0,
            offset: lock.offset,
            length: lock.length,
            exclusive,
        };
        let holder: Weak<OpenFile> = Arc::downgrade(file);
        attachment.wait(request, holder)
    }

    /// The lock manager that believes the server at its present address.
    async fn attachment(&self, start: bool) -> Result<Option<Arc<Attachment>>> {
        let waits = &self.lock_waits;
        if waits.is_missing.load(Ordering::Relaxed) || !start && waits.attachment.lock().is_none() {
            return Ok(None);
        }
        let server = self.lock_manager().await?.peer_address().ip().to_canonical();
        let respond = self.responder().await?;
        let _starting = waits.starting.lock().await;
        let present = waits.attachment.lock().clone();
        if present.as_ref().is_some_and(|attachment| attachment.server() == server) {
            return Ok(present);
        }
        let manager = match LockManager::for_server(server).await {
            Ok(manager) => manager,
            Err(error) => {
                tracing::debug!(%error, "callers that wait for locks poll: there is no lock manager");
                waits.is_missing.store(true, Ordering::Relaxed);
                return Ok(None);
            }
        };
        let next = Arc::new(manager.attach(server, respond));
        let before = {
            let mut attachment = waits.attachment.lock();
            if waits.is_over.load(Ordering::SeqCst) {
                return Ok(None);
            }
            attachment.replace(Arc::clone(&next))
        };
        drop(before);
        Ok(Some(next))
    }

    /// Sends answers over the connection of this mount, on its runtime.
    async fn responder(&self) -> Result<Responder> {
        let connection = self.lock_manager().await?.clone();
        let (runtime, tap) = (Handle::current(), Arc::clone(self.transport.tap()));
        let under_way = Arc::new(Semaphore::new(ANSWERS_MAX));
        Ok(Arc::new(move |response: nlm4::Response| {
            let Ok(place) = Arc::clone(&under_way).try_acquire_owned() else { return };
            let (connection, tap) = (connection.clone(), Arc::clone(&tap));
            runtime.spawn(async move {
                let _place = place;
                let sent = tap.send(Request::Lock(Procedure::GrantedRes));
                let number = Procedure::GrantedRes.number();
                let sending = connection.call(nlm4::PROGRAM, nlm4::VERSION, number, |to| to.put(&response));
                // Servers need not reply to it.
                match tokio::time::timeout(ANSWER, sending).await {
                    Ok(Ok(reply)) => sent.answered(Cost::from(&reply)),
                    Ok(Err(_)) | Err(_) => sent.unanswered(),
                }
            });
        }))
    }

    /// Notes whether the server called before a lock was found granted.
    pub(crate) fn note_granted_call(&self, has_called: bool) {
        let missed = &self.lock_waits.missed_calls;
        if has_called {
            missed.store(0, Ordering::Relaxed);
        } else if missed.fetch_add(1, Ordering::Relaxed) + 1 == MISSED_CALLS_MAX {
            tracing::debug!("waiting callers poll: the server's calls do not arrive");
        }
    }

    /// Takes a request out of the server's queue. A lock that the server has granted meanwhile goes back; the
    /// locks that the owner held before stay. The caller holds the object's gate.
    pub(crate) async fn leave_queue(
        &self,
        file: &OpenFile,
        range: &Range<u64>,
        exclusive: bool,
    ) -> Result<()> {
        let arguments = nlm4::CancelArgs {
            cookie: cookie(file),
            block: true,
            exclusive,
            lock: self.lock_of(file, range.start, length(range)),
        };
        match self.ask_once(Procedure::Cancel, &arguments).await? {
            Status::Granted | Status::Denied => {}
            status @ Status::DeniedGracePeriod => return Err(Error::server("CANCEL", status)),
            status => tracing::debug!(%status, "CANCEL failed"),
        }
        // Servers differ in whether CANCEL frees a lock that was granted, and in what they answer to it then.
        let (held, free) = file.node.state.lock().locks.split(file.id, range);
        for part in free {
            let arguments = self.unlock_args(file, part.start, length(&part));
            match self.ask_once(Procedure::Unlock, &arguments).await? {
                Status::Granted => {}
                status => return Err(Error::server("UNLOCK", status)),
            }
        }
        for part in held.iter().filter(|part| part.exclusive != exclusive) {
            let arguments = self.lock_args(file, (part.range.start, part.length()), part.exclusive);
            match self.ask_once(self.lock_procedure(), &arguments).await? {
                Status::Granted => {}
                status @ Status::DeniedGracePeriod => return Err(Error::server("LOCK", status)),
                _ => file.lose_locks(),
            }
        }
        Ok(())
    }
}

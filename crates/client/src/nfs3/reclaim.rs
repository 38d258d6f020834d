//! Locks over a restart of the server (X/Open C702): a connection that ends while locks are held is looked
//! into at once.
//!
//! Without a status monitor of our own nobody tells us of a restart. But a server that has restarted lets its
//! hosts reclaim for a while, and refuses that at any other time: so the first lock that is reclaimed tells
//! which of the two it is. Until that is known nothing is read or written by files that hold locks.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use futures_util::stream::{self, StreamExt};
use proto::nlm4::{Procedure, Status};
use rpc::{Call, Disposition, Refusal, Service};
use tokio::sync::watch;
use xdr::Encoder;

use super::Mount;
use crate::error::{Error, Result};
use crate::file::OpenFile;
use crate::locks::HeldLock;
use crate::node::Node;
use crate::shared::Shared;

/// Files whose locks are looked into at once.
const FILES_MAX: usize = 32;
/// How often to look whether the client is still there.
const LOOK: Duration = Duration::from_secs(5);
/// The pause before looking again, when the server did not answer.
const PAUSE: Duration = Duration::from_millis(500);

/// Whether the locks that we believe to hold are held.
#[derive(Debug, Default)]
pub(super) struct LockWatch {
    doubt: watch::Sender<Doubt>,
    /// Counts how often locks were looked into: see [`crate::protocol::Protocol::incarnation`].
    looks: AtomicU64,
    /// The server does not take locks of hosts that it cannot call.
    pub(super) unmonitored: AtomicBool,
}

/// How many connections have ended, and how many of them when locks were last known to be held.
#[derive(Debug, Default, Clone, Copy)]
struct Doubt {
    ended: u64,
    ended_before_look: u64,
}

impl Doubt {
    fn is_settled(&self) -> bool {
        self.ended == self.ended_before_look
    }
}

/// Answers no calls; notes the end of a connection.
#[derive(Debug)]
pub(super) struct ConnectionEnd(pub(super) Arc<LockWatch>);

impl Service for ConnectionEnd {
    async fn call(&self, _call: Call<'_>, _reply: &mut Encoder) -> std::result::Result<Disposition, Refusal> {
        Err(Refusal::ProgramUnavailable)
    }

    fn disconnected(&self, _connection: u64) {
        self.0.doubt.send_modify(|doubt| doubt.ended += 1);
    }
}

impl LockWatch {
    pub(super) fn looks(&self) -> u64 {
        self.looks.load(Ordering::SeqCst)
    }
}

/// Starts the task that looks into the end of connections; it ends with the client.
pub(super) fn spawn_keeper(watch: &Arc<LockWatch>, shared: &Arc<Shared>) {
    let (watch, shared) = (Arc::clone(watch), Arc::downgrade(shared));
    tokio::spawn(async move {
        let mut doubt = watch.doubt.subscribe();
        loop {
            // Looked at again now and then: the client may have been dropped meanwhile.
            let doubted =
                tokio::time::timeout(LOOK, doubt.wait_for(|doubt| !doubt.is_settled())).await.is_ok();
            let Some(shared) = alive(&shared) else { return };
            if !doubted {
                continue;
            }
            let ended = doubt.borrow().ended;
            let Some(mount) = shared.protocol().as_v3() else { return };
            // A lock that is granted, and not known yet when they are listed, is asked for again.
            watch.looks.fetch_add(1, Ordering::SeqCst);
            match mount.look_into_locks(&shared).await {
                // What has ended since is looked into again.
                Ok(()) => watch.doubt.send_modify(|doubt| doubt.ended_before_look = ended),
                Err(error) => {
                    tracing::debug!(%error, "looking into the locks that are held");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    });
}

fn alive(shared: &Weak<Shared>) -> Option<Arc<Shared>> {
    shared.upgrade().filter(|shared| !shared.is_shut_down())
}

impl OpenFile {
    /// Notes that the server has none of its locks any more; its user learns it from the next operation.
    pub(super) fn lose_locks(&self) {
        let mut state = self.node.state.lock();
        state.locks.remove(self.id, &(0..u64::MAX));
        state.known.forget_content();
        state.known.doubt(Instant::now());
        self.v4.lock().lost_locks = true;
    }
}

impl Mount {
    /// Waits until it is known whether the locks of a file are held.
    pub(super) async fn check_locks(&self, file: &OpenFile) -> Result<()> {
        if !file.node.state.lock().locks.holds_nothing(file.id) {
            self.until_looked_into().await?;
        }
        if file.v4.lock().lost_locks { Err(Error::Revoked) } else { Ok(()) }
    }

    /// The same of all that have an object open. The caller does not hold the object's gate, which whoever
    /// looks needs.
    pub(crate) async fn before_lock(&self, node: &Node) -> Result<()> {
        let holds_locks = !node.state.lock().locks.is_empty();
        if holds_locks { self.until_looked_into().await } else { Ok(()) }
    }

    async fn until_looked_into(&self) -> Result<()> {
        // Every read and write under a lock comes here.
        if self.lock_watch.doubt.borrow().is_settled() {
            return Ok(());
        }
        let mut doubt = self.lock_watch.doubt.subscribe();
        let settled = doubt.wait_for(Doubt::is_settled);
        match self.options.time_limit() {
            None => drop(settled.await),
            Some(limit) if tokio::time::timeout(limit, settled).await.is_err() => {
                return Err(Error::Timeout { operation: "LOCK" });
            }
            Some(_) => {}
        }
        Ok(())
    }

    async fn look_into_locks(&self, shared: &Arc<Shared>) -> Result<()> {
        let mut files = Vec::new();
        for node in shared.nodes.all() {
            let state = node.state.lock();
            files.extend(state.open_files().into_iter().filter(|file| !state.locks.holds_nothing(file.id)));
        }
        let looked = stream::iter(files)
            .map(|file| async move { self.look_into_locks_of(&file).await })
            .buffer_unordered(FILES_MAX);
        looked.collect::<Vec<_>>().await.into_iter().collect()
    }

    async fn look_into_locks_of(&self, file: &Arc<OpenFile>) -> Result<()> {
        // Nothing is locked or given up meanwhile: what is given up would be locked again here.
        let _gate = file.node.gate.lock().await;
        let held: Vec<HeldLock> = file.node.state.lock().locks.of(file.id).cloned().collect();
        for lock in held {
            if !self.is_still_held(file, &lock).await? {
                tracing::warn!("a lock was lost with the restart of the server");
                file.lose_locks();
                return Ok(());
            }
        }
        Ok(())
    }

    /// Reclaims a lock; where that is not allowed the server has not restarted, and is asked for it again.
    async fn is_still_held(&self, file: &OpenFile, held: &HeldLock) -> Result<bool> {
        let mut args = self.lock_args(file, (held.range.start, held.length()), held.exclusive);
        args.reclaim = true;
        match self.ask_once(self.lock_procedure(), &args).await? {
            Status::Granted => return Ok(true),
            Status::DeniedGracePeriod => {}
            _ => return Ok(false),
        }
        args.reclaim = false;
        Ok(self.ask(self.lock_procedure(), &args).await? == Status::Granted)
    }

    /// LOCK, by which a server remembers its hosts over a restart; NM_LOCK where it does not take that from
    /// us.
    pub(super) fn lock_procedure(&self) -> Procedure {
        match self.lock_watch.unmonitored.load(Ordering::Relaxed) {
            true => Procedure::NmLock,
            false => Procedure::Lock,
        }
    }
}

//! When session, client or connection are lost (RFC 8881 §2.10.13, §8.4).
//!
//! ```text
//!   BADSESSION … ──▶ CREATE_SESSION ──────────────────────────────────────────▶ session: requests go on
//!                         └─STALE_CLIENTID─▶ EXCHANGE_ID, CREATE_SESSION ──▶ reclaim ──▶ RECLAIM_COMPLETE ──▲
//! ```
//! Until the session is there nobody else sends anything. Whoever carries a stateid in a request says of
//! which incarnation it is: one of an earlier incarnation is not sent but fetched anew.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use proto::nfs4::Status;

use super::compound::status_of;
use super::core::Core;
use super::gate::Session;
use crate::error::{Error, Result};

/// The first pause before trying again; it doubles up to [`PAUSE_MAX`].
const PAUSE: Duration = Duration::from_millis(10);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// What there is to attend to.
pub(super) mod notice {
    /// The server cannot call back.
    pub(in crate::nfs4) const PATH: u32 = 1;
    /// The server has revoked something.
    pub(in crate::nfs4) const STATE: u32 = 2;
    /// The server has restarted and kept the session, but nothing else.
    pub(in crate::nfs4) const RECLAIM: u32 = 4;
    /// The server has lost track of the session's callbacks.
    pub(in crate::nfs4) const FAULT: u32 = 8;
}

/// An attempt to make a session.
pub(super) type Making = Shared<BoxFuture<'static, Result<Arc<Session>>>>;

impl Core {
    /// The present session, when there is one.
    pub(super) async fn session(self: &Arc<Self>) -> Result<Arc<Session>> {
        if self.has_ended() {
            return Err(Error::Usage("the client is shut down"));
        }
        let making = {
            let present = self.session.lock();
            if let Some(session) = &*present {
                return Ok(Arc::clone(session));
            }
            self.begin_making()
        };
        making.await
    }

    /// `dead` is of no use any more: makes another session, and becomes a new client if the server has
    /// forgotten us.
    pub(super) async fn recover_session(self: &Arc<Self>, dead: &Arc<Session>) -> Result<()> {
        {
            let mut present = self.session.lock();
            if present.as_ref().is_some_and(|present| Arc::ptr_eq(present, dead)) {
                *present = None;
            }
        }
        dead.close();
        self.session().await.map(drop)
    }

    /// The server has restarted and kept `session`: takes back in it what it has not kept.
    pub(super) async fn reclaim_in(self: &Arc<Self>, session: &Arc<Session>) -> Result<()> {
        let making = {
            let mut present = self.session.lock();
            if !present.as_ref().is_some_and(|present| Arc::ptr_eq(present, session)) {
                return Ok(());
            }
            *present = None;
            session.set_epoch(self.lease.begin_epoch());
            self.kept.lock().replace(Arc::clone(session));
            self.begin_making()
        };
        making.await.map(drop)
    }

    /// In a task of its own: who gives up waiting does not stop it half-way. The caller has `self.session`
    /// locked.
    fn begin_making(self: &Arc<Self>) -> Making {
        let mut making = self.making.lock();
        if let Some(making) = &*making {
            return making.clone();
        }
        let core = Arc::clone(self);
        let task = tokio::spawn(async move {
            let outcome = core.make_session().await;
            let mut present = core.session.lock();
            if let Ok(session) = &outcome {
                *present = Some(Arc::clone(session));
            }
            *core.making.lock() = None;
            outcome
        });
        let ended = async { task.await.unwrap_or(Err(Error::Usage("the runtime is being shut down"))) };
        let ended = ended.boxed().shared();
        *making = Some(ended.clone());
        ended
    }

    /// Tries until there is a session. Only the very first one has a time limit.
    async fn make_session(self: &Arc<Self>) -> Result<Arc<Session>> {
        let _one_at_a_time = self.recovering.lock().await;
        let (started, mut pause, first) = (Instant::now(), PAUSE, self.epoch() == 0);
        loop {
            match self.try_to_make_session().await {
                Ok(session) => return Ok(session),
                Err(error) if !is_worth_another_try(&error) => return Err(error),
                Err(error) if first && started.elapsed() > self.options.timeout => return Err(error),
                Err(error) => tracing::debug!(%error, "making a session"),
            }
            if self.has_ended() {
                return Err(Error::Usage("the client is shut down"));
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    async fn try_to_make_session(self: &Arc<Self>) -> Result<Arc<Session>> {
        let kept = self.kept.lock().take();
        let session = match kept {
            Some(session) => session,
            None if self.epoch() == 0 => self.establish().await?,
            None => match self.create_session().await {
                Err(error) if must_begin_anew(&error) => self.establish().await?,
                other => other?,
            },
        };
        let reclaimed_epoch = self.reclaimed.lock().0;
        if reclaimed_epoch != session.epoch() {
            self.reclaim(&session).await?;
            *self.reclaimed.lock() = (session.epoch(), Instant::now());
        }
        Ok(session)
    }

    /// True when what was asked then was asked before the last reclaiming was done, or while one is under
    /// way.
    pub(super) fn is_reclaimed_since(&self, asked: Instant) -> bool {
        let (epoch, done) = *self.reclaimed.lock();
        epoch != self.epoch() || asked <= done
    }

    /// Binds the first connection if it was made anew. False when the server does not want that; other
    /// failures are left to the requests that follow.
    pub(super) async fn bind_if_needed(self: &Arc<Self>, session: &Arc<Session>) -> bool {
        if self.connections[0].generation() == self.bound_generation.load(Ordering::SeqCst) {
            return true;
        }
        // Somebody else is at it, or at something larger.
        let Ok(_one_at_a_time) = self.recovering.try_lock() else { return true };
        if let Err(error) = self.bind(session.id).await {
            tracing::debug!(%error, "binding the connection to the session");
            if status_of(&error).is_some() {
                // The server does not want it; without a backchannel it will recall what it must.
                self.bound_generation.store(self.connections[0].generation(), Ordering::SeqCst);
                return false;
            }
        }
        true
    }

    pub(super) fn forget_binding(&self) {
        self.bound_generation.store(u64::MAX, Ordering::SeqCst);
    }

    /// Leaves something for the task that attends to it.
    pub(super) fn notice(&self, what: u32) {
        if self.notices.fetch_or(what, Ordering::SeqCst) & what != what {
            self.attention.notify_one();
        }
    }
}

fn must_begin_anew(error: &Error) -> bool {
    matches!(
        status_of(error),
        Some(Status::StaleClientId | Status::SequenceMisordered | Status::ClientIdInUse)
    )
}

fn is_worth_another_try(error: &Error) -> bool {
    match error {
        Error::Transport(_) | Error::Timeout { .. } | Error::UncertainOutcome { .. } => true,
        other => matches!(
            status_of(other),
            Some(Status::Delay | Status::StaleClientId | Status::BadSession | Status::SequenceMisordered)
        ),
    }
}

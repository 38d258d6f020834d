//! When session, client or connection are lost (RFC 8881 §2.10.13, §8.4).

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

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
    /// The server has thrown state away.
    pub(in crate::nfs4) const STATE: u32 = 2;
    /// The server has revoked delegations.
    pub(in crate::nfs4) const DELEGATIONS: u32 = 4;
}

impl Core {
    /// The present session.
    pub(super) async fn session(self: &Arc<Self>) -> Result<Arc<Session>> {
        if self.has_ended() {
            return Err(Error::Usage("the client is shut down"));
        }
        if let Some(session) = self.session.lock().clone() {
            return Ok(session);
        }
        self.replace_session(None, false).await
    }

    /// `dead` is of no use any more: makes another session, and becomes a new client if the server has forgotten us.
    pub(super) async fn recover_session(self: &Arc<Self>, dead: &Arc<Session>) -> Result<()> {
        self.replace_session(Some(dead), false).await.map(drop)
    }

    /// The server has thrown our state away: begins anew as another client.
    pub(super) async fn begin_anew(self: &Arc<Self>) -> Result<()> {
        let present = self.session.lock().clone();
        // Another verifier tells the server that nothing is left of before (RFC 8881 §18.35.4).
        self.owner.lock().verifier.0 = rand::random();
        self.replace_session(present.as_ref(), true).await.map(drop)
    }

    async fn replace_session(
        self: &Arc<Self>,
        dead: Option<&Arc<Session>>,
        anew: bool,
    ) -> Result<Arc<Session>> {
        let _one_at_a_time = self.recovering.lock().await;
        let present = self.session.lock().clone();
        if let Some(present) = present
            && dead.is_none_or(|dead| !Arc::ptr_eq(dead, &present))
        {
            return Ok(present);
        }
        if let Some(dead) = dead {
            dead.close();
            *self.session.lock() = None;
        }
        let (started, mut pause) = (Instant::now(), PAUSE);
        loop {
            match self.make_session(anew || dead.is_none()).await {
                Ok(session) => {
                    *self.session.lock() = Some(Arc::clone(&session));
                    return Ok(session);
                }
                Err(error) if started.elapsed() > self.options.timeout || !is_worth_another_try(&error) => {
                    return Err(error);
                }
                Err(error) => {
                    tracing::debug!(%error, "making a session");
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(PAUSE_MAX);
                }
            }
        }
    }

    async fn make_session(self: &Arc<Self>, anew: bool) -> Result<Arc<Session>> {
        if !anew {
            match self.create_session().await {
                Err(error) if must_begin_anew(&error) => {}
                other => return other,
            }
        }
        let had_state = self.epoch() > 0;
        let session = self.establish().await?;
        if had_state {
            self.forget_lost_state();
        }
        Ok(session)
    }

    /// Binds the first connection if it was made anew. Failures are left to the requests that follow.
    pub(super) async fn bind_if_needed(self: &Arc<Self>, session: &Arc<Session>) {
        if self.connections[0].generation() == self.bound_generation.load(Ordering::SeqCst) {
            return;
        }
        // Somebody else is at it, or at something larger.
        let Ok(_one_at_a_time) = self.recovering.try_lock() else { return };
        if let Err(error) = self.bind(session.id).await {
            tracing::debug!(%error, "binding the connection to the session");
            if status_of(&error).is_some() {
                // The server does not want it; without a backchannel it will recall what it must.
                self.bound_generation.store(self.connections[0].generation(), Ordering::SeqCst);
            }
        }
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

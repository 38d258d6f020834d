//! The task that keeps the lease while nothing else does, and attends to what the server wants noticed.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use proto::nfs4::Operation;

use super::core::Core;
use super::recovery::notice;
use super::send::Kind;
use crate::error::Result;

/// The first pause between two rounds of attention; it doubles up to [`ROUND_PAUSE_MAX`] while the server repeats its wish
/// with every answer.
const ROUND_PAUSE: Duration = Duration::from_millis(100);
const ROUND_PAUSE_MAX: Duration = Duration::from_secs(5);

/// Starts the task; it ends with the mount.
pub(super) fn spawn_keeper(core: &Arc<Core>) {
    let attention = Arc::clone(&core.attention);
    let core = Arc::downgrade(core);
    tokio::spawn(async move {
        let mut pause = ROUND_PAUSE;
        loop {
            let Some(wait) = core.upgrade().filter(|core| !core.has_ended()).map(|core| core.until_renewal())
            else {
                return;
            };
            let noticed = tokio::time::timeout(wait, attention.notified()).await.is_ok();
            let Some(core) = core.upgrade().filter(|core| !core.has_ended()) else { return };
            if let Err(error) = core.attend().await {
                tracing::debug!(%error, "keeping the lease");
            }
            drop(core);
            if noticed {
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(ROUND_PAUSE_MAX);
            } else {
                pause = ROUND_PAUSE;
            }
        }
    });
}

impl Core {
    /// A third of the lease after the last sign of life.
    fn until_renewal(&self) -> Duration {
        let third = self.lease_millis.load(Ordering::Relaxed) / 3;
        let due = self.renewed_millis.load(Ordering::Relaxed) + third;
        Duration::from_millis(due.saturating_sub(self.now_millis()).max(1))
    }

    async fn attend(self: &Arc<Self>) -> Result<()> {
        let notices = self.notices.swap(0, Ordering::SeqCst);
        if notices & notice::STATE != 0 {
            self.begin_anew().await?;
        }
        if notices & notice::DELEGATIONS != 0 {
            self.return_all_delegations().await;
        }
        if notices & notice::PATH != 0 {
            let session = self.session().await?;
            self.connections[0].reconnect().await.ok();
            self.forget_binding();
            self.bind_if_needed(&session).await;
        }
        if self.until_renewal() <= Duration::from_millis(1) {
            self.compound(Kind::repeatable(Operation::Sequence), |_| {}).await?;
        }
        Ok(())
    }
}

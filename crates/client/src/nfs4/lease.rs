//! The lease (RFC 8881 §8.3): how long what the server gave us is ours without asking, by our own clock. And
//! the task that keeps it while nothing else does, and attends to what the server wants noticed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use proto::nfs4::Operation;

use super::core::Core;
use super::recovery::notice;
use super::send::Kind;
use crate::error::Result;

/// The first pause between two rounds of attention; it doubles up to [`ROUND_PAUSE_MAX`] while the server
/// repeats its wish with every answer.
const ROUND_PAUSE: Duration = Duration::from_millis(100);
const ROUND_PAUSE_MAX: Duration = Duration::from_secs(5);

/// What a server is believed to forget us after, until it says, in milliseconds.
const LEASE_MILLIS: u64 = 30_000;

/// Whether what the server gave us can be relied on without asking it.
#[derive(Debug)]
pub(crate) struct Lease {
    started: Instant,
    /// The incarnation of the client at the server: state of an earlier one counts for nothing until it is
    /// reclaimed.
    epoch: AtomicU64,
    duration_millis: AtomicU64,
    /// When the last SEQUENCE that was answered had been sent, in milliseconds since `started`: the server
    /// counts from its arrival, which was later.
    renewed_millis: AtomicU64,
    /// The server says that it has revoked something, and it is not known yet what.
    doubted: AtomicBool,
}

impl Default for Lease {
    fn default() -> Self {
        Self {
            started: Instant::now(),
            epoch: AtomicU64::new(0),
            duration_millis: AtomicU64::new(LEASE_MILLIS),
            renewed_millis: AtomicU64::new(0),
            doubted: AtomicBool::new(false),
        }
    }
}

impl Lease {
    /// The present incarnation's number.
    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::SeqCst)
    }

    /// From here on the server knows nothing of what it gave to the incarnation before. Returns the new one's
    /// number.
    pub(super) fn begin_epoch(&self) -> u64 {
        self.epoch.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// The server has answered a SEQUENCE that was sent then.
    pub(super) fn renewed(&self, sent: Instant) {
        self.renewed_millis.fetch_max(self.millis(sent), Ordering::SeqCst);
    }

    /// True while the server must still hold what it gave to the incarnation `epoch`.
    pub(crate) fn holds(&self, epoch: u64, now: Instant) -> bool {
        epoch == self.epoch() && self.is_valid(now)
    }

    /// True while the server must not have given what is ours to others.
    pub(crate) fn is_valid(&self, now: Instant) -> bool {
        let end = self.renewed_millis.load(Ordering::SeqCst) + self.duration_millis.load(Ordering::SeqCst);
        self.millis(now) < end && !self.doubted.load(Ordering::SeqCst)
    }

    /// What we hold is relied on again when it has been looked at.
    pub(super) fn set_doubted(&self, doubted: bool) {
        self.doubted.store(doubted, Ordering::SeqCst);
    }

    pub(super) fn duration(&self) -> Duration {
        Duration::from_millis(self.duration_millis.load(Ordering::SeqCst))
    }

    pub(super) fn set_duration(&self, duration: Duration) {
        let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX / 2);
        self.duration_millis.store(millis, Ordering::SeqCst);
    }

    /// Until a third of the lease is over.
    fn until_renewal(&self, now: Instant) -> Duration {
        let third = self.duration_millis.load(Ordering::SeqCst) / 3;
        let due = self.renewed_millis.load(Ordering::SeqCst) + third;
        Duration::from_millis(due.saturating_sub(self.millis(now)).max(1))
    }

    fn millis(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.started).as_millis()).unwrap_or(u64::MAX / 2)
    }
}

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
    fn until_renewal(&self) -> Duration {
        self.lease.until_renewal(Instant::now())
    }

    /// Asks the server for a sign of life, if there was none for too long.
    pub(super) async fn ensure_lease(self: &Arc<Self>) -> Result<()> {
        if !self.lease.is_valid(Instant::now()) {
            self.renew().await?;
            if self.notices.load(Ordering::SeqCst) & notice::STATE != 0 {
                self.attend().await?;
            }
        }
        Ok(())
    }

    async fn renew(self: &Arc<Self>) -> Result<()> {
        self.compound(Kind::repeatable(Operation::Sequence), |_| {}).await.map(drop)
    }

    async fn attend(self: &Arc<Self>) -> Result<()> {
        let _one_at_a_time = self.attending.lock().await;
        let notices = self.notices.swap(0, Ordering::SeqCst);
        let mut must_renew = false;
        if notices & notice::RECLAIM != 0 {
            let session = self.session().await?;
            self.reclaim_in(&session).await?;
        }
        if notices & notice::STATE != 0
            && let Err(error) = self.check_states().await
        {
            self.notices.fetch_or(notice::STATE, Ordering::SeqCst);
            return Err(error);
        }
        if notices & notice::FAULT != 0 {
            let session = self.session().await?;
            self.recover_session(&session).await?;
        }
        if notices & notice::PATH != 0 {
            let session = self.session().await?;
            if let Err(error) = self.connections[0].reconnect().await {
                tracing::debug!(%error, "connecting again");
                self.notice(notice::PATH);
                return Ok(());
            }
            self.forget_binding();
            // A server that does not want it may have restarted: it waits for us to take back what we hold.
            must_renew = !self.bind_if_needed(&session).await;
        }
        if must_renew || self.until_renewal() <= Duration::from_millis(1) {
            self.renew().await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_runs_from_when_the_request_was_sent_that_renewed_it() {
        let lease = Lease::default();
        lease.set_duration(Duration::from_secs(9));
        let (start, second) = (lease.started, Duration::from_secs(1));
        assert!(lease.is_valid(start + 8 * second) && !lease.is_valid(start + 9 * second));
        lease.renewed(start + 5 * second);
        lease.renewed(start + 2 * second);
        assert!(lease.is_valid(start + 13 * second) && !lease.is_valid(start + 14 * second));
        assert_eq!(lease.until_renewal(start + 6 * second), 2 * second);
    }

    #[test]
    fn nothing_is_held_of_an_earlier_incarnation_or_while_it_is_in_doubt() {
        let (lease, now) = (Lease::default(), Instant::now());
        let epoch = lease.begin_epoch();
        assert!(lease.holds(epoch, now) && !lease.holds(epoch - 1, now));
        lease.set_doubted(true);
        assert!(!lease.holds(epoch, now));
        lease.set_doubted(false);
        lease.begin_epoch();
        assert!(!lease.holds(epoch, now));
    }
}

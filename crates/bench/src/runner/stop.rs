//! Ctrl-C, SIGTERM and keys: the first asks to stop and clean up, the second to stop cleaning up.

use std::future::Future;
use std::time::{Duration, Instant};

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use super::Error;

/// What has no end of its own after the first request gets this long to end by itself.
const GRACE: Duration = Duration::from_millis(1500);

/// How long a blocked thread takes to notice.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How often somebody asked to stop.
#[derive(Debug, Clone)]
pub(crate) struct Stop {
    count: watch::Sender<u32>,
    asked: watch::Receiver<u32>,
}

impl Stop {
    /// Listens from now on, for the rest of the process: a signal no longer ends it. SIGHUP
    /// requests a stop, too, unless the process was started with SIGHUP ignored.
    pub(crate) fn listen() -> Result<Self, Error> {
        let (count, asked) = watch::channel(0);
        let stop = Self { count, asked };
        stop.listen_for(SignalKind::interrupt())?;
        stop.listen_for(SignalKind::terminate())?;
        if !outlives_the_terminal() {
            stop.listen_for(SignalKind::hangup())?;
        }
        Ok(stop)
    }

    /// Listens also for SIGHUP and SIGQUIT: the live view restores the terminal before the process ends.
    pub(crate) fn listen_for_the_terminal(&self) -> Result<(), Error> {
        if outlives_the_terminal() {
            self.listen_for(SignalKind::hangup())?;
        }
        self.listen_for(SignalKind::quit())
    }

    fn listen_for(&self, kind: SignalKind) -> Result<(), Error> {
        let mut signals =
            signal(kind).map_err(|error| Error::Usage(format!("cannot listen for signals: {error}")))?;
        let stop = self.clone();
        tokio::spawn(async move {
            while signals.recv().await.is_some() {
                stop.ask();
            }
        });
        Ok(())
    }

    /// Whether a stop was requested.
    pub(crate) fn is_asked(&self) -> bool {
        *self.asked.borrow() > 0
    }

    /// Asks as a signal does.
    pub(crate) fn ask(&self) {
        self.count.send_modify(|count| *count += 1);
    }

    /// What `working` gives, unless somebody asks to stop before; it is then dropped where it stands.
    pub(crate) async fn or<T>(&self, working: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        tokio::select! {
            done = working => done,
            () = self.times(1) => Err(Error::Interrupted),
        }
    }

    /// Blocks this thread for a while, unless somebody asks to stop before.
    pub(crate) fn sleep(&self, length: Duration) -> Result<(), Error> {
        let deadline = Instant::now() + length;
        loop {
            if self.is_asked() {
                return Err(Error::Interrupted);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(LOOK_EVERY));
        }
    }

    /// As [`Stop::or`] for work that ends by itself when somebody asks to stop; it is dropped only if it
    /// takes too long.
    pub(crate) async fn or_soon<T>(
        &self,
        working: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let late = async {
            self.times(1).await;
            tokio::select! {
                () = tokio::time::sleep(GRACE) => {}
                () = self.times(2) => {}
            }
        };
        tokio::select! {
            done = working => done,
            () = late => Err(Error::Interrupted),
        }
    }

    /// Resolves when it has been asked `count` times.
    pub(crate) async fn times(&self, count: u32) {
        // It cannot fail while `self` holds the sender.
        if self.asked.clone().wait_for(|asked| *asked >= count).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Whether the process ignores SIGHUP, as nohup(1) arranges, and has no listener for it yet.
fn outlives_the_terminal() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    // Bit 0 is signal 1.
    mask & 1 != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_first_request_ends_work_and_the_second_its_grace() {
        let (count, asked) = watch::channel(0);
        let stop = Stop { count, asked };
        assert_eq!(stop.or(async { Ok(1) }).await.unwrap(), 1);
        assert!(stop.sleep(Duration::from_millis(1)).is_ok());
        stop.ask();
        assert!(matches!(stop.sleep(Duration::ZERO), Err(Error::Interrupted)));
        assert!(matches!(stop.or(std::future::pending::<Result<(), _>>()).await, Err(Error::Interrupted)));
        let ends = async {
            tokio::time::sleep(GRACE / 2).await;
            Ok(2)
        };
        assert_eq!(stop.or_soon(ends).await.unwrap(), 2);
        stop.ask();
        assert!(matches!(
            stop.or_soon(std::future::pending::<Result<(), _>>()).await,
            Err(Error::Interrupted)
        ));
    }
}

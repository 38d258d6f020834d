//! The world around the service, on tokio.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use server::runtime::{BoxFuture, Runtime};
use vfs::Timestamp;

/// Clock, timers and tasks of the tokio runtime that it is made in.
#[derive(Debug)]
pub(crate) struct TokioWorld {
    started: Instant,
    handle: tokio::runtime::Handle,
}

impl TokioWorld {
    /// # Panics
    /// Outside a tokio runtime.
    pub(crate) fn new() -> Self {
        Self { started: Instant::now(), handle: tokio::runtime::Handle::current() }
    }
}

impl Runtime for TokioWorld {
    fn now_ms(&self) -> u64 {
        // A server that is up for 584 million years is not a case to handle.
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn wall_clock(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp { seconds: since.as_secs() as i64, nanoseconds: since.subsec_nanos() }
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<()> {
        Box::pin(tokio::time::sleep(duration))
    }

    fn spawn(&self, task: BoxFuture<()>) {
        self.handle.spawn(task);
    }

    fn random(&self, bytes: &mut [u8]) {
        rand::fill(bytes);
    }
}

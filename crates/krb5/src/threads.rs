//! The threads that wait for the library.

use std::sync::Arc;

use tokio::sync::Semaphore;

/// Calls of the library at the same time. The others wait: a library that hangs holds so many threads.
const CALLS_MAX: usize = 8;

/// A bound on the calls of the library.
#[derive(Debug, Clone)]
pub(crate) struct Threads {
    places: Arc<Semaphore>,
    /// Runs on the thread before each call.
    prepare: fn(),
}

impl Threads {
    pub(crate) fn new(prepare: fn()) -> Self {
        Self { places: Arc::new(Semaphore::new(CALLS_MAX)), prepare }
    }

    /// Runs `call` on a thread of its own. `None` when it panicked.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        call: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let place = Arc::clone(&self.places).acquire_owned().await.ok()?;
        let prepare = self.prepare;
        let run = move || {
            // The future that waits for the outcome may be dropped before the call has ended.
            let _place = place;
            prepare();
            call()
        };
        tokio::task::spawn_blocking(run).await.ok()
    }
}

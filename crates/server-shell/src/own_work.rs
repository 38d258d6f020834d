//! Blocking work of the server's own, on the runtime's threads for it.

use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use vfs::local::restore_thread_identity;

/// Runs `job` where it stops nobody, as the server itself: one of these threads may have waited for a
/// caller's request before, or been started by one that acted for a caller, and would open files with the
/// rights of that one.
pub(super) fn spawn_blocking<T: Send + 'static>(
    runtime: &Handle,
    job: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    runtime.spawn_blocking(move || {
        if let Err(error) = restore_thread_identity() {
            tracing::error!(%error, "a thread keeps the rights of a caller");
        }
        job()
    })
}

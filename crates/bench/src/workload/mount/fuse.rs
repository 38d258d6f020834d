//! The client library behind a mount of this process.
//!
//! Owns the mount and its end. Whoever works in it waits for this process in the kernel, so it must end even
//! where the server is silent: then the kernel's connection is broken off.

use std::future::Future;
use std::path::Path;
use std::time::Duration;

use client::Url;
use mount::MountOptions;
use tokio::runtime::Runtime;
use tokio::sync::Mutex;

use super::library::Library;
use super::{Habits, NetworkNamespace, unmount};
use crate::workload::Error;

/// Until its last users are done, and what they wrote is on the server.
const ENDED_WITHIN: Duration = Duration::from_secs(5);

/// A tree that is mounted.
pub(super) struct FuseMount {
    /// What answers the kernel, and counts.
    pub(super) library: Library,
    connection: Option<unmount::Connection>,
    /// None when it has ended.
    mount: Mutex<Option<mount::Mount>>,
    threads: Threads,
}

/// The threads in which the library works: those of the benchmark, or of a runtime in a network namespace.
struct Threads(Option<Box<Runtime>>);

impl Threads {
    /// Carries out `work` there.
    async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Error> {
        let Some(runtime) = &self.0 else { return Ok(Box::pin(work).await) };
        runtime.spawn(work).await.map_err(|error| Error::Mount {
            cause: format!("the client in a network namespace has ended: {error}"),
            mend: "this is a defect of the benchmark",
        })
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            // Waiting for its threads is not allowed in a task.
            runtime.shutdown_background();
        }
    }
}

impl FuseMount {
    /// Shows the tree of `url` in `point`, by connections in `namespace`.
    pub(super) async fn start(
        (url, version, habits): (&Url, &str, Habits),
        (namespace, point): (Option<&NetworkNamespace>, &Path),
    ) -> Result<Self, Error> {
        let runtime = namespace.map(NetworkNamespace::runtime).transpose();
        let threads =
            Threads(runtime.map(|runtime| runtime.map(Box::new)).map_err(|error| Error::Mount {
                cause: format!("the network namespace cannot be entered: {error}"),
                mend: "make it with ip-netns(8), and work as root",
            })?);
        let (url, version, target) = (url.clone(), version.to_owned(), point.to_owned());
        let started = threads.run(async move {
            let library = Library::connect(&url, &version, habits).await?;
            let options = MountOptions::new("primetime-bench");
            match mount::Mount::start(library.client().clone(), &target, &options).await {
                Ok(mount) => Ok((library, mount)),
                Err(error) => {
                    library.shut_down().await;
                    Err(Error::Mount { cause: error.to_string(), mend: mend() })
                }
            }
        });
        let (library, mount) = started.await??;
        let connection = unmount::Connection::of(point);
        Ok(Self { library, connection, mount: Mutex::new(Some(mount)), threads })
    }

    /// Drops what the client keeps of a file.
    pub(super) async fn forget(&self, path: &str) -> Result<(), Error> {
        let (library, path) = (self.library.clone(), path.to_owned());
        self.threads.run(async move { library.forget(&path).await }).await?
    }

    /// Unmounts it and gives everything back to the server.
    pub(super) async fn shut_down(&self) {
        let Some(mount) = self.mount.lock().await.take() else { return };
        let connection = self.connection;
        // It fails only with the runtime, which takes the mount with it.
        let _ = self.threads.run(end(mount, connection)).await;
    }
}

async fn end(mount: mount::Mount, connection: Option<unmount::Connection>) {
    let unmounter = mount.unmounter();
    // The kernel waits for this process meanwhile. Where it fails, breaking off does not.
    let _ = tokio::task::spawn_blocking(move || unmounter.unmount()).await;
    let mut ended = std::pin::pin!(mount.ended());
    if tokio::time::timeout(ENDED_WITHIN, &mut ended).await.is_err() {
        let _ = tokio::task::spawn_blocking(move || connection.map(unmount::Connection::break_off)).await;
        let _ = tokio::time::timeout(ENDED_WITHIN, &mut ended).await;
    }
}

/// What may help against a mount that failed.
fn mend() -> &'static str {
    match std::fs::File::options().read(true).write(true).open("/dev/fuse") {
        Err(_) => "/dev/fuse cannot be opened: `modprobe fuse` loads it, and a container must be given it",
        Ok(_) => "ordinary users need fusermount3 (package fuse3)",
    }
}

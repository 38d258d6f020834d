//! The client library behind a mount of this process.
//!
//! Owns the mount and its end. Whoever works in it waits for this process in the kernel, so it must end even where the
//! server is silent: then the kernel's connection is broken off.

use std::path::Path;
use std::time::Duration;

use mount::MountOptions;
use tokio::sync::Mutex;

use super::library::Library;
use super::unmount;
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
}

impl FuseMount {
    /// Shows the tree of `library` in `point`.
    pub(super) async fn start(library: Library, point: &Path) -> Result<Self, Error> {
        let options = MountOptions::new("primetime-bench");
        match mount::Mount::start(library.client().clone(), point, &options).await {
            Ok(mount) => {
                let connection = unmount::Connection::of(point);
                Ok(Self { library, connection, mount: Mutex::new(Some(mount)) })
            }
            Err(error) => {
                library.shut_down().await;
                Err(Error::Mount { cause: error.to_string(), mend: mend() })
            }
        }
    }

    /// Unmounts it and gives everything back to the server.
    pub(super) async fn shut_down(&self) {
        let Some(mount) = self.mount.lock().await.take() else { return };
        let unmounter = mount.unmounter();
        // The kernel waits for this process meanwhile. Where it fails, breaking off does not.
        let _ = tokio::task::spawn_blocking(move || unmounter.unmount()).await;
        let mut ended = std::pin::pin!(mount.ended());
        if tokio::time::timeout(ENDED_WITHIN, &mut ended).await.is_err() {
            let connection = self.connection;
            let _ = tokio::task::spawn_blocking(move || connection.map(unmount::Connection::break_off)).await;
            let _ = tokio::time::timeout(ENDED_WITHIN, &mut ended).await;
        }
    }
}

/// What may help against a mount that failed.
fn mend() -> &'static str {
    match std::fs::File::options().read(true).write(true).open("/dev/fuse") {
        Err(_) => "/dev/fuse cannot be opened: `modprobe fuse` loads it, and a container must be given it",
        Ok(_) => "ordinary users need fusermount3 (package fuse3)",
    }
}

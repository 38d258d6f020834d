//! From a client and a directory to a mounted tree, and back.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use client::Client;
use rustix::mount::UnmountFlags;
use tokio::sync::watch;

use crate::filesystem::Filesystem;
use crate::notices::Notices;
use crate::options::MountOptions;
use crate::tree::Tree;

/// How long the server may take for the files that were open last.
const RELEASING_MAX: Duration = Duration::from_secs(60);

/// Why a tree cannot be mounted or unmounted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel, or the helper that asks it for ordinary users, refused.
    #[error("cannot mount on {directory}: {cause}")]
    Mount {
        /// Where.
        directory: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// It could not be unmounted.
    #[error("cannot unmount {directory}: {cause}")]
    Unmount {
        /// Where.
        directory: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// The conversation with the kernel ended for another reason than that it was unmounted.
    #[error("the kernel's end of the mount failed: {0}")]
    Kernel(String),
    /// Not everything that was written is on the server.
    #[error("what was written last did not reach the server: {0}")]
    Flush(client::Error),
}

/// A tree that is mounted. It stays so when this is dropped, until somebody unmounts it.
#[derive(Debug)]
pub struct Mount {
    directory: PathBuf,
    client: Client,
    tree: Arc<Tree>,
    ended: watch::Receiver<Option<Result<(), String>>>,
}

impl Mount {
    /// Shows the tree of `client` in `directory`.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub async fn start(client: Client, directory: &Path, options: &MountOptions) -> Result<Self, Error> {
        let failed = |cause| Error::Mount { directory: directory.to_owned(), cause };
        let directory = directory.canonicalize().map_err(failed)?;
        let config = options.config();
        let tree =
            Arc::new(Tree::new(client.root_object(), tokio::runtime::Handle::current(), options.inodes_max));
        client.watch(Arc::new(Notices::new(&tree)));
        let filesystem = Filesystem::new(&tree);
        let place = directory.clone();
        let started =
            tokio::task::spawn_blocking(move || fuser::Session::new(filesystem, place, &config)).await;
        let session = match started {
            Ok(session) => session.map_err(failed)?,
            Err(_) => return Err(failed(io::Error::other("the runtime is being shut down"))),
        };
        let _ = tree.notifier.set(session.notifier());
        let (sender, ended) = watch::channel(None);
        let mut served = session.spawn().map_err(failed)?;
        let thread = std::thread::Builder::new().name("fuse".into());
        let awaited = thread.spawn(move || {
            let end = std::mem::replace(&mut served.guard, std::thread::spawn(|| Ok(())));
            let outcome = match end.join() {
                Ok(Ok(())) => {
                    // It has been unmounted. When it is dropped the library would unmount the directory once
                    // more, which may be something else's by now.
                    std::mem::forget(served);
                    Ok(())
                }
                Ok(Err(error)) => Err(error.to_string()),
                Err(_) => Err("its thread ended".to_owned()),
            };
            // Whoever wants to know waits for it; nobody need.
            let _ = sender.send(Some(outcome));
        });
        awaited.map_err(failed)?;
        Ok(Self { directory, client, tree, ended })
    }

    /// Waits until it is unmounted, by whomever, and gives back what the server keeps for the client.
    ///
    /// # Errors
    /// When not everything that was written is on the server, or the conversation with the kernel failed.
    pub async fn ended(mut self) -> Result<(), Error> {
        let outcome = match self.ended.wait_for(Option::is_some).await {
            Ok(outcome) => outcome.clone().unwrap_or(Ok(())),
            Err(_) => Err("its thread ended".to_owned()),
        };
        if tokio::time::timeout(RELEASING_MAX, self.tree.release_all()).await.is_err() {
            tracing::warn!(
                "the server does not answer; files that were removed while they were open may be left there"
            );
        }
        let flushed = self.client.shutdown().await.map_err(Error::Flush);
        outcome.map_err(Error::Kernel).and(flushed)
    }

    /// How many objects the kernel knows. See [`MountOptions::inodes_max`].
    pub fn inodes(&self) -> usize {
        self.tree.inodes.count()
    }

    /// Where it is mounted.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// What can unmount it while somebody waits for its end.
    pub fn unmounter(&self) -> Unmounter {
        Unmounter { directory: self.directory.clone(), ended: self.ended.clone() }
    }
}

/// Unmounts a tree.
#[derive(Debug, Clone)]
pub struct Unmounter {
    directory: PathBuf,
    ended: watch::Receiver<Option<Result<(), String>>>,
}

impl Unmounter {
    /// Unmounts it. Where files are still in use it vanishes from the directory tree, and their users keep
    /// it until they are done. Does nothing once somebody else has unmounted it. Blocks: the kernel waits
    /// for answers of this process.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn unmount(&self) -> Result<(), Error> {
        // Something else may be mounted there by now.
        if self.ended.borrow().is_some() {
            return Ok(());
        }
        unmount(&self.directory).map_err(|cause| Error::Unmount { directory: self.directory.clone(), cause })
    }
}

fn unmount(directory: &Path) -> io::Result<()> {
    match rustix::mount::unmount(directory, UnmountFlags::DETACH) {
        Ok(()) => Ok(()),
        // Only root may; for others there is a helper.
        Err(rustix::io::Errno::PERM) => {
            let output =
                std::process::Command::new("fusermount3").args(["-u", "-z", "--"]).arg(directory).output()?;
            match output.status.success() {
                true => Ok(()),
                false => Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
            }
        }
        Err(error) => Err(error.into()),
    }
}

//! From the local file system to the server.

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::mpsc;

use super::arrival::{ARRIVALS_MAX, Arrival, receive};
use super::local::{local_error, meta, send_file};
use super::{TreeOptions, TreeReport};
use crate::error::{Error, Result};
use crate::items::Names;
use crate::name::FileName;
use crate::shared::Shared;

/// Files with several names whose first name is remembered.
const LINKED_MAX: usize = 1 << 20;

impl Shared {
    /// Copies what is in the local directory `from` to the directory `to`, which is made if it is not there.
    pub(super) async fn upload(
        self: &Arc<Self>,
        from: &Path,
        to: &[u8],
        options: &TreeOptions,
    ) -> Result<TreeReport> {
        self.check_writable()?;
        let root = fs::metadata(from).map_err(|error| local_error(&error))?;
        if !root.is_dir() {
            return Err(Error::Usage("a tree is a directory"));
        }
        let ground = self.tree_ground_made(to).await?;
        let (sender, arrivals) = mpsc::channel(ARRIVALS_MAX);
        let source = Source { to: sender, linked: HashMap::new() };
        let from = from.to_owned();
        let walk = tokio::task::spawn_blocking(move || source.walk(from));
        let report = receive(ground, arrivals, options).await;
        // It ends when nobody listens.
        walk.await.map_err(|_| Error::Usage("the runtime is being shut down"))?;
        report
    }
}

struct Source {
    to: mpsc::Sender<Arrival>,
    /// The first name of files that have several.
    linked: HashMap<(u64, u64), Names>,
}

impl Source {
    fn walk(mut self, from: PathBuf) {
        let mut todo = vec![(from, Names::default())];
        while let Some((path, at)) = todo.pop() {
            let entries = match fs::read_dir(&path) {
                Ok(entries) => entries,
                Err(error) => {
                    if !self.fail(&at, &error) {
                        return;
                    }
                    continue;
                }
            };
            for entry in entries {
                let on = match entry {
                    Ok(entry) => match FileName::new(entry.file_name().into_vec()) {
                        Some(name) => self.object(entry.path(), at.child(&name), &mut todo),
                        None => self.fail(&at, &std::io::ErrorKind::InvalidFilename.into()),
                    },
                    Err(error) => self.fail(&at, &error),
                };
                if !on {
                    return;
                }
            }
        }
    }

    /// False when nobody listens any more.
    fn object(&mut self, path: PathBuf, at: Names, todo: &mut Vec<(PathBuf, Names)>) -> bool {
        let found = match fs::symlink_metadata(&path) {
            Ok(found) => found,
            Err(error) => return self.fail(&at, &error),
        };
        let meta = meta(&found);
        let kind = found.file_type();
        if kind.is_dir() {
            todo.push((path, at.clone()));
            return self.to.blocking_send(Arrival::Directory { at, meta }).is_ok();
        }
        if found.nlink() > 1 && self.linked.len() < LINKED_MAX {
            let identity = (found.dev(), found.ino());
            if let Some(source) = self.linked.get(&identity) {
                return self.to.blocking_send(Arrival::Link { source: source.clone(), at }).is_ok();
            }
            self.linked.insert(identity, at.clone());
        }
        if kind.is_symlink() {
            return match fs::read_link(&path) {
                Ok(target) => {
                    let target = Bytes::copy_from_slice(target.as_os_str().as_bytes());
                    self.to.blocking_send(Arrival::Symlink { at, target, meta }).is_ok()
                }
                Err(error) => self.fail(&at, &error),
            };
        }
        if !kind.is_file() {
            let error = Error::Usage("devices, pipes and sockets are not copied");
            return self.to.blocking_send(Arrival::Failed { path: at.to_path(), error }).is_ok();
        }
        // It is no link: that was looked at, and is not to change meanwhile.
        let opened = File::options().read(true).custom_flags(nofollow()).open(&path);
        match opened {
            Ok(mut file) => send_file(&self.to, at, meta, found.len(), &mut file),
            Err(error) => self.fail(&at, &error),
        }
    }

    fn fail(&self, at: &Names, error: &std::io::Error) -> bool {
        self.to.blocking_send(Arrival::Failed { path: at.to_path(), error: local_error(error) }).is_ok()
    }
}

fn nofollow() -> i32 {
    rustix::fs::OFlags::NOFOLLOW.bits() as i32
}

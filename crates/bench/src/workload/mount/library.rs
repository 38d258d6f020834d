//! The client library as a client of the benchmark: the one place that calls it.
//!
//! Owns the translation of its calls and the words for its failures.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;

use bytes::Bytes;
use client::{Client, Descend, FileName, LockKind, OpenOptions, ProgramPorts, TreeOptions, TreeReport, Url};

use super::{Access, Counters, Habits};
use crate::workload::Error;

/// The most objects of a tree that is cleaned up, and the most entries of a directory that is listed. A
/// server can list ever more.
const REMOVED_MAX: u64 = 100_000_000;
const LISTED_MAX: usize = 10_000_000;
/// How often the removal of a tree begins again from which others remove things.
const REMOVAL_ROUNDS: usize = 3;

/// A connected client. Clones share it.
#[derive(Clone)]
pub(super) struct Library {
    client: Client,
}

impl Library {
    /// Connects to the server, with a client of its own that shares nothing with others.
    pub(super) async fn connect(url: &Url, version: &str, habits: Habits) -> Result<Self, Error> {
        let mut options = url.options();
        options.versions = vec![version.parse().map_err(Error::Version)?];
        options.delegations = habits.delegations;
        options.data_cache = habits.data_cache;
        if !habits.readahead {
            options.readahead_bytes_max = 0;
        }
        let client = Client::connect(url, options).await;
        client.map(|client| Self { client }).map_err(failed("mount", &url.to_string()))
    }

    /// What was agreed with the server, by name.
    pub(super) fn negotiated(&self) -> BTreeMap<String, String> {
        self.client.negotiated().into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Everything that was sent and received up to now.
    pub(super) fn counters(&self) -> Counters {
        self.client.tap().snapshot().into()
    }

    /// The client itself, for a mount of its tree.
    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// A request that asks nothing.
    pub(super) async fn null(&self) -> Result<(), Error> {
        self.client.null().await.map_err(failed("call", "the server"))
    }

    /// The file id of the directory that the address names.
    pub(super) async fn root_id(&self) -> Result<u64, Error> {
        self.client.metadata("/").await.map(|found| found.fileid).map_err(failed("look at", "/"))
    }

    /// Where the server has the programs beside NFS.
    pub(super) async fn program_ports(&self) -> Result<ProgramPorts, Error> {
        self.client.program_ports().await.map_err(failed("find", "MOUNT"))
    }

    /// Gives everything back to the server. That it is gone meanwhile is no loss here.
    pub(super) async fn shut_down(&self) {
        let _ = self.client.shutdown().await;
    }

    /// Opens a file.
    pub(super) async fn open(&self, path: &str, access: Access) -> Result<LibraryFile, Error> {
        let options = match access {
            Access::Read => OpenOptions::new().read(true),
            Access::Write { sync } => OpenOptions::new().write(true).sync(sync),
            Access::ReadWrite { sync } => OpenOptions::new().read(true).write(true).sync(sync),
            Access::CreateReadWrite { sync } => {
                OpenOptions::new().read(true).write(true).create(true).sync(sync)
            }
            Access::Replace => OpenOptions::new().write(true).create(true).truncate(true),
            Access::Create => OpenOptions::new().write(true).create(true),
        };
        let file = self.client.open(path, options).await.map_err(failed("open", path))?;
        Ok(LibraryFile { file, path: path.into() })
    }

    /// Makes an empty file and does not keep it open: one request in each version.
    pub(super) async fn create(&self, path: &str) -> Result<(), Error> {
        self.client.create_file(path, 0o644).await.map_err(failed("create", path))
    }

    /// Makes a file with this content, or gives it to the one that is there.
    pub(super) async fn write_file(&self, path: &str, data: Bytes) -> Result<(), Error> {
        self.client.write(path, data).await.map_err(failed("write", path))
    }

    /// Asks for the attributes of a file.
    pub(super) async fn stat(&self, path: &str) -> Result<(), Error> {
        self.client.metadata(path).await.map(drop).map_err(failed("look at", path))
    }

    /// Removes a file, which must be there.
    pub(super) async fn delete(&self, path: &str) -> Result<(), Error> {
        self.client.remove_file(path).await.map_err(failed("delete", path))
    }

    /// Gives a file another name.
    pub(super) async fn rename(&self, from: &str, to: &str) -> Result<(), Error> {
        self.client.rename(from, to).await.map_err(failed("rename", from))
    }

    /// Walks to a directory, so that the way there is known.
    pub(super) async fn visit(&self, path: &str) -> Result<(), Error> {
        self.client.metadata(path).await.map(drop).map_err(failed("walk to", path))
    }

    /// Drops what the client keeps of a file, so that reading it again asks the server.
    pub(super) async fn forget(&self, path: &str) -> Result<(), Error> {
        self.client.forget(path).await.map_err(failed("forget", path))
    }

    /// Makes a directory that must not be there yet.
    pub(super) async fn make_directory(&self, path: &str) -> Result<(), Error> {
        self.client.create_dir(path, 0o755).await.map_err(failed("make the directory", path))
    }

    /// Bytes that this user may still write to the file system that is served.
    pub(super) async fn free_bytes(&self) -> Result<u64, Error> {
        let stat = self.client.statfs("/").await.map_err(failed("ask for the free space of", "/"))?;
        Ok(stat.available_bytes)
    }

    /// Removes an empty directory; that it is gone is as good.
    pub(super) async fn remove_directory(&self, path: &str) -> Result<(), Error> {
        gone_is_good(self.client.remove_dir(path).await).map_err(failed("remove the directory", path))
    }

    /// Unpacks an archive into a directory; gives how many objects that made.
    pub(super) async fn extract_tar(
        &self,
        archive: impl Read + Send + 'static,
        path: &str,
    ) -> Result<u64, Error> {
        let report = self.client.extract_tar(archive, path, &TreeOptions::default()).await;
        done(report).map_err(failed("unpack into", path))
    }

    /// Lists a directory and everything in it; gives how many objects that are.
    pub(super) async fn list_tree(&self, path: &str) -> Result<u64, Error> {
        let report = self.client.list_tree(path, &TreeOptions::default(), |_| Descend::Into).await;
        done(report).map_err(failed("list", path))
    }

    /// Removes a directory and everything in it; gives how many objects those were.
    pub(super) async fn remove_tree(&self, path: &str) -> Result<u64, Error> {
        let report = self.client.remove_tree(path, &TreeOptions::default()).await;
        done(report).map_err(failed("remove", path))
    }

    /// Removes a directory and everything in it, and a file `last` of the directory when everything else is
    /// gone. No symbolic link is followed, and what is gone already is as good.
    pub(super) async fn remove_all(&self, path: &str, last: Option<&str>) -> Result<(), Error> {
        let removed_last = last.and_then(|last| FileName::new(last.to_owned()));
        let options = TreeOptions { entries_max: REMOVED_MAX, removed_last, ..TreeOptions::default() };
        for round in 1.. {
            let report = match self.client.remove_tree(path, &options).await {
                Err(error) if error.is_not_found() => return Ok(()),
                report => report.map_err(failed("remove", path))?,
            };
            // Others may remove things meanwhile.
            let mut failures = report.failures.into_iter();
            let only_gone = failures.as_slice().iter().all(|failure| failure.error.is_not_found());
            match failures.find(|failure| !failure.error.is_not_found() || only_gone) {
                Some(_) if only_gone && round < REMOVAL_ROUNDS => {}
                Some(failure) => {
                    let path = format!("{path}/{}", failure.path.escape_ascii());
                    return Err(failed("remove", &path)(failure.error));
                }
                None => break,
            }
        }
        Ok(())
    }

    /// The names in a directory that begin with `prefix`, and which of them are directories; none when it
    /// is not there.
    pub(super) async fn list(&self, path: &str, prefix: &str) -> Result<Option<Vec<(String, bool)>>, Error> {
        let mut entries = match self.client.read_dir(path).await {
            Ok(entries) => entries,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(source) => return Err(failed("list", path)(source)),
        };
        let mut names = Vec::new();
        while let Some(entry) = entries.next_entry().await.map_err(failed("list", path))? {
            if !entry.name.starts_with(prefix.as_bytes()) {
                continue;
            }
            if names.len() >= LISTED_MAX {
                return Err(failed("list", path)(client::Error::Usage(
                    "it has more entries than are listed",
                )));
            }
            let name = String::from_utf8_lossy(&entry.name).into_owned();
            let is_directory = match entry.attributes {
                Some(attributes) => attributes.is_directory(),
                None => {
                    let path = format!("{path}/{name}");
                    let found = self.client.symlink_metadata(&path).await;
                    found.map_err(failed("look at", &path))?.is_directory()
                }
            };
            names.push((name, is_directory));
        }
        Ok(Some(names))
    }
}

/// An open file.
#[derive(Clone)]
pub(crate) struct LibraryFile {
    file: client::File,
    path: Arc<str>,
}

impl LibraryFile {
    /// Its path.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Reads up to `length` bytes, fewer only at the file's end.
    pub(super) async fn read(&self, offset: u64, length: usize) -> Result<Bytes, Error> {
        self.file.read_at(offset, length).await.map_err(failed("read", &self.path))
    }

    /// Writes all of `data`.
    pub(super) async fn write(&self, offset: u64, data: Bytes) -> Result<(), Error> {
        self.file.write_at(offset, data).await.map_err(failed("write", &self.path))
    }

    /// Locks the whole file, for reading or for itself alone, waiting for it.
    pub(super) async fn lock(&self, exclusive: bool) -> Result<(), Error> {
        let kind = if exclusive { LockKind::Exclusive } else { LockKind::Shared };
        self.file.lock(.., kind).await.map_err(failed("lock", &self.path))
    }

    /// Gives the lock back.
    pub(super) async fn unlock(&self) -> Result<(), Error> {
        self.file.unlock(..).await.map_err(failed("unlock", &self.path))
    }

    /// Everything written is on stable storage after this.
    pub(super) async fn sync(&self) -> Result<(), Error> {
        self.file.sync_all().await.map_err(failed("sync", &self.path))
    }

    /// Closes the file; tells of writes that failed meanwhile.
    pub(super) async fn close(self) -> Result<(), Error> {
        let path = self.path;
        self.file.close().await.map_err(failed("close", &path))
    }
}

fn failed(verb: &'static str, what: &str) -> impl FnOnce(client::Error) -> Error {
    move |source| Error::Client { doing: format!("{verb} {what}"), source }
}

/// How many objects were done, when all of them were.
fn done(report: client::Result<TreeReport>) -> client::Result<u64> {
    report.and_then(TreeReport::into_result).map(|done| done.items)
}

fn gone_is_good(removed: client::Result<()>) -> client::Result<()> {
    match removed {
        Err(error) if error.is_not_found() => Ok(()),
        other => other,
    }
}

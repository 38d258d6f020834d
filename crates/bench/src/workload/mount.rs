//! What the workloads need of a client, and nothing else: the one place that calls the client library.
//!
//! Owns the translation of its calls and the words for its failures. It knows nothing of experiments.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use client::{Client, Descend, LockKind, OpenOptions, Snapshot, TreeOptions, TreeReport, Url};

use super::Error;

/// The versions that can be measured.
pub(crate) const VERSIONS: [&str; 2] = ["3", "4.1"];

/// Where a server is, and which of its directories.
#[derive(Debug, Clone)]
pub(crate) struct Address(Url);

impl Address {
    /// Reads `nfs://host[:port]/path?…`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        text.parse().map(Self).map_err(|error: client::UrlError| error.to_string())
    }

    /// The server's socket.
    pub(crate) async fn resolve(&self) -> Result<SocketAddr, String> {
        let found = self.0.resolve().await;
        found.map_err(|error| format!("cannot find the server {}: {error}", self.0.host()))
    }

    /// The same directory by way of `relay`.
    pub(crate) fn through(&self, relay: SocketAddr) -> Self {
        Self(self.0.through(relay))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// What a client may do of its own accord.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Habits {
    /// Whether it asks for delegations.
    pub(crate) delegations: bool,
    /// Whether it reads ahead.
    pub(crate) readahead: bool,
    /// Whether it keeps what it has read.
    pub(crate) data_cache: bool,
}

/// A connected client.
pub(crate) struct Mount {
    client: Client,
    version: String,
}

/// How to open a file.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Access {
    /// To read it.
    Read,
    /// To overwrite it in place.
    Write {
        /// Whether each write is on stable storage before it returns.
        sync: bool,
    },
    /// To read it and overwrite it in place.
    ReadWrite {
        /// Whether each write is on stable storage before it returns.
        sync: bool,
    },
    /// To make it, and to read and write it.
    CreateReadWrite {
        /// Whether each write is on stable storage before it returns.
        sync: bool,
    },
    /// To write it anew, made when it is absent.
    Replace,
    /// To make it, as creat(2) does.
    Create,
}

impl Mount {
    /// Connects to the server, with a client of its own that shares nothing with others.
    pub(crate) async fn connect(address: &Address, version: &str, habits: Habits) -> Result<Self, Error> {
        let mut options = address.0.options();
        options.versions = vec![version.parse().map_err(Error::Version)?];
        options.delegations = habits.delegations;
        options.data_cache = habits.data_cache;
        if !habits.readahead {
            options.readahead_bytes_max = 0;
        }
        let client = Client::connect(&address.0, options).await;
        Ok(Self {
            client: client.map_err(failed("mount", &address.to_string()))?,
            version: version.to_owned(),
        })
    }

    /// The version that it speaks.
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// What was agreed with the server, by name.
    pub(crate) fn negotiated(&self) -> BTreeMap<String, String> {
        self.client.negotiated().into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Everything that was sent and received up to now.
    pub(crate) fn counters(&self) -> Snapshot {
        self.client.tap().snapshot()
    }

    /// A request that asks nothing.
    pub(crate) async fn null(&self) -> Result<(), Error> {
        self.client.null().await.map_err(failed("call", "the server"))
    }

    /// Gives everything back to the server. That it is gone meanwhile is no loss here.
    pub(crate) async fn shut_down(&self) {
        let _ = self.client.shutdown().await;
    }

    /// Opens a file.
    pub(crate) async fn open(&self, path: &str, access: Access) -> Result<File, Error> {
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
        Ok(File { file, path: path.into() })
    }

    /// Makes an empty file and does not keep it open: one request in each version.
    pub(crate) async fn create(&self, path: &str) -> Result<(), Error> {
        self.client.create_file(path, 0o644).await.map_err(failed("create", path))
    }

    /// Makes a file with this content, or gives it to the one that is there.
    pub(crate) async fn write_file(&self, path: &str, data: Bytes) -> Result<(), Error> {
        self.client.write(path, data).await.map_err(failed("write", path))
    }

    /// Asks for the attributes of a file.
    pub(crate) async fn stat(&self, path: &str) -> Result<(), Error> {
        self.client.metadata(path).await.map(drop).map_err(failed("look at", path))
    }

    /// Removes a file, which must be there.
    pub(crate) async fn delete(&self, path: &str) -> Result<(), Error> {
        self.client.remove_file(path).await.map_err(failed("delete", path))
    }

    /// Gives a file another name.
    pub(crate) async fn rename(&self, from: &str, to: &str) -> Result<(), Error> {
        self.client.rename(from, to).await.map_err(failed("rename", from))
    }

    /// Walks to a directory, so that the way there is known.
    pub(crate) async fn visit(&self, path: &str) -> Result<(), Error> {
        self.client.metadata(path).await.map(drop).map_err(failed("walk to", path))
    }

    /// Drops what the client keeps of a file, so that reading it again asks the server.
    pub(crate) async fn forget(&self, path: &str) -> Result<(), Error> {
        self.client.forget(path).await.map_err(failed("forget", path))
    }

    /// Makes a directory that must not be there yet.
    pub(crate) async fn make_directory(&self, path: &str) -> Result<(), Error> {
        self.client.create_dir(path, 0o755).await.map_err(failed("make the directory", path))
    }

    /// Bytes that this user may still write to the file system that is served.
    pub(crate) async fn free_bytes(&self) -> Result<u64, Error> {
        let stat = self.client.statfs("/").await.map_err(failed("ask for the free space of", "/"))?;
        Ok(stat.available_bytes)
    }

    /// Removes an empty directory; that it is gone is as good.
    pub(crate) async fn remove_directory(&self, path: &str) -> Result<(), Error> {
        gone_is_good(self.client.remove_dir(path).await).map_err(failed("remove the directory", path))
    }

    /// Removes a file; that it is gone is as good.
    pub(crate) async fn remove_file(&self, path: &str) -> Result<(), Error> {
        gone_is_good(self.client.remove_file(path).await).map_err(failed("remove", path))
    }

    /// Unpacks an archive into a directory; gives how many objects that made.
    pub(crate) async fn extract_tar(
        &self,
        archive: impl Read + Send + 'static,
        path: &str,
    ) -> Result<u64, Error> {
        let report = self.client.extract_tar(archive, path, &TreeOptions::default()).await;
        done(report).map_err(failed("unpack into", path))
    }

    /// Lists a directory and everything in it; gives how many objects that are.
    pub(crate) async fn list_tree(&self, path: &str) -> Result<u64, Error> {
        let report = self.client.list_tree(path, &TreeOptions::default(), |_| Descend::Into).await;
        done(report).map_err(failed("list", path))
    }

    /// Removes a directory and everything in it; gives how many objects those were.
    pub(crate) async fn remove_tree(&self, path: &str) -> Result<u64, Error> {
        let report = self.client.remove_tree(path, &TreeOptions::default()).await;
        done(report).map_err(failed("remove", path))
    }

    /// The names in a directory and which of them are directories; none when it is not there.
    pub(crate) async fn list(&self, path: &str) -> Result<Option<Vec<(String, bool)>>, Error> {
        let mut entries = match self.client.read_dir(path).await {
            Ok(entries) => entries,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(source) => return Err(failed("list", path)(source)),
        };
        let mut names = Vec::new();
        while let Some(entry) = entries.next_entry().await.map_err(failed("list", path))? {
            let name = String::from_utf8_lossy(&entry.name).into_owned();
            let is_directory = match entry.attributes {
                Some(attributes) => attributes.is_directory(),
                None => {
                    let path = format!("{path}/{name}");
                    let attributes = self.client.metadata(&path).await.map_err(failed("look at", &path))?;
                    attributes.is_directory()
                }
            };
            names.push((name, is_directory));
        }
        Ok(Some(names))
    }
}

/// An open file.
#[derive(Clone)]
pub(crate) struct File {
    file: client::File,
    path: Arc<str>,
}

impl File {
    /// Its path.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Reads up to `length` bytes, fewer only at the file's end.
    pub(crate) async fn read(&self, offset: u64, length: usize) -> Result<Bytes, Error> {
        self.file.read_at(offset, length).await.map_err(failed("read", &self.path))
    }

    /// Writes all of `data`.
    pub(crate) async fn write(&self, offset: u64, data: Bytes) -> Result<(), Error> {
        self.file.write_at(offset, data).await.map_err(failed("write", &self.path))
    }

    /// Locks the whole file, for reading or for itself alone, waiting for it.
    pub(crate) async fn lock(&self, exclusive: bool) -> Result<(), Error> {
        let kind = if exclusive { LockKind::Exclusive } else { LockKind::Shared };
        self.file.lock(.., kind).await.map_err(failed("lock", &self.path))
    }

    /// Gives the lock back.
    pub(crate) async fn unlock(&self) -> Result<(), Error> {
        self.file.unlock(..).await.map_err(failed("unlock", &self.path))
    }

    /// Everything written is on stable storage after this.
    pub(crate) async fn sync(&self) -> Result<(), Error> {
        self.file.sync_all().await.map_err(failed("sync", &self.path))
    }

    /// Closes the file; tells of writes that failed meanwhile.
    pub(crate) async fn close(self) -> Result<(), Error> {
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

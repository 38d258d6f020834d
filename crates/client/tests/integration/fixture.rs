//! A server on a fresh directory, and clients of it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use client::{
    AttributeTimeouts, Client, DirEntry, File, OpenOptions, Options, Snapshot, Url, Version, Waits,
};
use server::exports::{Rule, Squash};
use server_shell::{Running, ServeOptions};
use tempfile::TempDir;

/// Makes a test of each function for each version.
macro_rules! in_every_version {
    ($($name:ident)*) => {
        mod v3 {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(client::Version::V3).await;
            })*
        }
        mod v4_1 {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(client::Version::V4_1).await;
            })*
        }
        mod v4_2 {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(client::Version::V4_2).await;
            })*
        }
    };
}
pub(crate) use in_every_version;

/// Longer than any test.
pub const LONG: Duration = Duration::from_secs(3600);

pub struct Fixture {
    pub server: Running,
    directory: TempDir,
}

/// Root is root, and nothing waits for the disk.
fn trust(options: &mut ServeOptions) {
    let export = &mut options.exports[0];
    export.asynchronous = true;
    export.options = Rule { squash: Squash::NONE, ..Rule::default() }.into();
}

impl Fixture {
    pub async fn new() -> Self {
        Self::with(|_| {}).await
    }

    pub async fn with(change: impl FnOnce(&mut ServeOptions)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("export")).unwrap();
        let mut options = ServeOptions::new(directory.path().join("export"));
        trust(&mut options);
        options.state_directory = Some(directory.path().join("state"));
        change(&mut options);
        let server = Running::start(&options).await.unwrap();
        Self { server, directory }
    }

    /// Another server at the same address on the same files and state directory.
    pub async fn restart(self, address: SocketAddr) -> Self {
        self.restart_with(address, |_| {}).await
    }

    pub async fn restart_with(self, address: SocketAddr, change: impl FnOnce(&mut ServeOptions)) -> Self {
        self.stop().await.start(address, change).await
    }

    pub async fn stop(self) -> Stopped {
        self.server.stop().await.unwrap();
        Stopped { directory: self.directory }
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Where the server keeps the files.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join("export").join(name)
    }

    pub fn root(&self) -> &Path {
        self.directory.path()
    }

    pub async fn client(&self, version: Version) -> Client {
        self.client_with(version, |_| {}).await
    }

    pub async fn client_with(&self, version: Version, change: impl FnOnce(&mut Options)) -> Client {
        connect(self.address(), version, change).await
    }

    /// One that sends by itself nothing that can be put off, and does not ask again because time has passed:
    /// its requests can be counted however busy the machine is.
    pub async fn unhurried(&self, version: Version, change: impl FnOnce(&mut Options)) -> Client {
        let unhurried = |options: &mut Options| {
            options.waits = Waits::all(LONG);
            options.attribute_timeouts = AttributeTimeouts::fixed(LONG);
            change(options);
        };
        self.client_with(version, unhurried).await
    }
}

/// The files and the state directory of a server that does not run.
pub struct Stopped {
    directory: TempDir,
}

impl Stopped {
    /// Another server, which has not kept who its clients were.
    pub async fn start_without_records(self, address: SocketAddr) -> Fixture {
        std::fs::remove_file(self.directory.path().join("state/clients.redb")).unwrap();
        self.start(address, |_| {}).await
    }

    pub async fn start(self, address: SocketAddr, change: impl FnOnce(&mut ServeOptions)) -> Fixture {
        let mut options = ServeOptions::new(self.directory.path().join("export"));
        trust(&mut options);
        options.state_directory = Some(self.directory.path().join("state"));
        options.listen = address;
        change(&mut options);
        let server = Running::start(&options).await.unwrap();
        Fixture { server, directory: self.directory }
    }
}

pub async fn connect(address: SocketAddr, version: Version, change: impl FnOnce(&mut Options)) -> Client {
    try_to_connect(address, version, change).await.unwrap()
}

pub async fn try_to_connect(
    address: SocketAddr,
    version: Version,
    change: impl FnOnce(&mut Options),
) -> client::Result<Client> {
    let url: Url = format!("nfs://{address}/").parse().unwrap();
    let mut options = Options { versions: vec![version], ..Options::default() };
    change(&mut options);
    Client::connect(&url, options).await
}

pub const READ: OpenOptions = OpenOptions::new().read(true);
pub const WRITE: OpenOptions = OpenOptions::new().read(true).write(true);

/// What callers' requests were. Beside them the client keeps its lease and the way back from the server, when
/// time or the server wants it.
pub fn asked(counts: &Snapshot) -> Vec<&str> {
    let keeping = ["SEQUENCE", "BIND_CONN_TO_SESSION"];
    counts.requests.keys().copied().filter(|name| !keeping.contains(name)).collect()
}

/// Bytes of which no two neighbouring words are the same.
pub fn pattern(length: usize) -> Bytes {
    (0..length).map(|i| (i.wrapping_mul(2_654_435_761) >> 7) as u8).collect()
}

pub async fn read_whole(client: &Client, path: &str) -> Bytes {
    let file = client.open(path, READ).await.unwrap();
    let size = file.metadata().await.unwrap().size as usize;
    let data = file.read_at(0, size + 10).await.unwrap();
    file.close().await.unwrap();
    data
}

pub async fn write_whole(client: &Client, path: &str, data: impl Into<Bytes>) {
    let file: File = client.open(path, WRITE.create(true).truncate(true)).await.unwrap();
    file.write_at(0, data.into()).await.unwrap();
    file.close().await.unwrap();
}

pub async fn list(client: &Client, path: &str) -> Vec<DirEntry> {
    client.read_dir(path).await.unwrap().into_vec().await.unwrap()
}

//! A server under load, and the files that it is asked for.

use std::net::SocketAddr;
use std::process::Child;

use bytes::Bytes;
use client::{Client, OpenOptions, Options, Url, Version};

use crate::foreign::Place;
use crate::process::Process;
use crate::requests::Ask;
use crate::rows::{Durability, MIB, Row};

/// The file that is looked at and read, and the one that is written, each of [`FILE_BYTES`].
pub const READ_FILE: &str = "read";
pub const WRITTEN_FILE: &str = "written";
pub const FILE_BYTES: u32 = 8 * MIB;

#[derive(Clone)]
pub struct Target {
    pub name: &'static str,
    pub address: SocketAddr,
    /// Where MOUNT listens.
    pub mount_address: SocketAddr,
    /// What MOUNT calls the export, and what NFSv4 does.
    pub paths: [&'static str; 2],
    /// Where it runs on this machine as a process.
    pub process: Option<Process>,
    /// Its sibling whose replies promise nothing; none where the server itself is like that.
    pub asynchronous: Option<Box<Self>>,
}

impl Target {
    pub fn ours(name: &'static str, address: SocketAddr, process: &Child) -> Self {
        Self {
            name,
            address,
            mount_address: address,
            paths: ["/", "/"],
            process: Some(Process(process.id())),
            asynchronous: None,
        }
    }

    pub fn foreign(name: &'static str, place: Place, process: Option<Process>) -> Self {
        Self {
            name,
            address: SocketAddr::new(place.host, place.port),
            mount_address: SocketAddr::new(place.host, place.mount_port),
            paths: [place.path; 2],
            process,
            asynchronous: None,
        }
    }

    /// Makes the files.
    pub fn prepare(&self) {
        self.with_client(async |client| {
            for name in [READ_FILE, WRITTEN_FILE] {
                let file = client.open(name, OpenOptions::new().write(true).create(true).mode(0o666)).await?;
                file.write_at(0, Bytes::from(vec![1; FILE_BYTES as usize])).await?;
                file.sync_all().await?;
                file.close().await?;
            }
            Ok(())
        });
    }

    /// The server of the durability that the row is about.
    pub fn for_row(&self, row: &Row) -> &Self {
        let asynchronous = self.asynchronous.as_deref().filter(|_| row.durability == Durability::None);
        asynchronous.unwrap_or(self)
    }

    /// The directory below the export that a run has its files in: for files that are made, a fresh one.
    pub fn folder_for(&self, row: &Row, version: usize, round: usize) -> Option<String> {
        if row.ask != Ask::Create {
            return None;
        }
        Some(self.new_folder(&format!("{}-{version}-{round}", row.name)))
    }

    /// Makes a directory below the export.
    pub fn new_folder(&self, name: &str) -> String {
        self.with_client(async |client| client.create_dir(name, 0o777).await);
        name.to_owned()
    }

    fn with_client(&self, work: impl AsyncFnOnce(&Client) -> client::Result<()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
        let done = runtime.block_on(async {
            let url: Url = format!("nfs://{}{}", self.address, self.paths[1]).parse().expect("an address");
            let options = Options { versions: vec![Version::V4_1], ..Options::default() };
            let client = Client::connect(&url, options).await?;
            work(&client).await?;
            client.shutdown().await
        });
        done.unwrap_or_else(|error| panic!("{}: {error}", self.name));
    }
}

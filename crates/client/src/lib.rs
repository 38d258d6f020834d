//! An NFS client in the caller's process: NFSv3 (with MOUNT and NLM), NFSv4.1 and NFSv4.2 behind one API.
//!
//! ```
//! use client::{Client, OpenOptions, Url};
//! async fn greet(address: &str) -> client::Result<()> {
//!     let url: Url = address.parse()?; // such as nfs://server/export
//!     let client = Client::connect(&url, url.options()).await?;
//!     let file = client.open("/greeting", OpenOptions::new().write(true).create(true)).await?;
//!     file.write_at(0, "hello".into()).await?;
//!     file.close().await?;
//!     client.shutdown().await
//! }
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! # let place = tempfile::tempdir().unwrap();
//! # let mut options = server_shell::ServeOptions::new(place.path());
//! # options.exports[0].options =
//! #     server::exports::Rule { squash: server::exports::Squash::NONE, ..Default::default() }.into();
//! # let server = server_shell::Running::start(&options).await.unwrap();
//! # greet(&format!("nfs://{}/", server.address())).await.unwrap();
//! # assert_eq!(std::fs::read(place.path().join("greeting")).unwrap(), b"hello");
//! # server.stop().await.unwrap();
//! # });
//! ```
//!
//! Operations are named after those of [`std::fs`]; [`blocking`] has them for plain threads.
//!
//! It keeps what the protocols promise to hold: a file that is opened shows what was written before it was
//! closed elsewhere, and a lock shows what was written before it was given up. Within that it asks as little
//! as it can: attributes, names and data are remembered, and under a delegation nothing is asked at all. Data
//! that are written may be on their way for a while; [`File::sync_all`] and [`File::close`] wait for them,
//! and tell what went wrong.
//!
//! What a request cost is counted, by kind:
//!
//! ```no_run
//! # async fn example(client: client::Client) -> client::Result<()> {
//! use client::{LockKind, OpenOptions};
//!
//! let before = client.tap().snapshot();
//! let file = client.open("/results/log", OpenOptions::new().read(true)).await?;
//! file.lock(.., LockKind::Shared).await?;                     // waits; `try_lock` does not
//! let data = file.read_at(0, 4096).await?;                    // shorter only at the end of the file
//! file.unlock(..).await?;
//! file.close().await?;
//! let cost = client.tap().snapshot().since(&before);          // per request: counts, bytes, times
//! println!("{} requests, {} bytes", cost.requests_total(), cost.bytes_received());
//! # Ok(())
//! # }
//! ```
//!
//! Paths are bytes (`impl AsRef<[u8]>`), relative to the path of the address; symbolic links are followed by
//! the client. [`Client`], [`Directory`] and [`File`] are cheap handles; clones share everything. All
//! operations may run concurrently. A future may be dropped at any point; what it asked for may then still
//! happen.

#![forbid(unsafe_code)]

mod attributes;
mod batch;
pub mod blocking;
mod budget;
mod cache;
mod call;
mod carried_out;
mod client;
mod copy;
mod directory;
mod errno;
mod error;
mod fetch;
mod file;
mod habit;
mod holes;
mod in_turn;
mod items;
mod listing;
mod lock;
mod lock_manager;
mod lock_queue;
mod lock_wait;
mod locks;
mod name;
mod namespace;
mod nfs3;
mod nfs4;
mod node;
mod object;
mod open;
mod options;
mod permission;
mod protocol;
mod read;
mod readahead;
mod server;
mod setting;
mod shared;
mod slots;
mod sparse;
pub mod tap;
mod transport_security;
mod tree;
mod url;
mod walk;
mod watcher;
mod whole;
mod write;
mod writeback;
mod writer;
mod xattr;

pub use attributes::{Access, Attributes, DirEntry, FileType, FsStat, SetAttributes, SetTime, Time};
pub use batch::Batch;
pub use client::Client;
pub use directory::Directory;
pub use error::{Error, Result, Status};
pub use file::File;
pub use holes::data_runs;
pub use items::{Existing, Output};
pub use listing::{ListingTrail, ReadDir};
pub use lock::{Conflict, LockKind};
pub use name::{FileName, RefusedNames};
pub use object::{Entries, Object, Position, Remembered, Special};
pub use open::OpenOptions;
pub use rpc_net::{CongestionControl, TcpOptions};

pub use options::{AttributeTimeouts, LookupCache, Options, ProgramPorts, Version, Waits, WriteDelegations};
pub use tap::{Cost, Request, RequestStats, Snapshot, Tap};
pub use transport_security::{TlsOptions, TransportSecurity};
pub use tree::{Descend, Location, Progress, TreeEntry, TreeFailure, TreeOptions, TreeProgress, TreeReport};
pub use url::{DEFAULT_PORT, Url, UrlError};
pub use watcher::Watcher;
pub use xattr::XattrMode;

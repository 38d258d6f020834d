//! An NFS client: NFSv3 (with MOUNT and NLM) and NFSv4.1 behind one API, in the caller's process.
//!
//! It keeps what the protocols promise to hold: a file that is opened shows what was written before it was closed
//! elsewhere, and a lock shows what was written before it was given up. Within that it asks as little as it can:
//! attributes, names and data are remembered, and under a delegation nothing is asked at all.
//!
//! ```no_run
//! # async fn example() -> client::Result<()> {
//! use client::{Client, LockKind, OpenOptions, Url};
//!
//! let url: Url = "nfs://server:2049/export?version=4.1&delegations=1".parse().expect("an address");
//! let client = Client::connect(&url, url.options()).await?;   // or any other `Options`, e.g. per version
//!
//! client.create_dir("/results", 0o755).await?;
//! let file = client.open("/results/log", OpenOptions::new().write(true).create(true).truncate(true)).await?;
//! file.write_at(0, "data".into()).await?;                     // may return before the server has it
//! file.close().await?;                                        // tells what went wrong with any of it
//!
//! let before = client.tap().snapshot();
//! let file = client.open("/results/log", OpenOptions::new().read(true)).await?;
//! file.lock(.., LockKind::Shared).await?;                     // waits; `try_lock` does not
//! let data = file.read_at(0, 4096).await?;                    // shorter only at the end of the file
//! file.unlock(..).await?;
//! file.close().await?;
//! let cost = client.tap().snapshot().since(&before);          // per request: counts, bytes, times
//! assert_eq!(&data[..], b"data");
//! println!("{} requests, {} bytes", cost.requests_total(), cost.bytes_received());
//!
//! let mut entries = client.read_dir("/results").await?;
//! while let Some(entry) = entries.next_entry().await? {
//!     println!("{}", String::from_utf8_lossy(&entry.name));
//! }
//! client.remove_file("/results/log").await?;
//! client.shutdown().await                                     // gives everything back to the server
//! # }
//! ```
//!
//! Paths are bytes (`impl AsRef<[u8]>`), relative to the path of the address; symbolic links are followed by the
//! client. [`Client`], [`Directory`] and [`File`] are cheap handles; clones share everything. All operations
//! may run concurrently. A future may be dropped at any point; what it asked for may then still happen.

#![forbid(unsafe_code)]

mod attributes;
mod batch;
pub mod blocking;
mod cache;
mod client;
mod copy;
mod directory;
mod error;
mod fetch;
mod file;
mod habit;
mod listing;
mod lock;
mod locks;
mod namespace;
mod nfs3;
mod nfs4;
mod node;
mod open;
mod options;
mod permission;
mod protocol;
mod read;
mod readahead;
mod setting;
mod shared;
mod slots;
mod sparse;
pub mod tap;
mod tree;
mod url;
mod walk;
mod write;
mod writeback;
mod xattr;

pub use attributes::{Access, Attributes, DirEntry, FileType, FsStat, SetAttributes, SetTime, Time};
pub use batch::{Batch, Existing, Output};
pub use client::Client;
pub use directory::Directory;
pub use error::{Error, Result, Status};
pub use file::File;
pub use listing::ReadDir;
pub use lock::{Conflict, LockKind};
pub use open::OpenOptions;
pub use options::{AttributeTimeouts, LookupCache, Options, Version};
pub use tap::{Cost, Request, RequestStats, Snapshot, Tap};
pub use tree::{Descend, Location, Progress, TreeEntry, TreeFailure, TreeOptions, TreeProgress, TreeReport};
pub use url::{DEFAULT_PORT, Url, UrlError};
pub use xattr::XattrMode;

//! Serves a back end of its own: a layer over memory that refuses to remove names.
//!
//! `cargo run -p primetime-server-shell --example keep_names`, and mount the printed address.

#![allow(clippy::print_stdout)]

use server_shell::Server;
use vfs::memory::{Memory, MemoryOptions, Node};
use vfs::{Error, Layer, Name, RemoveKind, Request, Result};

/// The back end.
pub struct KeepNames(Memory);

impl KeepNames {
    /// An empty directory that all users may write in.
    pub fn new() -> Result<Self> {
        Memory::new(MemoryOptions { root_mode: 0o1777, ..MemoryOptions::default() }).map(Self)
    }
}

impl Layer for KeepNames {
    type Inner = Memory;

    fn inner(&self) -> &Memory {
        &self.0
    }

    async fn remove(&self, _: Request<'_>, _: &Node, _: Name<'_>, _: RemoveKind) -> Result<()> {
        Err(Error::NotPermitted)
    }
}

#[tokio::main]
async fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let mut server = Server::builder().export("/", KeepNames::new()?).serve().await?;
    println!("nfs://{}/", server.address());
    Ok(server.ended().await?)
}

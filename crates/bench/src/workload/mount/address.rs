//! Where the tree is that clients work on: on a server, or in a directory of this machine.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use client::{ProgramPorts, Url};

/// A server and one of its directories, or a directory of this machine.
#[derive(Debug, Clone)]
pub(crate) enum Address {
    /// Reached over NFS.
    Server(Url),
    /// Reached without it.
    Directory(PathBuf),
}

impl Address {
    /// Reads `nfs://host[:port]/path?…`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        text.parse().map(Self::Server).map_err(|error: client::UrlError| error.to_string())
    }

    /// The directory, when it is one of this machine.
    pub(crate) fn directory(&self) -> Option<&Path> {
        match self {
            Self::Server(_) => None,
            Self::Directory(directory) => Some(directory),
        }
    }

    /// The server's socket.
    pub(crate) async fn resolve(&self) -> Result<SocketAddr, String> {
        match self {
            Self::Server(url) => {
                let found = url.resolve().await;
                found.map_err(|error| format!("cannot find the server {}: {error}", url.host()))
            }
            Self::Directory(directory) => Err(format!("{} is on no server", directory.display())),
        }
    }

    /// The same directory by way of a relay, where the programs beside NFS are at `ports`; a directory of this machine has no
    /// other way.
    pub(crate) fn through(&self, relay: SocketAddr, ports: ProgramPorts) -> Result<Self, String> {
        let Self::Server(url) = self else { return Ok(self.clone()) };
        let mut url = url.through(relay);
        for (name, port) in [("mountport", ports.mount), ("lockport", ports.lock)] {
            if let Some(port) = port {
                url = url.with_option(&format!("{name}={port}")).map_err(|error| error.to_string())?;
            }
        }
        Ok(Self::Server(url))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server(url) => url.fmt(formatter),
            Self::Directory(directory) => directory.display().fmt(formatter),
        }
    }
}

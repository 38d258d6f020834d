//! Where the tree is that clients work on: on a server, or in a directory of this machine.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use client::{ProgramPorts, Url};

/// A server and one of its directories, or a directory of this machine.
#[derive(Debug, Clone)]
pub(crate) enum Address {
    /// Reached over NFS.
    Server {
        /// Where it is.
        url: Url,
        /// Its path over NFSv3, where the server has another one there.
        path_of_v3: Option<String>,
    },
    /// Reached without it.
    Directory(PathBuf),
}

impl Address {
    /// Reads `nfs://host[:port]/path?…`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let url: Url = text.parse().map_err(|error: client::UrlError| error.to_string())?;
        Ok(Self::Server { url, path_of_v3: None })
    }

    /// The same directory, which has another path over NFSv3.
    pub(crate) fn with_path_of_v3(self, path: Option<&str>) -> Self {
        match self {
            Self::Server { url, .. } => Self::Server { url, path_of_v3: path.map(str::to_owned) },
            Self::Directory(_) => self,
        }
    }

    /// Its path over NFSv3, where that is another one.
    pub(crate) fn path_of_v3(&self) -> Option<&str> {
        match self {
            Self::Server { path_of_v3, .. } => path_of_v3.as_deref(),
            Self::Directory(_) => None,
        }
    }

    /// Where a version reaches it; none for a directory of this machine.
    pub(crate) fn url(&self, version: &str) -> Option<Url> {
        let Self::Server { url, path_of_v3 } = self else { return None };
        let path = path_of_v3.as_ref().filter(|_| version == "3");
        Some(path.map_or_else(|| url.clone(), |path| url.with_path(path.as_bytes())))
    }

    /// The directory, when it is one of this machine.
    pub(crate) fn directory(&self) -> Option<&Path> {
        match self {
            Self::Server { .. } => None,
            Self::Directory(directory) => Some(directory),
        }
    }

    /// The server's socket.
    pub(crate) async fn resolve(&self) -> Result<SocketAddr, String> {
        match self {
            Self::Server { url, .. } => {
                let found = url.resolve().await;
                found.map_err(|error| format!("cannot find the server {}: {error}", url.host()))
            }
            Self::Directory(directory) => Err(format!("{} is on no server", directory.display())),
        }
    }

    /// The same directory by way of a relay, where the programs beside NFS are at `ports`; a directory of
    /// this machine has no other way.
    pub(crate) fn through(&self, relay: SocketAddr, ports: ProgramPorts) -> Result<Self, String> {
        let Self::Server { url, path_of_v3 } = self else { return Ok(self.clone()) };
        let mut url = url.through(relay);
        for (name, port) in [("mountport", ports.mount), ("lockport", ports.lock)] {
            if let Some(port) = port {
                url = url.with_option(&format!("{name}={port}")).map_err(|error| error.to_string())?;
            }
        }
        Ok(Self::Server { url, path_of_v3: path_of_v3.clone() })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server { url, .. } => url.fmt(formatter),
            Self::Directory(directory) => directory.display().fmt(formatter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nfsv3_may_have_a_path_of_its_own() {
        let address = Address::parse("nfs://server/pseudo?uid=7").unwrap();
        let path =
            |address: &Address, version| String::from_utf8(address.url(version).unwrap().path().to_vec());
        assert_eq!(path(&address, "3").unwrap(), "/pseudo");
        let address = address.with_path_of_v3(Some("/srv/data"));
        assert_eq!(path(&address, "3").unwrap(), "/srv/data");
        assert_eq!(path(&address, "4.1").unwrap(), "/pseudo");
        let relayed = address.through("127.0.0.1:7".parse().unwrap(), ProgramPorts::default()).unwrap();
        assert_eq!(path(&relayed, "3").unwrap(), "/srv/data");
        assert!(Address::Directory("/srv".into()).url("3").is_none());
    }
}

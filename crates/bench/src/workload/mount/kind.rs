//! Which client carries the workloads to the server.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::results::LOCAL;

/// A kind of client.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ClientKind {
    /// The client library, called by the workloads.
    #[default]
    Builtin,
    /// The same behind a mount of this process, in which threads work with system calls.
    Fuse,
    /// This kernel's client, mounted by mount.nfs.
    Kernel,
    /// No client: a directory of this machine, a temporary one when none is named.
    Path(Option<PathBuf>),
}

/// What the client library speaks.
const OF_LIBRARY: &[&str] = &["3", "4.1", "4.2"];
/// What Linux speaks.
const OF_LINUX: &[&str] = &["3", "4.0", "4.1", "4.2"];

impl ClientKind {
    /// Its name in results.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Builtin => "builtin",
            Self::Fuse => "fuse",
            Self::Kernel => "kernel",
            Self::Path(_) => "path",
        }
    }

    /// The versions that can be measured with it.
    #[must_use]
    pub fn versions(&self) -> &'static [&'static str] {
        match self {
            Self::Builtin | Self::Fuse => OF_LIBRARY,
            Self::Kernel => OF_LINUX,
            Self::Path(_) => &[LOCAL],
        }
    }

    /// Whether its clients are mounts, which stay until they are taken away.
    pub(crate) fn is_mounted(&self) -> bool {
        matches!(self, Self::Fuse | Self::Kernel)
    }

    /// Whether it has operations on whole trees, rather than calls only.
    #[must_use]
    pub fn has_batches(&self) -> bool {
        *self == Self::Builtin
    }
}

impl fmt::Display for ClientKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(Some(directory)) => write!(formatter, "path={}", directory.display()),
            other => formatter.write_str(other.as_str()),
        }
    }
}

impl FromStr for ClientKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            None if text == "builtin" => Ok(Self::Builtin),
            None if text == "fuse" => Ok(Self::Fuse),
            None if text == "kernel" => Ok(Self::Kernel),
            None if text == "path" => Ok(Self::Path(None)),
            Some(("path", directory)) if !directory.is_empty() => Ok(Self::Path(Some(directory.into()))),
            _ => Err("use builtin, fuse, kernel, path or path=DIR".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_is_written_as_it_is_read() {
        for text in ["builtin", "fuse", "kernel", "path", "path=/srv/a=b"] {
            assert_eq!(text.parse::<ClientKind>().unwrap().to_string(), text);
        }
        for text in ["", "path=", "fuse=/mnt", "nfs"] {
            assert!(text.parse::<ClientKind>().unwrap_err().contains("path=DIR"), "{text}");
        }
    }
}

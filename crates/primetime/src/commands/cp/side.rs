//! The source or the target of a copy, here or at a server: the few things that are asked of both.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, symlink};
use std::path::PathBuf;

use bytes::Bytes;
use client::{Attributes, FileType, SetAttributes, SetTime, Time};
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps};

use crate::failure::Failure;
use crate::remote::{CopyEnd, Session, Spot};

/// A place that was reached.
#[derive(Debug, Clone)]
pub(super) enum Side {
    Local(PathBuf),
    Remote(Spot),
}

/// What an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Directory,
    Symlink,
    /// A pipe or a character device, which is read to its end.
    Stream,
    Other,
}

/// What is known of an object.
#[derive(Debug, Clone, Copy)]
pub(super) struct ObjectSummary {
    pub(super) kind: Kind,
    pub(super) mode: u32,
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) size: u64,
    /// The space that it takes, in bytes.
    pub(super) used: u64,
    pub(super) accessed: Time,
    pub(super) modified: Time,
    /// Tells it from all others on its server.
    pub(super) identity: (u64, u64),
}

/// Why something failed, here or at a server.
#[derive(Debug)]
pub(super) struct Cause {
    pub(super) kind: ErrorKind,
    text: String,
}

impl Cause {
    /// In one sentence.
    pub(super) fn sentence(&self, doing: &str, side: &Side) -> String {
        crate::remote::sentence(doing, side, self.kind, &self.text)
    }
}

impl From<io::Error> for Cause {
    fn from(error: io::Error) -> Self {
        Self { kind: error.kind(), text: error.to_string() }
    }
}

impl From<client::Error> for Cause {
    fn from(error: client::Error) -> Self {
        Self { kind: error.kind(), text: error.to_string() }
    }
}

impl Side {
    pub(super) async fn reach(session: &Session, place: &CopyEnd) -> Result<Self, Failure> {
        Ok(match place {
            CopyEnd::Local(path) => Self::Local(path.clone()),
            CopyEnd::Remote(url) => Self::Remote(session.spot(url).await?),
        })
    }

    pub(super) fn place(&self) -> CopyEnd {
        match self {
            Self::Local(path) => CopyEnd::Local(path.clone()),
            Self::Remote(spot) => CopyEnd::Remote(spot.url.clone()),
        }
    }

    pub(super) fn below(&self, name: &[u8]) -> Self {
        match self {
            Self::Local(path) => Self::Local(path.join(OsStr::from_bytes(name))),
            Self::Remote(spot) => Self::Remote(spot.below(name)),
        }
    }

    /// What is there; of a symbolic link at the end itself, or what it leads to.
    pub(super) async fn look(&self, follow: bool) -> Result<ObjectSummary, Cause> {
        Ok(match (self, follow) {
            (Self::Local(path), true) => ObjectSummary::from(&fs::metadata(path)?),
            (Self::Local(path), false) => ObjectSummary::from(&fs::symlink_metadata(path)?),
            (Self::Remote(spot), true) => ObjectSummary::from(&spot.client.metadata(&spot.path).await?),
            (Self::Remote(spot), false) => {
                ObjectSummary::from(&spot.client.symlink_metadata(&spot.path).await?)
            }
        })
    }

    pub(super) async fn read_link(&self) -> Result<Bytes, Cause> {
        Ok(match self {
            Self::Local(path) => fs::read_link(path)?.into_os_string().into_vec().into(),
            Self::Remote(spot) => spot.client.read_link(&spot.path).await?,
        })
    }

    pub(super) async fn symlink(&self, leads_to: &[u8]) -> Result<(), Cause> {
        match self {
            Self::Local(path) => symlink(OsStr::from_bytes(leads_to), path)?,
            Self::Remote(spot) => spot.client.symlink(leads_to, &spot.path).await?,
        }
        Ok(())
    }

    pub(super) async fn remove_file(&self) -> Result<(), Cause> {
        match self {
            Self::Local(path) => fs::remove_file(path)?,
            Self::Remote(spot) => spot.client.remove_file(&spot.path).await?,
        }
        Ok(())
    }

    pub(super) async fn create_dir(&self, mode: u32) -> Result<(), Cause> {
        match self {
            Self::Local(path) => fs::DirBuilder::new().mode(mode).create(path)?,
            Self::Remote(spot) => spot.client.create_dir(&spot.path, mode).await?,
        }
        Ok(())
    }

    pub(super) async fn set_mode(&self, mode: u32) -> Result<(), Cause> {
        use std::os::unix::fs::PermissionsExt;
        match self {
            Self::Local(path) => fs::set_permissions(path, fs::Permissions::from_mode(mode))?,
            Self::Remote(spot) => {
                let set = SetAttributes { mode: Some(mode), ..SetAttributes::default() };
                spot.client.set_metadata(&spot.path, set).await?;
            }
        }
        Ok(())
    }

    /// Gives it the permissions and times of something else, and its owner where this user is root.
    pub(super) async fn dress(&self, like: &ObjectSummary) -> Result<(), Cause> {
        match self {
            Self::Local(path) => dress_here(path, like)?,
            Self::Remote(spot) => {
                if is_root() {
                    let owner =
                        SetAttributes { uid: Some(like.uid), gid: Some(like.gid), ..Default::default() };
                    spot.client.set_metadata(&spot.path, owner).await?;
                }
                spot.client.set_metadata(&spot.path, like.dress()).await?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.place().fmt(f)
    }
}

/// True when owners can be kept.
pub(super) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The unit of `st_blocks`, in bytes.
const SECTOR_BYTES: u64 = 512;

fn dress_here(path: &PathBuf, like: &ObjectSummary) -> io::Result<()> {
    use std::os::unix::fs::{PermissionsExt, chown};
    if is_root() {
        chown(path, Some(like.uid), Some(like.gid))?;
    }
    fs::set_permissions(path, fs::Permissions::from_mode(like.mode))?;
    Ok(rustix::fs::utimensat(CWD, path, &like.timestamps(), AtFlags::empty())?)
}

impl ObjectSummary {
    /// Sets permissions, times and, as root, the owner of an open local file. Another object that has taken
    /// over its name meanwhile is not changed.
    pub(super) fn dress_file(&self, file: &fs::File) -> io::Result<()> {
        use std::os::unix::fs::{PermissionsExt, fchown};
        if is_root() {
            fchown(file, Some(self.uid), Some(self.gid))?;
        }
        file.set_permissions(fs::Permissions::from_mode(self.mode))?;
        Ok(rustix::fs::futimens(file, &self.timestamps())?)
    }

    fn timestamps(&self) -> Timestamps {
        let time = |time: Time| Timespec { tv_sec: time.seconds, tv_nsec: time.nanoseconds.into() };
        Timestamps { last_access: time(self.accessed), last_modification: time(self.modified) }
    }

    /// Its permissions and times, to be set.
    pub(super) fn dress(&self) -> SetAttributes {
        SetAttributes {
            mode: Some(self.mode),
            accessed: Some(SetTime::To(self.accessed)),
            modified: Some(SetTime::To(self.modified)),
            ..SetAttributes::default()
        }
    }
}

impl From<&fs::Metadata> for ObjectSummary {
    fn from(of: &fs::Metadata) -> Self {
        let time =
            |seconds, nanoseconds| Time { seconds, nanoseconds: u32::try_from(nanoseconds).unwrap_or(0) };
        let kind = of.file_type();
        Self {
            kind: match () {
                () if kind.is_file() => Kind::File,
                () if kind.is_dir() => Kind::Directory,
                () if kind.is_symlink() => Kind::Symlink,
                () if kind.is_fifo() || kind.is_char_device() => Kind::Stream,
                () => Kind::Other,
            },
            mode: of.mode() & 0o7777,
            uid: of.uid(),
            gid: of.gid(),
            size: of.size(),
            used: of.blocks() * SECTOR_BYTES,
            accessed: time(of.atime(), of.atime_nsec()),
            modified: time(of.mtime(), of.mtime_nsec()),
            identity: (of.dev(), of.ino()),
        }
    }
}

impl From<&Attributes> for ObjectSummary {
    fn from(of: &Attributes) -> Self {
        Self {
            kind: match of.kind {
                FileType::Regular => Kind::File,
                FileType::Directory => Kind::Directory,
                FileType::Symlink => Kind::Symlink,
                _ => Kind::Other,
            },
            mode: of.mode & 0o7777,
            uid: of.uid,
            gid: of.gid,
            size: of.size,
            used: of.used,
            accessed: of.accessed,
            modified: of.modified,
            identity: (of.fsid, of.fileid),
        }
    }
}

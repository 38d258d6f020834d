//! What is known of objects, the same for all versions of NFS.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::name::FileName;

/// The largest part of a second. More is invalid (RFC 8881 §3.3.1), and means something else to utimensat(2).
pub(crate) const NANOSECONDS_MAX: u32 = 999_999_999;

/// Seconds and nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time {
    /// Seconds; negative before 1970.
    pub seconds: i64,
    /// Nanoseconds, below 10⁹.
    pub nanoseconds: u32,
}

impl Time {
    /// As the standard library's time, or `None` if that cannot hold it.
    pub fn to_system_time(self) -> Option<SystemTime> {
        let seconds = Duration::from_secs(self.seconds.unsigned_abs());
        let base = match self.seconds < 0 {
            true => UNIX_EPOCH.checked_sub(seconds)?,
            false => UNIX_EPOCH.checked_add(seconds)?,
        };
        base.checked_add(Duration::from_nanos(u64::from(self.nanoseconds)))
    }
}

/// The type of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileType {
    /// Regular file.
    Regular,
    /// Directory.
    Directory,
    /// Symbolic link.
    Symlink,
    /// Block device.
    Block,
    /// Character device.
    Character,
    /// Named pipe.
    Fifo,
    /// Socket.
    Socket,
}

/// What is known of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    /// Type.
    pub kind: FileType,
    /// Permission bits with set-id and sticky bits.
    pub mode: u32,
    /// Number of hard links.
    pub links: u32,
    /// Owner; 65534 when the server gives a name that is no number.
    pub uid: u32,
    /// Group; as `uid`.
    pub gid: u32,
    /// Length in bytes.
    pub size: u64,
    /// Space in use, in bytes.
    pub used: u64,
    /// Device numbers, major and minor, for devices.
    pub device: (u32, u32),
    /// Identifies the file system.
    pub fsid: u64,
    /// Inode number.
    pub fileid: u64,
    /// Last access.
    pub accessed: Time,
    /// Last change of the data.
    pub modified: Time,
    /// Last change of data or attributes.
    pub changed: Time,
    /// The change attribute (NFSv4).
    pub change: Option<u64>,
}

impl Attributes {
    /// True for directories.
    pub fn is_directory(&self) -> bool {
        self.kind == FileType::Directory
    }

    /// True when it is by times that states are told apart: by those of NFSv3, or by a change attribute that
    /// is made of them (RFC 8881 §5.8.1.4 allows it), as Linux and NFS-Ganesha have it where the file system
    /// counts nothing.
    pub(crate) fn is_told_by_times(&self) -> bool {
        let Time { seconds, nanoseconds } = self.changed;
        let (seconds, nanoseconds) = (seconds.cast_unsigned(), u64::from(nanoseconds));
        self.change.is_none_or(|change| {
            change == seconds.wrapping_mul(1 << 30).wrapping_add(nanoseconds)
                || change == seconds.wrapping_mul(1_000_000_000).wrapping_add(nanoseconds)
        })
    }

    /// What differs whenever the data may.
    pub(crate) fn revision(&self) -> Revision {
        match self.change {
            Some(change) => Revision::Change(change),
            None => Revision::Times { modified: self.modified, changed: self.changed, size: self.size },
        }
    }
}

#[cfg(test)]
impl Attributes {
    /// Those of an object without anything.
    pub(crate) fn empty(kind: FileType) -> Self {
        Self {
            kind,
            mode: 0o644,
            links: 1,
            uid: 0,
            gid: 0,
            size: 0,
            used: 0,
            device: (0, 0),
            fsid: 1,
            fileid: 1,
            accessed: Time::default(),
            modified: Time::default(),
            changed: Time::default(),
            change: None,
        }
    }
}

/// Tells states of an object's content apart: equal means that nothing changed in between, unless it is by
/// times ([`crate::cache::ServerClock`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Revision {
    /// The change attribute (RFC 8881 §5.8.1.4).
    Change(u64),
    /// The times and size of NFSv3, as `wcc_attr` has them.
    Times { modified: Time, changed: Time, size: u64 },
}

/// How to set a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetTime {
    /// To the server's clock.
    Now,
    /// To a given time.
    To(Time),
}

/// The attributes to set; `None` leaves one as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SetAttributes {
    /// Permission bits.
    pub mode: Option<u32>,
    /// Owner.
    pub uid: Option<u32>,
    /// Group.
    pub gid: Option<u32>,
    /// Length in bytes.
    pub size: Option<u64>,
    /// Last access.
    pub accessed: Option<SetTime>,
    /// Last change of the data.
    pub modified: Option<SetTime>,
}

/// A name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    /// The name.
    pub name: FileName,
    /// Inode number.
    pub fileid: u64,
    /// What the name stands for, if the server said.
    pub attributes: Option<Attributes>,
}

/// Space of a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FsStat {
    /// Size in bytes.
    pub total_bytes: u64,
    /// Free bytes.
    pub free_bytes: u64,
    /// Bytes that the caller may use.
    pub available_bytes: u64,
    /// Number of file slots.
    pub total_files: u64,
    /// Free file slots.
    pub free_files: u64,
}

/// A set of permissions, with the bits of ACCESS, which all versions share (RFC 1813 §3.3.4, RFC 8881 §18.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Access(pub u32);

impl Access {
    /// Read data, or list a directory.
    pub const READ: Self = Self(0x01);
    /// Look up a name in a directory.
    pub const LOOKUP: Self = Self(0x02);
    /// Change existing data or entries.
    pub const MODIFY: Self = Self(0x04);
    /// Write new data or add entries.
    pub const EXTEND: Self = Self(0x08);
    /// Delete an entry of a directory.
    pub const DELETE: Self = Self(0x10);
    /// Run a file.
    pub const EXECUTE: Self = Self(0x20);

    /// True when all of `other` is in it.
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl std::ops::BitOr for Access {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_attribute_may_be_the_time_of_the_last_change() {
        let changed = Time { seconds: 1_700_000_000, nanoseconds: 123_456_789 };
        let file = |change| Attributes { changed, change, ..Attributes::empty(FileType::Regular) };
        assert!(file(None).is_told_by_times());
        assert!(file(Some((1_700_000_000 << 30) + 123_456_789)).is_told_by_times());
        assert!(file(Some(1_700_000_000_123_456_789)).is_told_by_times());
        assert!(!file(Some(1_700_000_000_123_456_790)).is_told_by_times());
        assert!(!file(Some(7)).is_told_by_times());
    }
}

//! Attributes as both NFS versions need them.

/// Seconds and nanoseconds since 1970, UTC. `nanoseconds` is below 10⁹.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Timestamp {
    /// Seconds; negative before 1970.
    pub seconds: i64,
    /// Nanoseconds, below 10⁹.
    pub nanoseconds: u32,
}

/// The type of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// Regular file.
    Regular,
    /// Directory.
    Directory,
    /// Block device.
    Block,
    /// Character device.
    Character,
    /// Symbolic link.
    Symlink,
    /// Socket.
    Socket,
    /// Named pipe.
    Fifo,
}

/// The number of a device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeviceNumber {
    /// The driver.
    pub major: u32,
    /// The device among those of its driver.
    pub minor: u32,
}

/// All attributes of an object at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    /// Type.
    pub kind: FileKind,
    /// Permission bits with set-id and sticky bits (the low 12 bits).
    pub mode: u32,
    /// Number of hard links.
    pub links: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Length in bytes.
    pub size: u64,
    /// Space in use, in bytes.
    pub used: u64,
    /// The number of a device file; zeros for other types.
    pub device: DeviceNumber,
    /// Identifies the file system; stable over restarts. With 0 the server chooses a number for an export
    /// ([`Sealed`](crate::Sealed)).
    pub fsid: u64,
    /// Inode number.
    pub fileid: u64,
    /// Last access.
    pub accessed: Timestamp,
    /// Last change of the data.
    pub modified: Timestamp,
    /// Last change of data or attributes.
    pub changed: Timestamp,
    /// Creation, where the file system records it.
    pub created: Option<Timestamp>,
    /// Differs whenever data or attributes have changed (RFC 8881 §5.8.1.4).
    pub change: u64,
}

impl Attributes {
    /// An object of the superuser with one link, no bytes, and times and change attribute of 0.
    pub fn new(kind: FileKind, mode: u32, fileid: u64) -> Self {
        Self {
            kind,
            mode,
            links: 1,
            uid: 0,
            gid: 0,
            size: 0,
            used: 0,
            device: DeviceNumber::default(),
            fsid: 0,
            fileid,
            accessed: Timestamp::default(),
            modified: Timestamp::default(),
            changed: Timestamp::default(),
            created: None,
            change: 0,
        }
    }
}

/// How to set a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetTime {
    /// To the server's clock.
    Now,
    /// To the given time.
    To(Timestamp),
}

/// The attributes to set; `None` leaves one as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SetAttributes {
    /// Permission bits (the low 12 bits).
    pub mode: Option<u32>,
    /// The bits of `mode` that count, the others stay as they are; all of them when absent.
    pub mode_mask: Option<u32>,
    /// Owner.
    pub uid: Option<u32>,
    /// Group.
    pub gid: Option<u32>,
    /// Length in bytes: truncates or extends with zeros.
    pub size: Option<u64>,
    /// Last access.
    pub accessed: Option<SetTime>,
    /// Last change of the data.
    pub modified: Option<SetTime>,
}

impl SetAttributes {
    /// What of it can be set on an object of this kind. A symbolic link has no mode to set: Linux fails
    /// (`EOPNOTSUPP`), and its NFS server ignores the mode, as clients set modes before they remove a tree
    /// or when they unpack one.
    #[must_use]
    pub fn applicable(&self, kind: FileKind) -> Self {
        match kind {
            FileKind::Symlink => Self { mode: None, mode_mask: None, ..*self },
            _ => *self,
        }
    }

    /// The mode to set where `now` is the present one.
    pub(crate) fn mode_over(&self, now: u32) -> Option<u32> {
        let mask = self.mode_mask.unwrap_or(u32::MAX);
        self.mode.map(|mode| (mode & mask) | (now & !mask))
    }
}

/// Permissions asked for and granted, as a set of bits with ACCESS's values (RFC 1813 §3.3.4, RFC 8881
/// §18.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Access(pub u32);

impl Access {
    /// Read data or list a directory.
    pub const READ: Access = Access(0x01);
    /// Look up a name in a directory.
    pub const LOOKUP: Access = Access(0x02);
    /// Change existing data or entries.
    pub const MODIFY: Access = Access(0x04);
    /// Write new data or add entries.
    pub const EXTEND: Access = Access(0x08);
    /// Delete an entry of a directory.
    pub const DELETE: Access = Access(0x10);
    /// Run a file.
    pub const EXECUTE: Access = Access(0x20);
    /// All of them.
    pub const ALL: Access = Access(0x3f);

    /// True when every bit of `other` is set.
    pub fn contains(self, other: Access) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Space and inodes of the file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StatFs {
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
    /// File slots that the caller may use.
    pub available_files: u64,
}

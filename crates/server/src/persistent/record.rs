//! The records, in XDR. Objects are named by their handles, of which each has one, for ever.

use bytes::Bytes;
use proto::nfs4::{COMPONENT_BYTES_MAX, XATTR_BYTES_MAX};
use vfs::{SetAttributes, SetTime};
use xdr::Xdr;

/// The longest reply, and more than any other part.
const BYTES_MAX: u32 = 2 << 20;
const HANDLE_BYTES_MAX: u32 = vfs::Handle::MAX as u32;
/// More modifying operations than a COMPOUND may have.
const INTENTS_MAX: u32 = 4096;

/// A session.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub(crate) struct SessionRecord {
    /// The name of its client, as [`state::record_name`] has it.
    #[xdr(max = BYTES_MAX)]
    pub(crate) client: Bytes,
    #[xdr(max = BYTES_MAX)]
    pub(crate) principal: Bytes,
    pub(crate) highest_slot: u32,
}

/// The last modifying request in a slot.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub(crate) struct SlotRecord {
    pub(crate) sequence: u32,
    pub(crate) digest: u64,
    pub(crate) kept: SlotContents,
}

#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub(crate) enum SlotContents {
    /// What it is about to do: all but the last have been done.
    #[xdr(case = 0)]
    Intents(#[xdr(max = INTENTS_MAX)] Vec<Intent>),
    /// It is done.
    #[xdr(case = 1)]
    Reply(#[xdr(max = BYTES_MAX)] Bytes),
    /// It was done, as a server has found that started; what, as [`state::CachedReply::Done`] has it.
    #[xdr(case = 2)]
    Done(#[xdr(max = BYTES_MAX)] Bytes),
    /// It is an OPEN that has made a file and was not answered, as a server has found that started.
    #[xdr(case = 3)]
    Made(Named),
    /// It was not done, or that cannot be told, or its client has gone on.
    #[xdr(case = 4)]
    Nothing,
}

/// One operation's.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub(crate) struct Intent {
    /// Which operation of the COMPOUND.
    pub(crate) operation: u32,
    pub(crate) change: Change,
}

/// A change of the file system, with what tells whether it has happened. None is noted that must fail.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub(crate) enum Change {
    /// The name is the object's, until it is removed.
    #[xdr(case = 0)]
    Remove(Named),
    /// The old name is the object's, and the new one is not, until they change roles.
    #[xdr(case = 1)]
    Rename(Moved),
    /// The name is nobody's, until it is the object's.
    #[xdr(case = 2)]
    Link(Named),
    /// The name is nobody's (CREATE).
    #[xdr(case = 3)]
    Create(Entry),
    /// The name is nobody's (OPEN).
    #[xdr(case = 4)]
    Open(Entry),
    #[xdr(case = 5)]
    SetAttributes(Setting),
    /// The attribute has another value, or none, until it has this one.
    #[xdr(case = 6)]
    SetXattr(XattrSetting),
    /// There is such an attribute, until it is removed.
    #[xdr(case = 7)]
    RemoveXattr(Xattr),
}

/// An extended attribute of an object.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub(crate) struct Xattr {
    #[xdr(max = HANDLE_BYTES_MAX)]
    pub(crate) object: Bytes,
    #[xdr(max = COMPONENT_BYTES_MAX)]
    pub(crate) name: Bytes,
}

/// An extended attribute with its new value.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub(crate) struct XattrSetting {
    pub(crate) xattr: Xattr,
    #[xdr(max = XATTR_BYTES_MAX)]
    pub(crate) value: Bytes,
}

/// A name in a directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Xdr)]
pub(crate) struct Entry {
    #[xdr(max = HANDLE_BYTES_MAX)]
    pub(crate) directory: Bytes,
    #[xdr(max = COMPONENT_BYTES_MAX)]
    pub(crate) name: Bytes,
}

#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub(crate) struct Named {
    pub(crate) at: Entry,
    #[xdr(max = HANDLE_BYTES_MAX)]
    pub(crate) object: Bytes,
}

#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub(crate) struct Moved {
    pub(crate) from: Entry,
    pub(crate) to: Entry,
    #[xdr(max = HANDLE_BYTES_MAX)]
    pub(crate) object: Bytes,
}

/// New attributes of an object. Times are left out, which the server's clock may give.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub(crate) struct Setting {
    #[xdr(max = HANDLE_BYTES_MAX)]
    pub(crate) object: Bytes,
    /// The change attribute before.
    pub(crate) before: u64,
    pub(crate) size: Option<u64>,
    pub(crate) mode: Option<u32>,
    pub(crate) mode_mask: u32,
    pub(crate) uid: Option<u32>,
    pub(crate) gid: Option<u32>,
    pub(crate) modified_seconds: Option<i64>,
}

impl Setting {
    pub(crate) fn new(object: Bytes, before: u64, set: &SetAttributes) -> Self {
        let modified_seconds = match set.modified {
            Some(SetTime::To(time)) => Some(time.seconds),
            Some(SetTime::Now) | None => None,
        };
        Self {
            object,
            before,
            size: set.size,
            mode: set.mode,
            mode_mask: set.mode_mask.unwrap_or(u32::MAX),
            uid: set.uid,
            gid: set.gid,
            modified_seconds,
        }
    }

    /// True when the attributes are as they were to become.
    pub(crate) fn is_visible(&self, now: &vfs::Attributes) -> bool {
        self.size.is_none_or(|size| size == now.size)
            && self.mode.is_none_or(|mode| (mode ^ now.mode) & self.mode_mask & 0o7777 == 0)
            && self.uid.is_none_or(|uid| uid == now.uid)
            && self.gid.is_none_or(|gid| gid == now.gid)
            && self.modified_seconds.is_none_or(|seconds| seconds == now.modified.seconds)
    }
}

impl Change {
    /// The names that it changes: two changes under way of one name cannot be told apart afterwards.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        let (first, second) = match self {
            Self::Remove(named) | Self::Link(named) => (Some(&named.at), None),
            Self::Rename(moved) => (Some(&moved.from), Some(&moved.to)),
            Self::Create(entry) | Self::Open(entry) => (Some(entry), None),
            Self::SetAttributes(_) | Self::SetXattr(_) | Self::RemoveXattr(_) => (None, None),
        };
        first.into_iter().chain(second)
    }
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let operation = match self {
            Self::Remove(_) => "REMOVE",
            Self::Rename(_) => "RENAME",
            Self::Link(_) => "LINK",
            Self::Create(_) => "CREATE",
            Self::Open(_) => "OPEN",
            Self::SetAttributes(_) => return f.write_str("SETATTR"),
            Self::SetXattr(_) => return f.write_str("SETXATTR"),
            Self::RemoveXattr(_) => return f.write_str("REMOVEXATTR"),
        };
        f.write_str(operation)?;
        self.entries().try_for_each(|entry| write!(f, " {:?}", entry.name.escape_ascii().to_string()))
    }
}

//! Capabilities of a back end. The protocols advertise exactly these, and the conformance suite tests them.

use crate::ChangeKind;

/// Whether a back end has an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Support {
    /// No: the answer is always `NotSupported`.
    #[default]
    Absent,
    /// Seen when it is tried: `NotSupported` is a possible answer.
    Unknown,
    /// Yes.
    Present,
}

impl Support {
    /// True where it is of use to try.
    pub fn may_work(self) -> bool {
        self != Self::Absent
    }
}

/// What a back end can do, for all of its objects and for as long as it lives.
///
/// The default is the read-only back end that has only the methods without a default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// Objects can be made, changed and removed. Otherwise changes fail with `ReadOnly`.
    pub changes: bool,
    /// Objects can have several names.
    pub hard_links: bool,
    /// There are symbolic links.
    pub symlinks: bool,
    /// Pipes, sockets and devices can be made.
    pub special_files: bool,
    /// Files and directories have extended attributes.
    pub xattrs: bool,
    /// [`CreateMode::Exclusive`](crate::CreateMode::Exclusive) keeps its verifier.
    pub exclusive_create: bool,
    /// Holes are found: [`seek`](crate::FileSystem::seek).
    pub holes: Support,
    /// Space is reserved and given back: [`allocate`](crate::FileSystem::allocate) and
    /// [`deallocate`](crate::FileSystem::deallocate).
    pub allocate: Support,
    /// The back end copies ranges itself: [`copy`](crate::FileSystem::copy). Otherwise the server reads and
    /// writes.
    pub copy: Support,
    /// Files share ranges: [`clone_range`](crate::FileSystem::clone_range).
    pub clone: Support,
    /// What the ranges of [`clone_range`](crate::FileSystem::clone_range) must be whole multiples of, in
    /// bytes, but for one that ends with the source. `None` where it is not known.
    pub clone_block_bytes: Option<u32>,
    /// Changes behind the back end are reported: [`watch`](crate::FileSystem::watch).
    pub watch: bool,
    /// A handle is good for as long as its object exists, over restarts too (RFC 8881 §4.2.2).
    pub persistent_handles: bool,
    /// One object has one handle (RFC 8881 §5.8.1.10).
    pub unique_handles: bool,
    /// Names that differ in case alone are different names.
    pub case_sensitive: bool,
    /// Names are listed with the case that they were made with.
    pub case_preserving: bool,
    /// [`Attributes::created`](crate::Attributes::created) is recorded.
    pub records_creation: bool,
    /// How [`Attributes::change`](crate::Attributes::change) evolves.
    pub change: ChangeKind,
}

impl Default for Capabilities {
    fn default() -> Self {
        Self {
            changes: false,
            hard_links: false,
            symlinks: false,
            special_files: false,
            xattrs: false,
            exclusive_create: false,
            holes: Support::Absent,
            allocate: Support::Absent,
            copy: Support::Absent,
            clone: Support::Absent,
            clone_block_bytes: None,
            watch: false,
            persistent_handles: true,
            unique_handles: true,
            case_sensitive: true,
            case_preserving: true,
            records_creation: false,
            change: ChangeKind::Undefined,
        }
    }
}

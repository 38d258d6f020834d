//! The state of one file.

use crate::lock_table::LockTable;
use crate::open_table::OpenTable;
use crate::recallable::GrantTable;
use crate::shares::ShareTable;
use crate::{Now, RetainedFile};

/// The key of a file: its id and generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u64, pub u64);

#[derive(Debug, Default)]
pub(crate) struct FileState {
    pub(crate) opens: OpenTable,
    pub(crate) locks: LockTable,
    pub(crate) shares: ShareTable,
    pub(crate) grants: GrantTable,
    /// The time of the last recall.
    pub(crate) recalled: Option<Now>,
    /// Of a file without a name: dropped with the last open and grant.
    pub(crate) keeper: Option<RetainedFile>,
}

impl FileState {
    pub(crate) fn is_idle(&self) -> bool {
        self.opens.is_empty() && self.locks.is_empty() && self.shares.is_empty() && self.grants.is_empty()
    }
}

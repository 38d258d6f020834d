//! What is remembered of one file.

use crate::delegation_table::DelegationTable;
use crate::lock_table::LockTable;
use crate::open_table::OpenTable;
use crate::shares::ShareTable;
use crate::{Keeper, Now};

/// The key of a file: its id and generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u64, pub u64);

/// The kind of a delegation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DelegationKind {
    /// Others may read.
    Read,
    /// Nobody else has the file open.
    Write,
}

#[derive(Debug, Default)]
pub(crate) struct FileState {
    pub(crate) opens: OpenTable,
    pub(crate) locks: LockTable,
    pub(crate) shares: ShareTable,
    pub(crate) delegations: DelegationTable,
    /// When a delegation was last recalled.
    pub(crate) recalled: Option<Now>,
    /// Of a file without a name: dropped with the last open and delegation.
    pub(crate) keeper: Option<Keeper>,
}

impl FileState {
    pub(crate) fn is_idle(&self) -> bool {
        self.opens.is_empty()
            && self.locks.is_empty()
            && self.shares.is_empty()
            && self.delegations.is_empty()
    }
}

//! What is remembered of one file.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use bytes::Bytes;

use crate::ranges::RangeTable;
use crate::shares::Share;
use crate::{Client, Keeper, Now};

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
    pub(crate) opens: Vec<OpenState>,
    pub(crate) locks: Vec<LockState>,
    pub(crate) ranges: RangeTable,
    pub(crate) shares: Vec<Share>,
    pub(crate) delegations: Vec<Delegation>,
    /// When a delegation was last recalled.
    pub(crate) recalled: Option<Now>,
    /// Of a file without a name: dropped with the last open and delegation.
    pub(crate) keeper: Option<Keeper>,
}

/// An open-owner's opens of the file, as one (RFC 8881 §9.7).
#[derive(Debug)]
pub(crate) struct OpenState {
    pub(crate) other: [u8; 12],
    pub(crate) sequence: u32,
    pub(crate) client: Arc<Client>,
    pub(crate) owner: Bytes,
    pub(crate) access: u32,
    pub(crate) deny: u32,
    /// The pairs of access and denial that were opened with: what a downgrade may go down to (RFC 8881 §18.18.3).
    pub(crate) history: Vec<(u32, u32)>,
}

/// A lock-owner's locks of the file.
#[derive(Debug)]
pub(crate) struct LockState {
    pub(crate) other: [u8; 12],
    pub(crate) sequence: u32,
    pub(crate) client: Arc<Client>,
    pub(crate) owner: Bytes,
    /// The open under which it was made.
    pub(crate) open: [u8; 12],
}

#[derive(Debug)]
pub(crate) struct Delegation {
    pub(crate) other: [u8; 12],
    pub(crate) client: Arc<Client>,
    pub(crate) kind: DelegationKind,
    /// Its holder keeps the times.
    pub(crate) timestamps: bool,
    /// Set when it was recalled.
    pub(crate) recall: Option<Deadline>,
    /// Operations under way that use it.
    pub(crate) uses: Arc<AtomicUsize>,
}

/// When a recalled delegation is revoked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    /// Then, if its holder is not seen to use it until then.
    pub(crate) at: Now,
    /// Then at the latest.
    pub(crate) last: Now,
}

impl FileState {
    pub(crate) fn is_idle(&self) -> bool {
        self.opens.is_empty()
            && self.locks.is_empty()
            && self.ranges.is_empty()
            && self.shares.is_empty()
            && self.delegations.is_empty()
    }
}

//! The uses of a file, as the rules of a kind see them before a grant.

use proto::nfs4::ClientId;

use super::Kind;
use crate::Range;
use crate::file::FileState;

/// The uses of a file: opens, locks, shares of NLM hosts, and grants.
#[derive(Debug)]
pub struct FileUses<'a> {
    state: &'a FileState,
    range: Range,
}

/// A grant that is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldGrant {
    /// The holder.
    pub client: ClientId,
    /// The kind.
    pub kind: &'static Kind,
    /// The range of the file.
    pub range: Range,
}

impl<'a> FileUses<'a> {
    pub(super) fn new(state: &'a FileState, range: Range) -> Self {
        Self { state, range }
    }

    /// The range that a grant is asked for.
    pub fn range(&self) -> Range {
        self.range
    }

    /// True while a client has the file open for writing.
    pub fn is_open_for_writing(&self) -> bool {
        self.state.opens.any_writes()
    }

    /// True while a client other than this one has the file open.
    pub fn is_open_by_other(&self, client: ClientId) -> bool {
        self.state.opens.any_of_other(client)
    }

    /// True while an NLM host shares the file.
    pub fn is_shared(&self) -> bool {
        !self.state.shares.is_empty()
    }

    /// True while an NLM host shares the file for writing.
    pub fn is_shared_for_writing(&self) -> bool {
        self.state.shares.any_writes()
    }

    /// True while a range is locked exclusively.
    pub fn is_locked_exclusively(&self) -> bool {
        self.state.locks.ranges().any_exclusive()
    }

    /// True while an owner other than this client has locked a range.
    pub fn is_locked_by_other(&self, client: ClientId) -> bool {
        self.state.locks.ranges().any_of_other(client)
    }

    /// True while a client has a delegation.
    pub fn is_delegated(&self) -> bool {
        self.state.grants.has_delegations()
    }

    /// True while a client has a write delegation.
    pub fn is_delegated_for_writing(&self) -> bool {
        self.state.grants.write_delegation().is_some()
    }

    /// The grants whose range overlaps the range that is asked for. Takes as many steps as the file has
    /// grants.
    pub fn overlapping(&self) -> impl Iterator<Item = HeldGrant> {
        let held = self.state.grants.iter().filter(|held| held.range.overlaps(&self.range));
        held.map(|held| HeldGrant { client: held.client.id(), kind: held.kind, range: held.range })
    }
}

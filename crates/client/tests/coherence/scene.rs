//! What scenes are made of, on clients as on mounts.

use std::iter::Sum;
use std::time::Duration;

use client::{AttributeTimeouts, Options, Version, WriteDelegations};

/// What a client, or the one behind a mount, speaks.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    pub version: Version,
    pub delegations: bool,
    /// Delegations for writing, too, with each file that is opened for it.
    pub write_delegations: bool,
    /// Attributes and names are believed for the usual time.
    pub believes: bool,
}

pub const V3: Kind =
    Kind { version: Version::V3, delegations: false, write_delegations: false, believes: true };
/// With `actimeo=0`.
pub const DOUBTING_V3: Kind = Kind { believes: false, ..V3 };
pub const V4: Kind = Kind { version: Version::V4_1, ..V3 };
pub const DELEGATED: Kind = Kind { delegations: true, ..V4 };
pub const WRITING: Kind = Kind { write_delegations: true, ..DELEGATED };

impl Kind {
    pub fn apply(self, options: &mut Options) {
        options.delegations = self.delegations;
        if self.write_delegations {
            options.write_delegations = WriteDelegations::Always;
        }
        if !self.believes {
            options.attribute_timeouts = AttributeTimeouts::fixed(Duration::ZERO);
        }
    }
}

/// How much of what a scene is about took place.
#[derive(Debug, Default, Clone, Copy)]
pub struct Met {
    /// Delegations that were recalled.
    pub recalls: u64,
    /// Reads of files that had been open for long, under a delegation.
    pub reads_by_delegation: u64,
    /// Writes under a lock that a delegation for writing has granted.
    pub writes_by_delegation: u64,
}

impl Sum for Met {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            recalls: sum.recalls + one.recalls,
            reads_by_delegation: sum.reads_by_delegation + one.reads_by_delegation,
            writes_by_delegation: sum.writes_by_delegation + one.writes_by_delegation,
        })
    }
}

impl Met {
    /// Complains of what must not have taken place, and, if the scene was played often enough to meet `all`,
    /// of what should have.
    pub fn check(&self, mode: Mode, kinds: &[Kind], all: bool) {
        let delegated = kinds.iter().any(|kind| kind.delegations);
        let reading = delegated && mode == Mode::Delegations;
        let writing = kinds.iter().any(|kind| kind.write_delegations) && mode == Mode::Locks;
        let met = [self.recalls, self.reads_by_delegation, self.writes_by_delegation];
        for (met, may) in met.into_iter().zip([delegated, reading, writing]) {
            assert!(may || met == 0, "{self:?}");
            assert!(!(may && all) || met > 0, "{self:?}");
        }
    }
}

/// What the programs do, and rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    CloseToOpen,
    Locks,
    /// Files stay open, and are read for as long as a delegation is held.
    Delegations,
    /// Names are made, removed and renamed, and what has a name opened by it.
    Names,
    /// Names always stand for something; for what, changes.
    Replacements,
}

//! What scenes are made of, on clients as on mounts.

use client::Version;

/// What a client, or the one behind a mount, speaks.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    pub version: Version,
    pub delegations: bool,
    /// Attributes and names are believed for the usual time.
    pub believes: bool,
}

pub const V3: Kind = Kind { version: Version::V3, delegations: false, believes: true };
/// With `actimeo=0`.
pub const DOUBTING_V3: Kind = Kind { believes: false, ..V3 };
pub const V4: Kind = Kind { version: Version::V4_1, delegations: false, believes: true };
pub const DELEGATED: Kind = Kind { delegations: true, ..V4 };

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

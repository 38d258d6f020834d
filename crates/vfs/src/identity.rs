//! Who a request acts as, after the export's squashing.

use std::sync::Arc;

/// The ids a back end enforces permissions for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Identity {
    /// User id; 0 may do everything.
    pub uid: u32,
    /// Primary group id.
    pub gid: u32,
    /// Supplementary groups.
    pub groups: Arc<[u32]>,
}

impl Identity {
    /// The id that squashed callers get by default (`nobody`).
    pub const NOBODY: u32 = 65534;

    /// An identity without supplementary groups.
    pub fn new(uid: u32, gid: u32) -> Self {
        Self { uid, gid, groups: Arc::from([]) }
    }

    /// The superuser.
    pub fn root() -> Self {
        Self::new(0, 0)
    }

    /// True when `gid` is the primary or a supplementary group.
    pub fn in_group(&self, gid: u32) -> bool {
        self.gid == gid || self.groups.contains(&gid)
    }
}

//! What others do to objects of a file system behind its back.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::ObjectId;

/// What somebody has done to an object who has not come through the file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ObservedChange {
    /// He has opened it.
    Used,
    /// He has changed it: its data, its attributes, its names, or its entries.
    Changed,
}

/// Is told what was done to an object: after it was done, on a thread of the file system's own, which it must
/// not keep.
pub type Tell = Arc<dyn Fn(ObjectId, ObservedChange) + Send + Sync>;

/// Keeps an object watched for as long as it is not dropped.
pub struct Watch(#[allow(dead_code, reason = "held to be dropped")] Box<dyn Any + Send + Sync>);

impl Watch {
    /// `held` ends the watching when it is dropped.
    pub fn new(held: impl Any + Send + Sync) -> Self {
        Self(Box::new(held))
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}

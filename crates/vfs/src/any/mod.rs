//! Any back end as one type, so that the exports of a server may have different ones.
//!
//! A local directory is held as it is and called directly. All other back ends stand behind a dynamic border:
//! each call allocates its future, and each node is allocated.

mod border;
mod dynamic;
mod file_system;

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::FileSystem;
#[cfg(target_os = "linux")]
use crate::local::{self, Local};
use dynamic::Dynamic;

/// Any file system. Cheap to clone: clones share the back end.
#[derive(Clone)]
pub struct AnyFileSystem(BackEnd);

#[derive(Clone)]
enum BackEnd {
    #[cfg(target_os = "linux")]
    Local(Local),
    Other(Arc<dyn Dynamic>),
}

/// An object of an [`AnyFileSystem`].
#[derive(Clone)]
pub struct AnyNode(Node);

#[derive(Clone)]
enum Node {
    #[cfg(target_os = "linux")]
    Local(local::Node),
    /// Two allocations, so that the node of a local file is as small as can be.
    Other(Arc<Box<dyn Any + Send + Sync>>),
}

impl AnyFileSystem {
    /// Holds `file_system`; a [`Local`] and an [`AnyFileSystem`] without a dynamic border.
    pub fn new(file_system: impl FileSystem) -> Self {
        let any: &dyn Any = &file_system;
        if let Some(same) = any.downcast_ref::<Self>() {
            return same.clone();
        }
        #[cfg(target_os = "linux")]
        if let Some(local) = any.downcast_ref::<Local>() {
            return local.clone().into();
        }
        Self(BackEnd::Other(Arc::new(file_system)))
    }

    /// The local directory, if it is one.
    #[cfg(target_os = "linux")]
    pub fn as_local(&self) -> Option<&Local> {
        match &self.0 {
            BackEnd::Local(local) => Some(local),
            BackEnd::Other(_) => None,
        }
    }
}

#[cfg(target_os = "linux")]
impl From<Local> for AnyFileSystem {
    fn from(local: Local) -> Self {
        Self(BackEnd::Local(local))
    }
}

impl fmt::Debug for AnyFileSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            #[cfg(target_os = "linux")]
            BackEnd::Local(local) => local.fmt(f),
            BackEnd::Other(_) => f.write_str("AnyFileSystem"),
        }
    }
}

impl fmt::Debug for AnyNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnyNode")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entries of directories carry nodes; the server adds its own kind of node without growing them.
    #[test]
    fn node_has_two_words() {
        assert_eq!(size_of::<AnyNode>(), 2 * size_of::<usize>());
    }
}

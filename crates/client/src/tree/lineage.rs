//! The directories that lead to a directory of a tree: by them a walk finds out that it goes in a circle,
//! or without end.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::items::{Ground, Names};

/// The most directories in one another: as many as a path has components.
pub(super) const DEPTH_MAX: usize = 4096;
/// The longest path of an object in a tree, in bytes.
pub(super) const PATH_BYTES_MAX: usize = 32 << 10;

/// The keys of a directory and of all above it, the root of the client first.
#[derive(Debug, Clone)]
pub(super) struct Lineage(Arc<[u64]>);

impl Lineage {
    /// That of the root of a tree, which is at `path` of its client. Directories on the way there count as
    /// far as they are remembered.
    pub(super) fn root(ground: &Ground, path: &Names) -> Self {
        let mut node = Arc::clone(&ground.shared.root);
        let mut keys = vec![node.key];
        for name in path.iter() {
            let Some(Some(next)) = ground.shared.remembered_name(&node, &name) else { break };
            keys.push(next.key);
            node = next;
        }
        if keys.last() != Some(&ground.start.key) {
            keys.push(ground.start.key);
        }
        Self(keys.into())
    }

    /// That of the directory `at`, which was found in this one.
    ///
    /// # Errors
    /// When the server says that it is one of those above it, by its file handle; when it lies too deep. A
    /// server can make up another handle for each, so that the depth is what ends such a walk.
    pub(super) fn child(&self, ground: &Ground, at: &Names) -> Result<Self> {
        if self.0.len() > DEPTH_MAX || at.bytes() > PATH_BYTES_MAX {
            return Err(Error::Usage(
                "it lies below more than 4,096 directories, or its path has more than 32,768 bytes",
            ));
        }
        // Without a handle there is nothing to compare; no object has the key 0.
        let key = ground.known_key(at).unwrap_or(0);
        if key != 0 && self.0.contains(&key) {
            return Err(Error::misbehaved("READDIR", "the directory is one of those above it"));
        }
        Ok(Self(self.0.iter().copied().chain([key]).collect()))
    }
}

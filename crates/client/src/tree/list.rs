//! Listing a tree: many directories at a time.

use std::sync::Arc;

use bytes::Bytes;

use super::flow::Flow;
use super::lineage::Lineage;
use super::{TreeOptions, TreeReport};
use crate::attributes::DirEntry;
use crate::error::Result;
use crate::items::{Item, Names};
use crate::shared::Shared;

/// Something in a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// Its path below the root of the tree.
    pub path: Bytes,
    /// Its name, and what it is.
    pub entry: DirEntry,
}

/// Whether what is in a directory is listed too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Descend {
    /// List what is in it. Has no meaning for anything but directories.
    Into,
    /// Leave it out.
    Not,
}

impl Shared {
    /// Hands every object below `path` to `visit`: a directory before what is in it, the entries of one
    /// directory together.
    pub(crate) async fn list_tree(
        self: &Arc<Self>,
        path: &[u8],
        options: &TreeOptions,
        mut visit: impl FnMut(TreeEntry) -> Descend,
    ) -> Result<TreeReport> {
        let (ground, names) = self.tree_ground(path).await?;
        let root = Lineage::root(&ground, &names);
        let mut flow: Flow<(Names, Lineage)> = Flow::new(Arc::clone(&ground), options);
        // The last one found is listed first: so there are no more than the depth times the width of a
        // directory.
        let mut todo = vec![(Names::default(), root)];
        loop {
            while flow.has_room()
                && !flow.has_stopped()
                && let Some((at, lineage)) = todo.pop()
            {
                flow.push(Item::List { at: at.clone() }, (at, lineage));
            }
            let Some(((at, lineage), result)) = flow.next().await else { break };
            match result.map(|output| output.into_entries().unwrap_or_default()) {
                Ok(entries) if flow.takes(entries.len()) => {
                    for entry in entries {
                        let names = at.child(&entry.name);
                        let is_directory = entry.attributes.is_some_and(|known| known.is_directory());
                        let descend = visit(TreeEntry { path: names.to_path(), entry });
                        flow.done(0);
                        if !is_directory || descend == Descend::Not {
                            continue;
                        }
                        match lineage.child(&ground, &names) {
                            Ok(lineage) => todo.push((names, lineage)),
                            Err(error) => flow.failed(names.to_path(), error),
                        }
                    }
                }
                Ok(_) => {}
                Err(error) => flow.failed(at.to_path(), error),
            }
        }
        Ok(flow.report())
    }
}

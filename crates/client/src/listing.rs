//! Reading directories.

use std::sync::Arc;
use std::time::Instant;

use crate::attributes::DirEntry;
use crate::error::{Error, Result};
use crate::node::Node;
use crate::protocol::{DirPosition, Found};
use crate::shared::Shared;

/// The most entries of one directory: a list is held in memory.
const ENTRIES_MAX: usize = 10_000_000;

impl Shared {
    /// All entries, with attributes; what they say is remembered, so that opening what was listed costs less.
    pub(crate) async fn read_dir(&self, dir: &Arc<Node>) -> Result<Vec<DirEntry>> {
        let mut all = Vec::new();
        let mut at = DirPosition::default();
        loop {
            let asked = Instant::now();
            let page = self.protocol().read_dir(&dir.handle, at).await?;
            if let Some(attributes) = page.directory {
                self.learn(dir, attributes, asked);
            }
            for (entry, handle) in page.entries {
                if &entry.name[..] == b"." || &entry.name[..] == b".." {
                    continue;
                }
                if let (Some(handle), Some(attributes)) = (handle, entry.attributes) {
                    let node = self.learn_found(&Found { handle, attributes }, asked);
                    self.learn_name(dir, &entry.name, Some(&node));
                }
                all.push(entry);
            }
            if all.len() > ENTRIES_MAX {
                return Err(Error::Usage("the directory has too many entries"));
            }
            match page.next {
                Some(next) if next.cookie == at.cookie => {
                    return Err(Error::misbehaved("READDIR", "the list does not advance"));
                }
                Some(next) => at = next,
                None => return Ok(all),
            }
        }
    }
}

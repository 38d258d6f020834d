//! Removing a tree: what is in a directory as soon as it is listed, the directory when nothing is left in it.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use proto::nfs4;

use super::flow::Flow;
use super::lineage::Lineage;
use super::{TreeOptions, TreeReport};
use crate::error::{Error, Result};
use crate::items::{Ground, Item, Names};
use crate::shared::Shared;

/// Names that wait to be removed; while there are more, no further directory is listed.
const BACKLOG_MAX: usize = 16_384;

enum Then {
    Listed(Names),
    Removed(Names),
}

/// What is known of a tree that is being removed. Pure.
#[derive(Debug, Default)]
struct Removal {
    /// Directories that were not listed yet.
    unlisted: Vec<Names>,
    /// Names to be removed: what is in a directory always stands before it.
    backlog: VecDeque<(Names, bool)>,
    /// Directories in which there are others left, and how many.
    open: BTreeMap<Names, usize>,
}

impl Removal {
    /// A directory was listed: these are the directories in it, and all others.
    fn listed(&mut self, at: &Names, directories: Vec<Names>, others: Vec<Names>) {
        self.backlog.extend(others.into_iter().map(|name| (name, false)));
        match directories.len() {
            0 => self.emptied(at.clone()),
            count => {
                self.open.insert(at.clone(), count);
                self.unlisted.extend(directories);
            }
        }
    }

    /// Everything in a directory stands in the backlog: so may it, and then perhaps the one that it is in.
    fn emptied(&mut self, at: Names) {
        let mut next = Some(at);
        while let Some(at) = next.take() {
            let above = at.split_last().map(|(above, _)| above);
            if above.is_some() {
                self.backlog.push_back((at, true));
            }
            let Some(above) = above else { return };
            if let Some(left) = self.open.get_mut(&above) {
                *left -= 1;
                if *left == 0 {
                    self.open.remove(&above);
                    next = Some(above);
                }
            }
        }
    }
}

impl Shared {
    /// Removes the directory at `path` with everything in it. A symbolic link at the end of `path` is not
    /// followed.
    pub(crate) async fn remove_tree(
        self: &Arc<Self>,
        path: &[u8],
        options: &TreeOptions,
    ) -> Result<TreeReport> {
        self.check_writable()?;
        let names = Names::parse(path)?;
        let root = self.resolve(&self.root, &names.to_path(), false).await?;
        if root.state.lock().known.last().is_some_and(|known| !known.is_directory()) {
            return Err(Error::server("LOOKUP", nfs4::Status::NotDirectory));
        }
        let ground = Arc::new(Ground::new(Arc::clone(self), root, false));
        let last = options.removed_last.as_ref();
        // Of the directories that are not listed yet.
        let mut lineages = HashMap::from([(Names::default(), Lineage::root(&ground, &names))]);
        let mut flow = Flow::new(Arc::clone(&ground), options);
        let mut removal = Removal { unlisted: vec![Names::default()], ..Removal::default() };
        loop {
            while flow.has_room() && !flow.has_stopped() {
                if let Some((at, directory)) = removal.backlog.pop_front() {
                    flow.push(Item::Remove { at: at.clone(), directory }, Then::Removed(at));
                } else if removal.backlog.len() < BACKLOG_MAX
                    && let Some(at) = removal.unlisted.pop()
                {
                    flow.push(Item::List { at: at.clone() }, Then::Listed(at));
                } else {
                    break;
                }
            }
            match flow.next().await {
                Some((Then::Listed(at), Ok(output))) => {
                    let entries = output.into_entries().unwrap_or_default();
                    let is_directory =
                        |entry: &&crate::DirEntry| entry.attributes.is_some_and(|known| known.is_directory());
                    let names = |entry: &crate::DirEntry| at.child(&entry.name);
                    let lineage = lineages.remove(&at);
                    if !flow.takes(entries.len()) {
                        continue;
                    }
                    let mut directories = Vec::new();
                    for below in entries.iter().filter(is_directory).map(names) {
                        match lineage.as_ref().map(|lineage| lineage.child(&ground, &below)).transpose() {
                            Ok(lineage) => {
                                lineages.extend(lineage.map(|lineage| (below.clone(), lineage)));
                                directories.push(below);
                            }
                            // Its entries are those of a directory above it, and stay as long as that
                            // directory does.
                            Err(error) => flow.failed(below.to_path(), error),
                        }
                    }
                    let stays = |entry: &&crate::DirEntry| {
                        is_directory(entry) || at.is_empty() && last == Some(&entry.name)
                    };
                    let others = entries.iter().filter(|entry| !stays(entry)).map(names).collect();
                    removal.listed(&at, directories, others);
                }
                // What cannot be listed may be empty all the same.
                Some((Then::Listed(at), Err(error))) => {
                    flow.failed(at.to_path(), error);
                    removal.emptied(at);
                }
                Some((Then::Removed(at), result)) => flow.ended(&at, 0, result),
                None => break,
            }
        }
        if flow.has_stopped() {
            return Ok(flow.report());
        }
        if let Some(last) = last {
            if flow.has_failed() {
                return Ok(flow.report());
            }
            let removed = match self.remove(&ground.start, last, false).await {
                Err(error) if error.is_not_found() => Ok(()),
                removed => removed,
            };
            flow.ended(&Names::default().child(last), 0, removed);
        }
        if names.is_empty() {
            return Ok(flow.report());
        }
        let removed = self.remove(&self.root, &names.to_path(), true).await;
        flow.ended(&Names::default(), 0, removed);
        Ok(flow.report())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(path: &str) -> Names {
        Names::parse(path.as_bytes()).unwrap()
    }

    #[test]
    fn a_directory_comes_after_everything_in_it() {
        let mut removal = Removal::default();
        removal.listed(&names(""), vec![names("a"), names("b")], vec![names("f")]);
        removal.listed(&names("a"), vec![names("a/c")], vec![names("a/g")]);
        removal.listed(&names("a/c"), vec![], vec![names("a/c/h")]);
        removal.listed(&names("b"), vec![], vec![]);
        let order: Vec<_> = removal.backlog.iter().map(|(name, _)| name.to_path()).collect();
        assert_eq!(order, ["f", "a/g", "a/c/h", "a/c", "a", "b"]);
        assert!(removal.open.is_empty());
    }
}

//! The directory that a batch starts at, and the directories below it that were found on the way: they are
//! asked for once, whatever becomes of the cache of names meanwhile.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use proto::nfs4;

use super::names::Names;
use crate::attributes::FileType;
use crate::error::{Error, Result};
use crate::node::Node;
use crate::shared::Shared;

/// Directories that are remembered; beyond, all are looked up again.
const DIRECTORIES_MAX: usize = 131_072;

/// What the items of one batch have in common.
#[derive(Debug)]
pub(crate) struct Ground {
    pub(crate) shared: Arc<Shared>,
    pub(crate) start: Arc<Node>,
    /// Symbolic links on the way to an object are followed; otherwise they are in the way.
    pub(crate) follow: bool,
    known: Mutex<BTreeMap<Names, Arc<Node>>>,
    /// Held while a large directory is listed: lists are held in memory until they are whole.
    pub(crate) large_list: tokio::sync::Mutex<()>,
    /// Directories that are being looked up, so that each is once.
    walks: Mutex<HashMap<Names, Arc<tokio::sync::Mutex<()>>>>,
}

impl Ground {
    pub(crate) fn new(shared: Arc<Shared>, start: Arc<Node>, follow: bool) -> Self {
        Self {
            shared,
            start,
            follow,
            known: Mutex::default(),
            large_list: tokio::sync::Mutex::default(),
            walks: Mutex::default(),
        }
    }

    /// The nearest directory that is known, at `dir` or above it, and the names that lead on from there.
    pub(crate) fn nearest(&self, dir: &Names) -> (Arc<Node>, Vec<Bytes>) {
        let mut rest = Vec::new();
        let mut at = dir.clone();
        let mut node = loop {
            if let Some(node) = self.find(&at) {
                break node;
            }
            let Some((above, name)) = at.split_last() else { break Arc::clone(&self.start) };
            rest.push(name);
            at = above;
        };
        // What the cache of names has is as good, and is kept from here on.
        while let Some(name) = rest.last() {
            let Some(Some(next)) = self.shared.remembered_name(&node, name) else { break };
            if kind(&next) != Some(FileType::Directory) {
                break;
            }
            at = at.join(name);
            self.keep(&at, &next);
            node = next;
            rest.pop();
        }
        rest.reverse();
        (node, rest)
    }

    /// The directory at `dir`, looked up if it must be.
    pub(crate) async fn directory(&self, dir: &Names) -> Result<Arc<Node>> {
        if let (node, rest) = self.nearest(dir)
            && rest.is_empty()
        {
            return Ok(node);
        }
        let walk = Arc::clone(self.walks.lock().entry(dir.clone()).or_default());
        let _walk = walk.lock().await;
        if let Some(node) = self.find(dir) {
            return Ok(node);
        }
        let found = Box::pin(self.look_up(dir)).await;
        self.walks.lock().remove(dir);
        if let Ok(node) = &found {
            self.keep(dir, node);
        }
        found
    }

    /// The object at `names` itself: a symbolic link at the end is not followed.
    pub(crate) async fn object(&self, names: &Names) -> Result<Arc<Node>> {
        // Where links are followed, a directory may be known by the name of one.
        if let Some(node) = self.find(names).filter(|_| !self.follow) {
            return Ok(node);
        }
        let Some((dir, name)) = names.split_last() else { return Ok(Arc::clone(&self.start)) };
        let dir = self.directory(&dir).await?;
        self.shared.resolve(&dir, &name, false).await
    }

    /// The directory that holds `names`, and the last of them.
    pub(crate) async fn place(&self, names: &Names) -> Result<(Arc<Node>, Bytes)> {
        let (dir, name) = names.split_last().ok_or(Error::Usage("the path must end with a name"))?;
        Ok((self.directory(&dir).await?, name))
    }

    /// Remembers a directory.
    pub(crate) fn keep(&self, dir: &Names, node: &Arc<Node>) {
        let mut known = self.known.lock();
        if known.len() >= DIRECTORIES_MAX {
            known.clear();
        }
        known.insert(dir.clone(), Arc::clone(node));
    }

    /// Forgets what is at `names` and below.
    pub(crate) fn forget(&self, names: &Names) {
        let mut known = self.known.lock();
        known.remove(names);
        let below: Vec<Names> = known.range(names.below()).map(|(names, _)| names.clone()).collect();
        for names in below {
            known.remove(&names);
        }
    }

    /// The key of a directory that is remembered.
    pub(crate) fn known_key(&self, dir: &Names) -> Option<u64> {
        self.find(dir).map(|node| node.key)
    }

    fn find(&self, dir: &Names) -> Option<Arc<Node>> {
        match dir.is_empty() {
            true => Some(Arc::clone(&self.start)),
            false => self.known.lock().get(dir).cloned(),
        }
    }

    async fn look_up(&self, dir: &Names) -> Result<Arc<Node>> {
        let Some((above, name)) = dir.split_last() else { return Ok(Arc::clone(&self.start)) };
        let above = self.directory(&above).await?;
        let node = self.shared.resolve(&above, &name, false).await?;
        match kind(&node) {
            Some(FileType::Directory) | None => Ok(node),
            // Where a link leads is a matter of the whole path.
            Some(FileType::Symlink) if self.follow => {
                self.shared.resolve_directory(&self.start, &dir.to_path()).await
            }
            Some(_) => Err(Error::server("LOOKUP", nfs4::Status::NotDirectory)),
        }
    }
}

pub(crate) fn kind(node: &Node) -> Option<FileType> {
    node.state.lock().known.last().map(|attributes| attributes.kind)
}

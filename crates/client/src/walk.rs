//! From paths to objects: names that are remembered, lookups for the others, and symbolic links.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Instant;

use bytes::Bytes;
use proto::nfs4::{self, StateId};

use crate::attributes::FileType;
use crate::cache::NameKey;
use crate::error::{Error, Result};
use crate::node::Node;
use crate::options::LookupCache;
use crate::shared::Shared;

/// The most symbolic links on a path.
pub(crate) const SYMLINKS_MAX: usize = 40;
/// The most components of a path.
const COMPONENTS_MAX: usize = 4096;
/// The most names in one request.
const NAMES_PER_REQUEST_MAX: usize = 8;

/// An object that a name stands for.
#[derive(Debug, Clone)]
pub(crate) struct Named {
    node: Weak<Node>,
    /// Since when the object has had a delegation that was granted to an open by this name.
    delegated: Option<Instant>,
}

/// What is known of a name.
enum Remembered {
    Is(Arc<Node>),
    IsNot,
    Unknown,
}

impl Shared {
    /// The object at `path` below `start`. `follow` tells whether a symbolic link at its end is followed.
    pub(crate) async fn resolve(&self, start: &Arc<Node>, path: &[u8], follow: bool) -> Result<Arc<Node>> {
        // The first is where `/` and too many `..` lead.
        let mut stack = match path.starts_with(b"/") {
            true => vec![Arc::clone(&self.root)],
            false => vec![Arc::clone(start)],
        };
        let mut todo = components(path)?;
        let mut links = 0;
        while let Some(name) = todo.front() {
            if &name[..] == b".." {
                if stack.len() > 1 {
                    stack.pop();
                }
                todo.pop_front();
                continue;
            }
            let dir = Arc::clone(stack.last().expect("the first one stays"));
            let found = self.step(&dir, &todo).await?;
            for node in found {
                todo.pop_front();
                let is_link = node_kind(&node) == Some(FileType::Symlink);
                if !is_link || (todo.is_empty() && !follow) {
                    stack.push(node);
                    continue;
                }
                links += 1;
                if links > SYMLINKS_MAX {
                    return Err(Error::Usage("too many symbolic links"));
                }
                let target = self.protocol().read_link(&node.handle).await?;
                if target.starts_with(b"/") {
                    stack.truncate(1);
                    stack[0] = Arc::clone(&self.root);
                }
                for name in components(&target)?.into_iter().rev() {
                    todo.push_front(name);
                }
                break;
            }
        }
        Ok(stack.pop().expect("the first one stays"))
    }

    /// The directory at `path`.
    pub(crate) async fn resolve_directory(&self, start: &Arc<Node>, path: &[u8]) -> Result<Arc<Node>> {
        let node = self.resolve(start, path, true).await?;
        match node_kind(&node) {
            Some(FileType::Directory) | None => Ok(node),
            Some(_) => Err(Error::server("LOOKUP", nfs4::Status::NotDirectory)),
        }
    }

    /// The directory that holds the last name of `path`, and that name.
    pub(crate) async fn resolve_parent(&self, start: &Arc<Node>, path: &[u8]) -> Result<(Arc<Node>, Bytes)> {
        let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
        let path = &path[..end];
        let cut = path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        let (dir, name) = path.split_at(cut);
        if name.is_empty() || name == b"." || name == b".." {
            return Err(Error::Usage("the path must end with a name"));
        }
        Ok((self.resolve_directory(start, dir).await?, Bytes::copy_from_slice(name)))
    }

    /// The object that `name` in `dir` stands for, from memory if it is known; `Some(None)` when it is known
    /// not to be.
    pub(crate) fn remembered_name(&self, dir: &Node, name: &Bytes) -> Option<Option<Arc<Node>>> {
        match self.remembered(dir, name, true) {
            Remembered::Is(node) => Some(Some(node)),
            Remembered::IsNot => Some(None),
            Remembered::Unknown => None,
        }
    }

    /// The object that `name` in `dir` stands for as long as its delegation is held, if one was granted to an
    /// open by that name: then nobody else has renamed or removed it since (RFC 8881 §10.4).
    pub(crate) fn delegated_name(&self, dir: &Node, name: &Bytes) -> Option<Arc<Node>> {
        let named = self.names.lock().get(&self.name_key(dir, name)).flatten()?;
        named.is_delegated().then(|| named.node.upgrade()).flatten()
    }

    /// Remembers what a request sent at `asked` has found under a name; `None` for nothing. A change of our
    /// own that was answered meanwhile may have come later.
    pub(crate) fn learn_name(&self, dir: &Node, name: &Bytes, node: Option<&Arc<Node>>, asked: Instant) {
        let is_sure = {
            let mut state = dir.state.lock();
            self.note_cached(&mut state, asked);
            state.is_unchanged_since(asked)
        };
        self.set_name(dir, name, node, is_sure);
    }

    /// Remembers what a name stands for after a change of our own, or forgets it when that is not sure.
    pub(crate) fn set_name(&self, dir: &Node, name: &Bytes, node: Option<&Arc<Node>>, is_sure: bool) {
        let key = self.name_key(dir, name);
        match is_sure {
            true => {
                let named = node.map(|node| Named { node: Arc::downgrade(node), delegated: None });
                self.names.lock().insert(key, named);
            }
            false => self.names.lock().remove(&key),
        }
    }

    /// An open by this name, sent at `asked`, has found the object, and brought the delegation `new`, if any.
    /// The name stands for the object for as long as that is held, or one that was there before.
    pub(crate) fn learn_delegated_name(
        &self,
        (dir, name): (&Node, &Bytes),
        node: &Arc<Node>,
        asked: Instant,
        new: Option<StateId>,
    ) {
        let held =
            node.state.lock().delegation.filter(|held| {
                held.granted <= asked || new.is_some_and(|new| new.other == held.state_id.other)
            });
        let Some(granted) = held.map(|held| held.granted) else { return };
        let key = self.name_key(dir, name);
        let mut names = self.names.lock();
        // A change of our own may have come after the open.
        if let Some(Some(named)) = names.get(&key)
            && std::ptr::eq(named.node.as_ptr(), Arc::as_ptr(node))
        {
            names.insert(key, Some(Named { delegated: Some(granted), ..named }));
        }
    }

    fn name_key(&self, dir: &Node, name: &Bytes) -> NameKey {
        let epoch = dir.state.lock().known.epoch();
        NameKey { directory: dir.key, epoch, name: name.clone() }
    }

    /// Forgets a name.
    pub(crate) fn forget_name(&self, dir: &Node, name: &Bytes) {
        self.names.lock().remove(&self.name_key(dir, name));
    }

    /// Goes at least one name of `todo` on from `dir`: what was found, one after the other.
    async fn step(&self, dir: &Arc<Node>, todo: &VecDeque<Bytes>) -> Result<Vec<Arc<Node>>> {
        let name = &todo[0];
        match self.remembered(dir, name, true) {
            Remembered::Is(node) => return Ok(vec![node]),
            Remembered::IsNot => return Err(Error::server("LOOKUP", nfs4::Status::NoEntry)),
            Remembered::Unknown => {}
        }
        // Known, but of a directory whose attributes have expired: asking for those may confirm many names at
        // once.
        if matches!(self.remembered(dir, name, false), Remembered::Is(_)) {
            self.revalidate(dir).await?;
            if let Remembered::Is(node) = self.remembered(dir, name, true) {
                return Ok(vec![node]);
            }
        }
        self.look_up(dir, todo).await
    }

    async fn look_up(&self, dir: &Arc<Node>, todo: &VecDeque<Bytes>) -> Result<Vec<Arc<Node>>> {
        let count_max = if self.protocol().looks_up_paths() { NAMES_PER_REQUEST_MAX } else { 1 };
        let names: Vec<Bytes> =
            todo.iter().take_while(|name| &name[..] != b"..").take(count_max).cloned().collect();
        let asked = Instant::now();
        let (found, outcome) = self.protocol().look_up(&dir.handle, &names).await;
        let mut parent = Arc::clone(dir);
        let mut nodes = Vec::with_capacity(found.len());
        for (name, found) in names.iter().zip(&found) {
            let node = self.learn_found(found, asked);
            self.learn_name(&parent, name, Some(&node), asked);
            parent = Arc::clone(&node);
            nodes.push(node);
        }
        match outcome {
            Ok(()) => Ok(nodes),
            // The walk goes on with the link; what is behind it was never looked at.
            Err(_) if nodes.last().and_then(|n| node_kind(n)) == Some(FileType::Symlink) => Ok(nodes),
            Err(error) => {
                if error.is_not_found() && nodes.is_empty() {
                    self.learn_name(dir, &names[0], None, asked);
                }
                Err(error)
            }
        }
    }

    fn remembered(&self, dir: &Node, name: &Bytes, believed_only: bool) -> Remembered {
        let cache = self.options.lookup_cache;
        if cache == LookupCache::None {
            return Remembered::Unknown;
        }
        let (epoch, believed) = {
            let state = dir.state.lock();
            (state.known.epoch(), state.known.believed(Instant::now()).is_some())
        };
        let key = NameKey { directory: dir.key, epoch, name: name.clone() };
        let known = self.names.lock().get(&key);
        match known {
            Some(Some(named)) => match named.node.upgrade() {
                Some(node) if believed || !believed_only || named.is_delegated() => Remembered::Is(node),
                _ => Remembered::Unknown,
            },
            Some(None) if believed && cache == LookupCache::All => Remembered::IsNot,
            _ => Remembered::Unknown,
        }
    }
}

impl Named {
    /// True while the delegation is held that an open by this name has brought.
    fn is_delegated(&self) -> bool {
        self.node.upgrade().is_some_and(|node| {
            let state = node.state.lock();
            let granted = state.delegation.map(|delegation| delegation.granted);
            self.delegated.is_some() && self.delegated == granted && state.is_delegated()
        })
    }
}

fn node_kind(node: &Node) -> Option<FileType> {
    node.state.lock().known.last().map(|attributes| attributes.kind)
}

/// The names of a path; empty ones and `.` are left out.
fn components(path: &[u8]) -> Result<VecDeque<Bytes>> {
    let names: VecDeque<Bytes> = path
        .split(|byte| *byte == b'/')
        .filter(|name| !name.is_empty() && *name != b".")
        .map(Bytes::copy_from_slice)
        .collect();
    if names.len() > COMPONENTS_MAX {
        return Err(Error::Usage("the path has too many components"));
    }
    if path.contains(&0) {
        return Err(Error::Usage("a path holds no zero byte"));
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_the_names_between_slashes() {
        assert_eq!(components(b"//a/./b/../c/").unwrap(), ["a", "b", "..", "c"]);
        assert!(components(b"/").unwrap().is_empty());
        assert!(components(b"a\0b").is_err());
    }
}

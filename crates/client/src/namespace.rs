//! Changes of directories: making, removing and renaming.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;

use crate::error::Result;
use crate::node::Node;
use crate::protocol::NewObject;
use crate::shared::Shared;

impl Shared {
    /// Makes anything but a regular file.
    pub(crate) async fn make(
        self: &Arc<Self>,
        start: &Arc<Node>,
        path: &[u8],
        object: &NewObject,
        mode: u32,
    ) -> Result<()> {
        let (dir, name) = self.resolve_parent(start, path).await?;
        self.make_in(&dir, &name, object, mode).await.map(drop)
    }

    /// As [`Shared::make`]; returns what was made, if the server said.
    pub(crate) async fn make_in(
        &self,
        dir: &Arc<Node>,
        name: &Bytes,
        object: &NewObject,
        mode: u32,
    ) -> Result<Option<Arc<Node>>> {
        self.check_writable()?;
        let asked = Instant::now();
        let made = self.protocol().make(&dir.handle, name, object, mode).await;
        let (found, effect) = self.or_forget(dir, name, made)?;
        let alone = self.learn_effect(dir, effect, asked);
        let node = found.map(|found| self.learn_found(&found, asked));
        self.set_name(dir, name, node.as_ref(), alone && node.is_some());
        Ok(node)
    }

    /// Makes the directory at `path` and those above it, from the first that is not there.
    pub(crate) async fn make_directories(
        self: &Arc<Self>,
        start: &Arc<Node>,
        path: &[u8],
        mode: u32,
    ) -> Result<()> {
        self.check_writable()?;
        let missing = match self.resolve_directory(start, path).await {
            Ok(_) => return Ok(()),
            Err(error) if error.is_not_found() => self.missing_from(start, path).await?,
            Err(error) => return Err(error),
        };
        for end in missing {
            match self.make(start, &path[..end], &NewObject::Directory, mode).await {
                // Somebody else made it meanwhile, or it is no directory.
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                    self.resolve_directory(start, &path[..end]).await?;
                }
                made => made?,
            }
        }
        Ok(())
    }

    /// Where the prefixes of `path` end that are not there, the shortest first.
    async fn missing_from(self: &Arc<Self>, start: &Arc<Node>, path: &[u8]) -> Result<Vec<usize>> {
        let mut missing = Vec::new();
        let mut end = path.len();
        while let Some(last) = path[..end].iter().rposition(|byte| *byte != b'/') {
            let start_of_name =
                path[..last].iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
            if !matches!(&path[start_of_name..=last], b"." | b"..") {
                missing.push(last + 1);
            }
            end = start_of_name;
            match self.resolve_directory(start, &path[..end]).await {
                Ok(_) => break,
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error),
            }
        }
        missing.reverse();
        Ok(missing)
    }

    /// Removes a name.
    pub(crate) async fn remove(
        self: &Arc<Self>,
        start: &Arc<Node>,
        path: &[u8],
        directory: bool,
    ) -> Result<()> {
        self.check_writable()?;
        let (dir, name) = self.resolve_parent(start, path).await?;
        let node = self.remembered_name(&dir, &name).flatten();
        if let Some(node) = &node {
            self.protocol().before_change(node).await?;
            node.state.lock().known.doubt(Instant::now());
        }
        let asked = Instant::now();
        let removed = self.protocol().remove(&dir.handle, &name, directory).await;
        // It may have other names, and one fewer now than was told meanwhile.
        if let Some(node) = &node {
            node.state.lock().known.doubt(Instant::now());
        }
        let effect = self.or_forget(&dir, &name, removed)?;
        let alone = self.learn_effect(&dir, effect, asked);
        self.set_name(&dir, &name, None, alone);
        Ok(())
    }

    /// Gives an object another name.
    pub(crate) async fn rename(self: &Arc<Self>, start: &Arc<Node>, from: &[u8], to: &[u8]) -> Result<()> {
        let (from_dir, from_name) = self.resolve_parent(start, from).await?;
        let (to_dir, to_name) = self.resolve_parent(start, to).await?;
        self.rename_in((&from_dir, &from_name), (&to_dir, &to_name)).await
    }

    /// As [`Shared::rename`], in directories that are known.
    pub(crate) async fn rename_in(
        self: &Arc<Self>,
        (from_dir, from_name): (&Arc<Node>, &Bytes),
        (to_dir, to_name): (&Arc<Node>, &Bytes),
    ) -> Result<()> {
        self.check_writable()?;
        let epoch = |dir: &Node| dir.state.lock().known.epoch();
        let epochs = || [epoch(from_dir), epoch(to_dir)];
        let before = epochs();
        let mut moved = self.remembered_name(from_dir, from_name).flatten();
        let mut replaced = self.remembered_name(to_dir, to_name);
        for node in moved.iter().chain(replaced.iter().flatten()) {
            self.protocol().before_change(node).await?;
            node.state.lock().known.doubt(Instant::now());
        }
        let asked = Instant::now();
        let renamed = self.protocol().rename((&from_dir.handle, from_name), (&to_dir.handle, to_name)).await;
        for node in moved.iter().chain(replaced.iter().flatten()) {
            node.state.lock().known.doubt(Instant::now());
        }
        let renamed = self.or_forget(to_dir, to_name, renamed);
        let (from_effect, to_effect) = self.or_forget(from_dir, from_name, renamed)?;
        let mut alone = self.learn_effect(from_dir, from_effect, asked);
        if !Arc::ptr_eq(from_dir, to_dir) {
            alone &= self.learn_effect(to_dir, to_effect, asked);
        }
        if !alone || epochs() != before {
            // One of the directories may have been changed meanwhile: what the names stood for is not sure.
            (moved, replaced) = (None, None);
        }
        // Where both are names of one object, nothing is renamed (RFC 8881 §18.26.3).
        let replaces_another = match (&moved, &replaced) {
            (Some(moved), Some(Some(replaced))) => !Arc::ptr_eq(moved, replaced),
            (_, Some(None)) => true,
            _ => false,
        };
        match replaces_another {
            true => self.set_name(from_dir, from_name, None, true),
            false => self.forget_name(from_dir, from_name),
        }
        self.set_name(to_dir, to_name, moved.as_ref(), moved.is_some());
        Ok(())
    }

    /// Gives a file one more name.
    pub(crate) async fn link(
        self: &Arc<Self>,
        start: &Arc<Node>,
        existing: &[u8],
        path: &[u8],
    ) -> Result<()> {
        let node = self.resolve(start, existing, false).await?;
        let (dir, name) = self.resolve_parent(start, path).await?;
        self.link_in(&node, &dir, &name).await
    }

    /// As [`Shared::link`], for an object and a directory that are known.
    pub(crate) async fn link_in(
        self: &Arc<Self>,
        node: &Arc<Node>,
        dir: &Arc<Node>,
        name: &Bytes,
    ) -> Result<()> {
        self.check_writable()?;
        self.protocol().before_change(node).await?;
        let asked = Instant::now();
        let linked = self.protocol().link(&node.handle, &dir.handle, name).await;
        let effect = self.or_forget(dir, name, linked)?;
        let alone = self.learn_effect(dir, effect, asked);
        self.set_name(dir, name, Some(node), alone);
        node.state.lock().known.doubt(Instant::now());
        Ok(())
    }

    /// After a failure nothing is sure: the name may be there or not.
    pub(crate) fn or_forget<T>(&self, dir: &Node, name: &Bytes, outcome: Result<T>) -> Result<T> {
        if outcome.is_err() {
            self.forget_name(dir, name);
            let mut state = dir.state.lock();
            state.changed = Some(Instant::now());
            state.known.doubt(Instant::now());
        }
        outcome
    }
}

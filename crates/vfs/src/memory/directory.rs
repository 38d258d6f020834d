//! Finding names and listing directories.

use std::sync::Arc;

use bytes::Bytes;

use super::Memory;
use super::entries::{PARENT_COOKIE, SELF_COOKIE};
use super::inode::{Content, Inode, Node};
use crate::permissions::{self, EXECUTE, READ};
use crate::{DirEntry, DirPage, Error, Identity, Name, Result};

impl Memory {
    pub(super) fn lookup_now(&self, who: &Identity, dir: &Inode, name: Name<'_>) -> Result<Arc<Inode>> {
        let fileid = {
            let state = dir.state.read();
            let Content::Directory(entries) = &state.content else { return Err(Error::NotDirectory) };
            permissions::require(who, &state.attributes, EXECUTE)?;
            entries.get(name.as_bytes()).ok_or(Error::NotFound)?
        };
        // Gone when somebody removed the name since.
        self.table.get(fileid).ok_or(Error::NotFound)
    }

    pub(super) fn lookup_parent_now(&self, who: &Identity, dir: &Inode) -> Result<Arc<Inode>> {
        let parent = {
            let state = dir.state.read();
            let Content::Directory(entries) = &state.content else { return Err(Error::NotDirectory) };
            permissions::require(who, &state.attributes, EXECUTE)?;
            entries.parent
        };
        if dir.fileid == self.root.fileid {
            return Err(Error::NotFound);
        }
        self.table.get(parent).ok_or(Error::Stale)
    }

    pub(super) fn read_dir_now(
        &self,
        who: &Identity,
        dir: &Arc<Inode>,
        cookie: u64,
        entries_max: usize,
        objects: bool,
    ) -> Result<DirPage<Node>> {
        let (mut page, searchable) = list(who, dir, cookie, entries_max)?;
        if objects && searchable {
            for entry in page.entries.iter_mut().filter(|entry| entry.cookie != PARENT_COOKIE) {
                entry.object = self.table.get(entry.fileid).map(|inode| {
                    let attributes = inode.attributes();
                    (Node(inode), attributes)
                });
            }
        }
        Ok(page)
    }
}

/// The names, and whether `who` may search the directory for the objects behind them.
fn list(who: &Identity, dir: &Inode, cookie: u64, entries_max: usize) -> Result<(DirPage<Node>, bool)> {
    let state = dir.state.read();
    let Content::Directory(entries) = &state.content else { return Err(Error::NotDirectory) };
    permissions::require(who, &state.attributes, READ)?;
    let fixed = [
        (SELF_COOKIE, Bytes::from_static(b"."), dir.fileid),
        (PARENT_COOKIE, Bytes::from_static(b".."), entries.parent),
    ];
    let fixed = fixed.into_iter().filter(|(at, ..)| *at > cookie);
    let named = entries.after(cookie).map(|(at, name, fileid)| (at, name.clone(), fileid));
    let mut all =
        fixed.chain(named).map(|(cookie, name, fileid)| DirEntry { name, fileid, cookie, object: None });
    let found = all.by_ref().take(entries_max).collect();
    let page = DirPage { entries: found, eof: all.next().is_none() };
    drop(all);
    Ok((page, permissions::allows(who, &state.attributes, EXECUTE)))
}

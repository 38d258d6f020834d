//! One object: attributes and content under one lock.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Weak};

use bytes::Bytes;
use parking_lot::RwLock;

use super::budget::{Budget, Charge};
use super::entries::Entries;
use super::pages::Pages;
use super::table::Table;
use crate::{Attributes, DeviceNumber, Error, FileKind, Result, Timestamp};

/// An object of a [`Memory`](super::Memory) that has been found.
#[derive(Clone)]
pub struct Node(pub(super) Arc<Inode>);

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Node({})", self.0.fileid)
    }
}

/// One object.
pub(super) struct Inode {
    pub(super) fileid: u64,
    pub(super) kind: FileKind,
    pub(super) state: RwLock<State>,
    table: Weak<Table>,
}

/// What an inode's lock guards.
pub(super) struct State {
    pub(super) attributes: Attributes,
    pub(super) content: Content,
    pub(super) charge: Charge,
    pub(super) xattrs: BTreeMap<Bytes, Bytes>,
    /// Of the exclusive create that made the file, until its times change.
    pub(super) verifier: Option<[u8; 8]>,
}

/// What an object holds.
pub(super) enum Content {
    File(Pages),
    Directory(Entries),
    Symlink(Bytes),
    Nothing,
}

impl Inode {
    /// A new object, found in `table` from now on.
    pub(super) fn new(
        attributes: Attributes,
        content: Content,
        budget: &Arc<Budget>,
        table: &Arc<Table>,
    ) -> Result<Arc<Self>> {
        let mut charge = Charge::object(budget)?;
        if let Content::Symlink(target) = &content {
            charge.grow(target.len() as u64)?;
        }
        let inode = Arc::new(Self {
            fileid: attributes.fileid,
            kind: attributes.kind,
            state: RwLock::new(State {
                attributes,
                content,
                charge,
                xattrs: BTreeMap::new(),
                verifier: None,
            }),
            table: Arc::downgrade(table),
        });
        table.insert(inode.clone());
        Ok(inode)
    }

    pub(super) fn attributes(&self) -> Attributes {
        self.state.read().attributes
    }
}

impl Drop for Inode {
    fn drop(&mut self) {
        // Fails when the whole file system goes, and then there is nothing to do.
        if let Some(table) = self.table.upgrade() {
            table.forget(self.fileid);
        }
    }
}

impl State {
    /// Notes a change of attributes.
    pub(super) fn changed(&mut self, now: Timestamp) {
        self.attributes.changed = now;
        self.attributes.change += 1;
    }

    /// Notes a change of the data or entries.
    pub(super) fn modified(&mut self, now: Timestamp) {
        self.attributes.modified = now;
        self.verifier = None;
        self.changed(now);
    }

    /// The entries of a directory that still has a name.
    pub(super) fn entries(&mut self) -> Result<(&mut Attributes, &mut Entries)> {
        match &mut self.content {
            Content::Directory(_) if self.attributes.links == 0 => Err(Error::Stale),
            Content::Directory(entries) => Ok((&mut self.attributes, entries)),
            _ => Err(Error::NotDirectory),
        }
    }

    /// Sets the length of a file.
    pub(super) fn set_size(&mut self, size: u64) {
        if let Content::File(pages) = &mut self.content {
            if size < self.attributes.size {
                pages.truncate(size, &mut self.charge);
            }
            self.attributes.size = size;
            self.attributes.used = pages.used_bytes();
        }
    }
}

/// The attributes of an object that was just made, as the superuser's and without permissions.
pub(super) fn new_attributes(kind: FileKind, fileid: u64, fsid: u64, now: Timestamp) -> Attributes {
    Attributes {
        kind,
        mode: 0,
        links: if kind == FileKind::Directory { 2 } else { 1 },
        uid: 0,
        gid: 0,
        size: 0,
        used: 0,
        device: DeviceNumber::default(),
        fsid,
        fileid,
        accessed: now,
        modified: now,
        changed: now,
        created: Some(now),
        change: 1,
    }
}

//! Names: looking them up, making, removing and changing them.

use bytes::Bytes;
use client::{Object, Special};
use fuser::{Errno, RenameFlags};
use rustix::fs::{FileType as Kind, RawMode};

use crate::convert::device_numbers;
use crate::errno::{self, Result};
use crate::tree::{Entry, Tree};

impl Tree {
    pub(crate) async fn lookup(&self, parent: u64, name: &[u8]) -> Result<Entry> {
        let parent = self.inodes.get(parent)?;
        let object = parent.object.lookup(name).await.map_err(errno::of)?;
        self.entry(&parent, name, &object).await
    }

    pub(crate) async fn make_directory(&self, parent: u64, name: &[u8], mode: u32) -> Result<Entry> {
        self.make(parent, name, Special::Directory, mode & 0o7777).await
    }

    pub(crate) async fn symlink(&self, parent: u64, name: &[u8], target: &[u8]) -> Result<Entry> {
        self.make(parent, name, Special::Symlink(Bytes::copy_from_slice(target)), 0o777).await
    }

    pub(crate) async fn make_node(&self, parent: u64, name: &[u8], mode: u32, device: u32) -> Result<Entry> {
        let (major, minor) = device_numbers(device);
        let special = match Kind::from_raw_mode(mode as RawMode) {
            Kind::RegularFile => return self.create_file(parent, name, mode & 0o7777).await,
            Kind::Fifo => Special::Fifo,
            Kind::Socket => Special::Socket,
            Kind::BlockDevice => Special::Block(major, minor),
            Kind::CharacterDevice => Special::Character(major, minor),
            _ => return Err(Errno::EINVAL),
        };
        self.make(parent, name, special, mode & 0o7777).await
    }

    async fn make(&self, parent: u64, name: &[u8], what: Special, mode: u32) -> Result<Entry> {
        let parent = self.inodes.get(parent)?;
        let object = parent.object.make(name, what, mode).await.map_err(errno::of)?;
        self.changed_entry(&parent, name, &object).await
    }

    async fn create_file(&self, parent: u64, name: &[u8], mode: u32) -> Result<Entry> {
        let parent = self.inodes.get(parent)?;
        let object = parent.object.create_file(name, mode).await.map_err(errno::of)?;
        self.changed_entry(&parent, name, &object).await
    }

    pub(crate) async fn link(&self, object: u64, parent: u64, name: &[u8]) -> Result<Entry> {
        let (inode, parent) = (self.inodes.get(object)?, self.inodes.get(parent)?);
        parent.object.link(name, &inode.object).await.map_err(errno::of)?;
        self.changed_entry(&parent, name, &inode.object).await
    }

    pub(crate) async fn remove_directory(&self, parent: u64, name: &[u8]) -> Result<()> {
        let parent = self.inodes.get(parent)?;
        parent.object.remove(name, true).await.map_err(errno::of)
    }

    pub(crate) async fn remove(&self, parent: u64, name: &[u8]) -> Result<()> {
        let parent = self.inodes.get(parent)?;
        let Some(inode) = self.known(&parent, name).await? else {
            return parent.object.remove(name, false).await.map_err(errno::of);
        };
        let _gate = inode.removal_gate.write().await;
        match self.in_use(&inode).await? {
            Some(opening) => self.hide(&parent.object, name, &opening).await,
            None => parent.object.remove(name, false).await.map_err(errno::of),
        }
    }

    pub(crate) async fn rename(
        &self,
        (parent, name): (u64, &[u8]),
        (to_parent, to_name): (u64, &[u8]),
        flags: RenameFlags,
    ) -> Result<()> {
        let (parent, to) = (self.inodes.get(parent)?, self.inodes.get(to_parent)?);
        if flags == RenameFlags::RENAME_NOREPLACE {
            return rename_to_new(&parent.object, name, &to.object, to_name).await;
        }
        if !flags.is_empty() {
            return Err(Errno::EINVAL);
        }
        let replaced = self.known(&to, to_name).await?;
        let _gate = match &replaced {
            Some(replaced) => Some(replaced.removal_gate.write().await),
            None => None,
        };
        if let Some(replaced) = &replaced
            && let Some(opening) = self.in_use(replaced).await?
        {
            let moved = parent.object.lookup(name).await.map_err(errno::of)?;
            if moved.key() != replaced.object.key() && !is_directory(&moved) {
                return self.rename_over((&parent.object, name), (&to.object, to_name), &opening).await;
            }
        }
        parent.object.rename(name, &to.object, to_name).await.map_err(errno::of)
    }
}

/// Renames unless the new name is taken. NFS has no such request; LINK has that condition, and what is not a
/// directory can have two names for a moment.
async fn rename_to_new(from: &Object, name: &[u8], to: &Object, to_name: &[u8]) -> Result<()> {
    let moved = from.lookup(name).await.map_err(errno::of)?;
    if is_directory(&moved) {
        return Err(Errno::EINVAL);
    }
    to.link(to_name, &moved).await.map_err(errno::of)?;
    from.remove(name, false).await.map_err(errno::of)
}

fn is_directory(object: &Object) -> bool {
    object.remembered().is_some_and(|remembered| remembered.attributes.is_directory())
}

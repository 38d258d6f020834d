//! Names: looking them up, making, removing and changing them.

use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use client::{FileType, Object, Special};
use fuser::{Errno, RenameFlags};
use rustix::fs::{FileType as Kind, RawMode};

use crate::convert::device_numbers;
use crate::errno::{self, Result};
use crate::inodes::{Hidden, Inode};
use crate::tree::{Entry, Tree};

/// How often another name is tried for a file that is removed while it is open.
const HIDING_ATTEMPTS_MAX: usize = 16;

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
        if let Some(inode) = self.in_use(&parent, name).await? {
            return self.hide(&parent.object, name, &inode).await;
        }
        parent.object.remove(name, false).await.map_err(errno::of)
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
        if let Some(replaced) = self.in_use(&to, to_name).await? {
            let moved = parent.object.lookup(name).await.map_err(errno::of)?;
            if moved.key() != replaced.object.key() && !is_directory(&moved) {
                return self.rename_over((&parent.object, name), (&to.object, to_name), &replaced).await;
            }
        }
        parent.object.rename(name, &to.object, to_name).await.map_err(errno::of)
    }

    /// Renames over a file that is open here. The name stands for the one file or the other at all times, so the file that is open
    /// gets its second name first.
    async fn rename_over(
        &self,
        (from, name): (&Object, &[u8]),
        (to, to_name): (&Object, &[u8]),
        replaced: &Arc<Inode>,
    ) -> Result<()> {
        let linked = self.link_hidden(to, replaced).await;
        if let Err(error) = linked {
            if !are_links_missing(error) {
                return Err(error);
            }
            // The name is gone for a moment then.
            self.hide(to, to_name, replaced).await?;
        }
        let renamed = from.rename(name, to, to_name).await;
        let Err(error) = renamed else { return Ok(()) };
        let hidden = replaced.state.lock().hidden.take();
        match hidden {
            Some(hidden) if linked.is_ok() => remove_name(&hidden).await,
            Some(hidden) => give_back(&hidden, to, to_name).await,
            None => {}
        }
        Err(errno::of(error))
    }

    /// Gives a file that is open a second name, by which it is kept when the first goes to another.
    async fn link_hidden(&self, directory: &Object, inode: &Arc<Inode>) -> Result<()> {
        for _ in 0..HIDING_ATTEMPTS_MAX {
            let hidden = self.hidden_name(inode);
            match directory.link(&hidden, &inode.object).await {
                // Left by another mount, or by an earlier one.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                linked => {
                    linked.map_err(errno::of)?;
                    inode.state.lock().hidden = Some(Hidden { directory: directory.clone(), name: hidden });
                    return Ok(());
                }
            }
        }
        Err(Errno::EBUSY)
    }

    fn hidden_name(&self, inode: &Inode) -> Vec<u8> {
        let number = self.next_hidden.fetch_add(1, Ordering::Relaxed);
        format!(".nfs{:016x}{number:08x}", inode.number).into_bytes()
    }

    /// The file that `name` stands for, if it is open here and this is its only name: to remove it would take it away from
    /// who has it open.
    async fn in_use(&self, parent: &Inode, name: &[u8]) -> Result<Option<Arc<Inode>>> {
        let object = match parent.object.lookup(name).await {
            Ok(object) => object,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(errno::of(error)),
        };
        let Some(inode) = self.inodes.find(object.key()) else { return Ok(None) };
        {
            let state = inode.state.lock();
            if state.opens == 0 || state.hidden.is_some() {
                return Ok(None);
            }
        }
        let attributes = object.attributes().await.map_err(errno::of)?;
        Ok((attributes.kind == FileType::Regular && attributes.links <= 1).then_some(inode))
    }

    /// Gives a file that is open a name by which it is kept until it is closed. The server need not keep it otherwise: NFSv3
    /// has no opens, and those of NFSv4 need not outlive the last name.
    async fn hide(&self, directory: &Object, name: &[u8], inode: &Arc<Inode>) -> Result<()> {
        for _ in 0..HIDING_ATTEMPTS_MAX {
            let hidden = self.hidden_name(inode);
            match directory.lookup(&hidden).await {
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(errno::of(error)),
                // Left by another mount, or by an earlier one.
                Ok(_) => continue,
            }
            directory.rename(name, directory, &hidden).await.map_err(errno::of)?;
            inode.state.lock().hidden = Some(Hidden { directory: directory.clone(), name: hidden });
            return Ok(());
        }
        Err(Errno::EBUSY)
    }

    /// The last open file of an object is closed.
    pub(crate) async fn remove_hidden(&self, inode: &Inode) {
        let hidden = {
            let mut state = inode.state.lock();
            if state.opens > 0 { None } else { state.hidden.take() }
        };
        if let Some(hidden) = hidden {
            remove_name(&hidden).await;
        }
    }
}

/// The file system of the server gives no file two names, or not this one.
fn are_links_missing(error: Errno) -> bool {
    [Errno::EOPNOTSUPP, Errno::EPERM, Errno::EMLINK].iter().any(|other| other.code() == error.code())
}

async fn give_back(hidden: &Hidden, directory: &Object, name: &[u8]) {
    if let Err(error) = hidden.directory.rename(&hidden.name, directory, name).await {
        tracing::warn!(%error, name = %String::from_utf8_lossy(&hidden.name), "a file kept the name that hides it");
    }
}

async fn remove_name(Hidden { directory, name }: &Hidden) {
    if let Err(error) = directory.remove(name, false).await {
        tracing::warn!(%error, name = %String::from_utf8_lossy(name), "a file that was removed while open is left");
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

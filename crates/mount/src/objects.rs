//! Attributes, permissions, links' targets, and the space of the file system.

use client::{Access, FsStat, SetAttributes};
use fuser::{AccessFlags, Errno, FileAttr, FileHandle};
use std::time::Duration;

use crate::ends::Changing;
use crate::errno::{self, Result};
use crate::tree::Tree;

impl Tree {
    pub(crate) async fn get_attributes(&self, number: u64) -> Result<(FileAttr, Duration)> {
        let inode = self.inodes.get(number)?;
        self.attributes(&inode).await
    }

    pub(crate) async fn set_attributes(
        &self,
        number: u64,
        set: SetAttributes,
        handle: Option<FileHandle>,
        clears_set_id: bool,
    ) -> Result<(FileAttr, Duration)> {
        let inode = self.inodes.get(number)?;
        let open = handle.and_then(|handle| self.files.get(handle).ok());
        let file = open.as_ref().filter(|open| open.writable).map(|open| &open.file);
        if clears_set_id && set.size.is_some() {
            self.clear_set_id(&inode).await?;
        }
        let changing = set.size.map(|_| Changing::begin(&inode));
        inode.object.set_attributes(&set, file).await.map_err(errno::of)?;
        drop(changing);
        // As in [`Tree::changed_entry`].
        Ok((self.attributes(&inode).await?.0, Duration::ZERO))
    }

    pub(crate) async fn read_link(&self, number: u64) -> Result<bytes::Bytes> {
        self.inodes.get(number)?.object.read_link().await.map_err(errno::of)
    }

    /// The server decides: it knows of access lists, and of users that it takes for others.
    pub(crate) async fn check_access(&self, number: u64, mask: AccessFlags) -> Result<()> {
        let inode = self.inodes.get(number)?;
        let directory = match inode.object.remembered() {
            Some(remembered) => remembered.attributes.is_directory(),
            None => inode.object.attributes().await.map_err(errno::of)?.is_directory(),
        };
        let mut wanted = Access::default();
        if mask.contains(AccessFlags::R_OK) {
            wanted = wanted | Access::READ;
        }
        if mask.contains(AccessFlags::W_OK) {
            wanted = wanted | Access::MODIFY | Access::EXTEND;
        }
        if mask.contains(AccessFlags::X_OK) {
            wanted = wanted | if directory { Access::LOOKUP } else { Access::EXECUTE };
        }
        if wanted == Access::default() {
            return Ok(());
        }
        match inode.object.access(wanted).await.map_err(errno::of)?.contains(wanted) {
            true => Ok(()),
            false => Err(Errno::EACCES),
        }
    }

    pub(crate) async fn fs_stat(&self, number: u64) -> Result<FsStat> {
        self.inodes.get(number)?.object.fs_stat().await.map_err(errno::of)
    }
}

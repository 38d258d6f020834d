//! Set-id bits of a file that is changed by a user who may not keep them (CAP_FSETID).
//!
//! The server takes all users for the one who mounted, and leaves the bits where that one is root. So the
//! mount clears them, as the kernel asks file systems to that negotiate `FUSE_HANDLE_KILLPRIV_V2`. The FUSE
//! library passes its flag on for writes alone; for truncation and space, every user but root counts as one
//! without the capability.

use client::SetAttributes;
use fuser::{FileHandle, INodeNo, Request};
use rustix::io::Errno;

use crate::errno::{self, Result};
use crate::inodes::Inode;
use crate::tree::Tree;

const SET_USER_ID: u32 = 0o4000;
const SET_GROUP_ID: u32 = 0o2000;
const GROUP_EXECUTE: u32 = 0o0010;

/// Whether a change by the user of `request` clears set-id bits.
pub(crate) fn is_cleared_by(request: &Request) -> bool {
    request.uid() != 0
}

impl Tree {
    /// Clears the set-id bits of a file that is about to be changed. Asks the server for nothing where it
    /// has none.
    pub(crate) async fn clear_set_id(&self, inode: &Inode) -> Result<()> {
        let Some(known) = inode.object.remembered() else { return Ok(()) };
        if without_set_id(known.attributes.mode) == known.attributes.mode {
            return Ok(());
        }
        let mode = inode.object.attributes().await.map_err(errno::of)?.mode;
        let set = SetAttributes { mode: Some(without_set_id(mode) & 0o7777), ..SetAttributes::default() };
        match inode.object.set_attributes(&set, None).await {
            Ok(()) => self.forget_mode(inode),
            // A server that does not take the user for the owner or root clears the bits with the change
            // itself.
            Err(error)
                if [Errno::PERM, Errno::ACCESS].map(Errno::raw_os_error).contains(&error.raw_os_error()) => {}
            Err(error) => return Err(errno::of(error)),
        }
        Ok(())
    }

    /// As [`Tree::clear_set_id`], of an open file.
    pub(crate) async fn clear_set_id_of(&self, handle: FileHandle) -> Result<()> {
        let open = self.files.get(handle)?;
        self.clear_set_id(&open.opening.inode).await
    }

    /// The kernel asks for the attributes before it executes the file.
    fn forget_mode(&self, inode: &Inode) {
        let Some(notifier) = self.notifier.get().cloned() else { return };
        let number = INodeNo(inode.number);
        self.runtime.spawn_blocking(move || {
            // An offset below 0 keeps the pages.
            if let Err(error) = notifier.inval_inode(number, -1, 0) {
                tracing::debug!(%error, "telling the kernel of a mode");
            }
        });
    }
}

fn without_set_id(mode: u32) -> u32 {
    // Without the group's execute permission the bit does not set the group (setattr_should_drop_sgid in
    // fs/attr.c).
    let group = if mode & GROUP_EXECUTE == 0 { 0 } else { SET_GROUP_ID };
    mode & !(SET_USER_ID | group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_group_id_without_execute_permission_stays() {
        assert_eq!(
            [0o6755, 0o4644, 0o2755, 0o2644, 0o755].map(without_set_id),
            [0o755, 0o644, 0o755, 0o2644, 0o755]
        );
    }
}

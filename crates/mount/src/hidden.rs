//! Files that are removed or renamed over while they are open: the name `.nfs…` that keeps each until it is
//! closed. The server need not keep it otherwise: NFSv3 has no opens, and those of NFSv4 need not outlive the
//! last name.
//!
//! Whoever gives a file such a name counts as one who has it open until that is done. So the name is known
//! when the last of all these ends, and that one removes it.

use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use client::{Error, FileType, Object};
use fuser::Errno;

use crate::errno::{self, Result};
use crate::handles::Opening;
use crate::inodes::{Hidden, Inode};
use crate::tree::Tree;

/// How often another name is tried.
const HIDING_ATTEMPTS_MAX: usize = 16;
/// How often a name is removed whose removal nobody knows the outcome of. Each time another session or the
/// whole server is lost.
const REMOVAL_ATTEMPTS_MAX: usize = 16;

impl Tree {
    /// What `name` stands for, if the kernel knows it.
    pub(crate) async fn known(&self, parent: &Inode, name: &[u8]) -> Result<Option<Arc<Inode>>> {
        match parent.object.lookup(name).await {
            Ok(object) => Ok(self.inodes.find(object.key())),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(errno::of(error)),
        }
    }

    /// A part in a file that is open here and has one name: to remove that would take the file away from who
    /// has it open. For who has closed the removal gate.
    pub(crate) async fn in_use(&self, inode: &Arc<Inode>) -> Result<Option<Opening>> {
        let Some(opening) = Opening::join(&self.background, inode) else { return Ok(None) };
        let attributes = inode.object.attributes().await.map_err(errno::of)?;
        Ok((attributes.kind == FileType::Regular && attributes.links <= 1).then_some(opening))
    }

    /// Gives an open file a name by which it is kept until it is closed, instead of the one that it has.
    pub(crate) async fn hide(&self, directory: &Object, name: &[u8], opening: &Opening) -> Result<()> {
        let inode = &opening.inode;
        for _ in 0..HIDING_ATTEMPTS_MAX {
            let hidden = self.hidden_name(inode);
            match directory.lookup(&hidden).await {
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(errno::of(error)),
                // Left by another mount, or by an earlier one.
                Ok(_) => continue,
            }
            let renamed = directory.rename(name, directory, &hidden).await;
            self.certain(renamed, directory, &hidden, inode).await?;
            inode.state.lock().hidden = Some(Hidden { directory: directory.clone(), name: hidden });
            return Ok(());
        }
        Err(Errno::EBUSY)
    }

    /// Renames over a file that is open here. The name stands for the one file or the other at all times, so
    /// the file that is open gets its second name first.
    pub(crate) async fn rename_over(
        &self,
        (from, name): (&Object, &[u8]),
        (to, to_name): (&Object, &[u8]),
        replaced: &Opening,
    ) -> Result<()> {
        let linked = self.link_hidden(to, &replaced.inode).await;
        if let Err(error) = linked {
            if !are_links_missing(error) {
                return Err(error);
            }
            // The name is gone for a moment then.
            self.hide(to, to_name, replaced).await?;
        }
        let renamed = from.rename(name, to, to_name).await;
        let Err(error) = renamed else { return Ok(()) };
        let hidden = replaced.inode.state.lock().hidden.take();
        match hidden {
            Some(hidden) if linked.is_ok() => hidden.remove().await,
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
                    self.certain(linked, directory, &hidden, inode).await?;
                    inode.state.lock().hidden = Some(Hidden { directory: directory.clone(), name: hidden });
                    return Ok(());
                }
            }
        }
        Err(Errno::EBUSY)
    }

    /// What came of giving a file a hidden name. Where the answer is lost the name tells, which nobody else
    /// gives to anything.
    async fn certain(
        &self,
        outcome: client::Result<()>,
        directory: &Object,
        hidden: &[u8],
        inode: &Inode,
    ) -> Result<()> {
        if let Err(Error::UncertainOutcome { .. }) = outcome
            && directory.lookup(hidden).await.is_ok_and(|found| found.key() == inode.object.key())
        {
            return Ok(());
        }
        outcome.map_err(errno::of)
    }

    fn hidden_name(&self, inode: &Inode) -> Vec<u8> {
        let number = self.next_hidden.fetch_add(1, Ordering::Relaxed);
        format!(".nfs{:016x}{number:08x}", inode.number).into_bytes()
    }
}

/// Removes the name of a file that nobody has open any more, unless somebody is about to open it.
pub(crate) async fn remove_hidden(inode: &Inode) {
    let _gate = inode.removal_gate.write().await;
    let hidden = {
        let mut state = inode.state.lock();
        if state.opens == 0 { state.hidden.take() } else { None }
    };
    if let Some(hidden) = hidden {
        hidden.remove().await;
    }
}

impl Hidden {
    async fn remove(&self) {
        let Self { directory, name } = self;
        let mut removed = directory.remove(name, false).await;
        for _ in 1..REMOVAL_ATTEMPTS_MAX {
            // Nobody else gives the name to anything.
            let Err(Error::UncertainOutcome { .. }) = removed else { break };
            removed = directory.remove(name, false).await;
        }
        if let Err(error) = removed
            && !error.is_not_found()
        {
            let name = String::from_utf8_lossy(name);
            tracing::warn!(%error, %name, "a file that was removed while open is left");
        }
    }
}

/// The file system of the server gives no file two names, or not this one.
fn are_links_missing(error: Errno) -> bool {
    [Errno::EOPNOTSUPP, Errno::EPERM, Errno::EMLINK].iter().any(|other| other.code() == error.code())
}

async fn give_back(hidden: &Hidden, directory: &Object, name: &[u8]) {
    if let Err(error) = hidden.directory.rename(&hidden.name, directory, name).await {
        let name = String::from_utf8_lossy(&hidden.name);
        tracing::warn!(%error, %name, "a file kept the name that hides it");
    }
}

//! Where the kernel takes the end of a file to be.
//!
//! It asks before it reads beyond that, and whenever attributes were told to be void. But it passes over the
//! answer when it was told anything about the file since it asked, and goes on with the end that it knew: a
//! program that has just opened the file would not see what another has added, because a third opens it or
//! writes to it, too. So where the kernel may take a file for shorter than it is, it is given the last byte
//! of it, which it cannot pass over. That a file has become shorter it cannot be told; it finds out when it
//! reads.
//!
//! Nothing is given while the file is open for reading and writing: a program may have it mapped, and its
//! stores into that page would be lost. Reads and writes pass the kernel's cache then (`FOPEN_DIRECT_IO`),
//! and do not depend on the end that it knows.

use std::sync::Arc;

use client::File;
use fuser::INodeNo;

use crate::inodes::Inode;
use crate::tree::Tree;

/// How often the last page is read again because it is being written.
const ATTEMPTS_MAX: usize = 3;

/// What is known of the end that the kernel knows.
#[derive(Debug, Default)]
pub(crate) struct End {
    /// The kernel's is not before this.
    least: u64,
    /// Changes of the data by this mount: how many are under way, and how many ever began or ended.
    changing: usize,
    changes: u64,
}

impl End {
    /// The kernel is told a length. It may pass over it, or take it for the latest.
    pub(crate) fn told(&mut self, size: u64) {
        self.least = self.least.min(size);
    }

    /// The kernel knows data up to there.
    fn reached(&mut self, end: u64) {
        self.least = self.least.max(end);
    }
}

/// A change of the data of a file by this mount.
#[derive(Debug)]
pub(crate) struct Changing<'a>(&'a Inode);

impl<'a> Changing<'a> {
    pub(crate) fn begin(inode: &'a Inode) -> Self {
        let mut state = inode.state.lock();
        state.end.changing += 1;
        state.end.changes += 1;
        Self(inode)
    }

    /// It has written up to there.
    pub(crate) fn wrote(self, end: u64) {
        self.0.state.lock().end.reached(end);
    }
}

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.end.changing -= 1;
        state.end.changes += 1;
    }
}

/// The kernel does not take the file for shorter than it is known to be.
pub(crate) async fn tell_longer_end(tree: &Arc<Tree>, inode: &Arc<Inode>, file: &File) -> client::Result<()> {
    let Some(known) = inode.object.remembered() else { return Ok(()) };
    let longer = known.attributes.size > inode.state.lock().end.least;
    if longer { tell(tree, inode, file, known.attributes.size).await } else { Ok(()) }
}

/// The kernel learns of a longer file before it appends to it, for it asks nobody where the end is.
pub(crate) async fn tell_end(tree: &Arc<Tree>, inode: &Arc<Inode>, file: &File) -> client::Result<()> {
    tell(tree, inode, file, file.metadata().await?.size).await
}

/// The kernel is given the last page whole, so that it does not put data of two times into one. It keeps that
/// as if it had read it, so it must be what a reader would get: no change by this mount may come between.
async fn tell(tree: &Arc<Tree>, inode: &Arc<Inode>, file: &File, size: u64) -> client::Result<()> {
    if inode.state.lock().pages.may_be_dirty() {
        return Ok(());
    }
    let Some(last) = size.checked_sub(1) else { return Ok(()) };
    let start = last - last % rustix::param::page_size() as u64;
    for attempt in 1..=ATTEMPTS_MAX {
        let before = Moment::of(inode);
        let data = file.read_at(start, (size - start) as usize).await?;
        if data.is_empty() {
            // It has become shorter.
            return Ok(());
        }
        let (runtime, tree, inode) = (tree.runtime.clone(), Arc::clone(tree), Arc::clone(inode));
        let told = runtime.spawn_blocking(move || {
            let undisturbed = before.is_still(&inode);
            if undisturbed || attempt == ATTEMPTS_MAX {
                give(&tree, &inode, (start, &data), before);
            }
            undisturbed
        });
        // Otherwise a panic or a runtime that ends: there is nobody to tell any more.
        if told.await.unwrap_or(true) {
            break;
        }
    }
    Ok(())
}

fn give(tree: &Tree, inode: &Inode, (start, data): (u64, &[u8]), before: Moment) {
    let Some(notifier) = tree.notifier.get() else { return };
    let _gate = inode.store_gate.blocking_lock();
    // Programs may have stored into the page, and others would lose that.
    if inode.state.lock().pages.may_be_dirty() {
        return;
    }
    if let Err(error) = notifier.store(INodeNo(inode.number), start, data) {
        tracing::debug!(%error, "telling the kernel of the end of a file");
        return;
    }
    inode.state.lock().end.reached(start + data.len() as u64);
    // The end stays known; the data must be read again.
    if !before.is_still(inode)
        && let Err(error) = notifier.inval_inode(INodeNo(inode.number), start as i64, data.len() as i64)
    {
        tracing::debug!(%error, "telling the kernel that the end of a file has changed");
    }
}

/// A time at which the data of a file were what they were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Moment {
    changing: usize,
    changes: u64,
    content: u64,
}

impl Moment {
    fn of(inode: &Inode) -> Self {
        let content = inode.object.content();
        let end = &inode.state.lock().end;
        Self { changing: end.changing, changes: end.changes, content }
    }

    /// Nothing has changed since, as far as is known.
    fn is_still(self, inode: &Inode) -> bool {
        self.changing == 0 && Self::of(inode) == self
    }
}

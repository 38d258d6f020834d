//! What the kernel keeps and must not any more: told to it when the client learns that it is void.

use std::ffi::OsStr;
use std::future::Future;
use std::os::unix::ffi::OsStrExt;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use client::Watcher;
use fuser::INodeNo;

use crate::inodes::Inode;
use crate::tree::Tree;

/// How long the kernel may take to drop what it keeps before a delegation goes back without its having done
/// so. The kernel waits for pages that are being read or written, which is requests of ours.
const DROPPING: Duration = Duration::from_secs(2);

/// Tells the kernel of a tree.
pub(crate) struct Notices {
    tree: Weak<Tree>,
}

impl Notices {
    pub(crate) fn new(tree: &Arc<Tree>) -> Self {
        Self { tree: Arc::downgrade(tree) }
    }

    fn inode(&self, key: u64) -> Option<(Arc<Tree>, Arc<Inode>)> {
        let tree = self.tree.upgrade()?;
        let inode = tree.inodes.find(key)?;
        Some((tree, inode))
    }
}

impl Watcher for Notices {
    fn changed(&self, object: u64) {
        let Some((tree, inode)) = self.inode(object) else { return };
        if !tree.notices.lock().insert(object) {
            return;
        }
        let runtime = tree.runtime.clone();
        // The kernel may be waiting for what called this, so it must not be waited for here.
        runtime.spawn_blocking(move || {
            tree.notices.lock().remove(&object);
            drop_old_pages(&tree, &inode);
        });
    }

    fn returning(&self, object: u64) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let Some((tree, inode)) = self.inode(object) else { return Box::pin(std::future::ready(())) };
        Box::pin(async move {
            drop_name(&tree, &inode);
            let dropped = drop_pages_soon(&tree, &inode);
            if tokio::time::timeout(DROPPING, dropped).await.is_err() {
                tracing::warn!("the kernel still uses the pages of a file whose delegation goes back");
            }
        })
    }
}

/// Invalidates the kernel's pages and attributes of an object unless they are current. Opens and locks call
/// this; no other invalidation is under way when it returns.
pub(crate) async fn drop_what_is_old(tree: &Arc<Tree>, inode: &Arc<Inode>) -> client::Result<()> {
    let content = inode.object.settled_content().await?;
    if inode.state.lock().kept.is_some_and(|kept| kept != content) {
        on_blocking_thread(tree, inode, drop_old_pages).await;
    }
    Ok(())
}

/// The kernel drops pages and attributes; ends when it has.
pub(crate) async fn drop_pages_soon(tree: &Arc<Tree>, inode: &Arc<Inode>) {
    on_blocking_thread(tree, inode, |tree, inode| {
        let _gate = inode.drop_gate.lock();
        drop_pages(tree, inode);
    })
    .await;
}

async fn on_blocking_thread(tree: &Arc<Tree>, inode: &Arc<Inode>, invalidate: fn(&Tree, &Inode)) {
    let (tree, inode) = (Arc::clone(tree), Arc::clone(inode));
    let runtime = tree.runtime.clone();
    // It fails after a panic, or when the runtime ends: the kernel keeps nothing then.
    let _ = runtime.spawn_blocking(move || invalidate(&tree, &inode)).await;
}

/// Invalidates the kernel's pages unless they are current, which another task may have seen to.
///
/// The kernel discards the answer to each GETATTR that it sent before an invalidation, and goes on with the
/// size that it knew. A program that has just been granted a lock must not meet a late invalidation: its
/// `lseek` to the end would return the end of before.
fn drop_old_pages(tree: &Tree, inode: &Inode) {
    let _gate = inode.drop_gate.lock();
    let content = inode.object.content();
    if inode.state.lock().kept.is_some_and(|kept| kept != content) {
        drop_pages(tree, inode);
    }
}

/// The caller holds [`Inode::drop_gate`].
fn drop_pages(tree: &Tree, inode: &Inode) {
    let Some(notifier) = tree.notifier.get() else { return };
    let content = inode.object.content();
    match notifier.inval_inode(INodeNo(inode.number), 0, 0) {
        Ok(()) => inode.state.lock().kept = Some(content),
        // It keeps nothing of the object.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => tracing::debug!(%error, "telling the kernel of a change"),
    }
}

/// The kernel asks for the name again. It may hold the directory's lock for a request of ours, so nobody
/// waits for it.
fn drop_name(tree: &Arc<Tree>, inode: &Inode) {
    let Some((parent, name)) = inode.state.lock().place.clone() else { return };
    let tree = Arc::clone(tree);
    let runtime = tree.runtime.clone();
    runtime.spawn_blocking(move || {
        let Some(notifier) = tree.notifier.get() else { return };
        if let Err(error) = notifier.inval_entry(INodeNo(parent), OsStr::from_bytes(&name))
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::debug!(%error, "telling the kernel of a name");
        }
    });
}

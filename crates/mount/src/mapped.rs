//! Changes of data that may lie in pages which programs have mapped.
//!
//! The kernel writes back and drops the pages of a range before it sends a direct write, and once more
//! afterwards. In between, a program that has the file mapped may get a page as it was before the write,
//! and store into it. The kernel then writes that page whole over what was written. So a change is carried
//! out while the kernel has no page of its range: the mount drops the pages, starts again when one was read
//! meanwhile, and delays reads of pages of the range until the change is done.
//!
//! Only a file that is open for reading and writing can have dirty pages. Where no such file is open, or
//! the kernel has not read pages of it, a change costs nothing more.

use std::ops::Range;
use std::sync::Arc;

use fuser::{Errno, INodeNo};

use crate::errno::Result;
use crate::inodes::Inode;
use crate::tree::Tree;

/// How often the pages of a change are dropped because a program reads them again. Beyond that the change
/// fails with EIO.
const ATTEMPTS_MAX: usize = 10_000;

/// Ranges of which the kernel may have pages, and the changes under way.
#[derive(Debug, Default)]
pub(crate) struct MappedPages {
    /// Open files through which programs may map the object to store into it.
    mappable: usize,
    /// The kernel has read pages since the first of those was opened.
    read: bool,
    next_change: u64,
    changes: Vec<Change>,
}

#[derive(Debug)]
struct Change {
    id: u64,
    pages: Range<u64>,
    /// The kernel may have pages of the range as they were before.
    stale: bool,
    executing: bool,
}

impl MappedPages {
    /// True when the kernel may have pages that differ from what the client has.
    pub(crate) fn may_be_dirty(&self) -> bool {
        self.mappable > 0
    }

    /// True when programs have the object mapped, and may store into it.
    pub(crate) fn are_mapped(&self) -> bool {
        self.mappable > 0 && self.read
    }

    /// Returns whether a read of these pages may go on; otherwise it waits for a change of them.
    fn begin_read(&mut self, pages: &Range<u64>) -> bool {
        self.read |= self.mappable > 0;
        let mut ready = true;
        for change in self.changes.iter_mut().filter(|change| overlap(&change.pages, pages)) {
            change.stale |= !change.executing;
            ready &= !change.executing;
        }
        ready
    }

    fn begin_change(&mut self, pages: Range<u64>) -> u64 {
        let id = self.next_change;
        self.next_change += 1;
        self.changes.push(Change { id, pages, stale: self.are_mapped(), executing: false });
        id
    }

    /// Returns whether the change may be carried out: the kernel has no pages of it. Otherwise the caller
    /// drops them.
    fn try_execute(&mut self, id: u64) -> bool {
        let change = self.changes.iter_mut().find(|change| change.id == id).expect("it has begun");
        change.executing = !std::mem::take(&mut change.stale);
        change.executing
    }

    fn end_change(&mut self, id: u64) {
        self.changes.retain(|change| change.id != id);
    }
}

/// An open file through which programs may map the object to store into it.
#[derive(Debug)]
pub(crate) struct Mappable(Arc<Inode>);

impl Mappable {
    /// Waits for the end of a store into the kernel's cache: none may come after this.
    pub(crate) async fn begin(inode: &Arc<Inode>) -> Self {
        let _gate = inode.store_gate.lock().await;
        inode.state.lock().pages.mappable += 1;
        Self(Arc::clone(inode))
    }
}

impl Drop for Mappable {
    fn drop(&mut self) {
        let pages = &mut self.0.state.lock().pages;
        pages.mappable -= 1;
        // The next program that maps the object begins without pages: the kernel drops them then.
        pages.read &= pages.mappable > 0;
    }
}

/// Ends a change when it is dropped.
struct ChangeGuard<'a> {
    inode: &'a Inode,
    id: u64,
}

impl Drop for ChangeGuard<'_> {
    fn drop(&mut self) {
        self.inode.state.lock().pages.end_change(self.id);
        self.inode.changed.notify_waiters();
    }
}

/// Waits until no change of the range is being carried out. For reads of pages, which the kernel keeps.
pub(crate) async fn begin_page_read(inode: &Inode, range: Range<u64>) {
    let pages = pages_of(&range);
    loop {
        let mut changed = std::pin::pin!(inode.changed.notified());
        changed.as_mut().enable();
        if inode.state.lock().pages.begin_read(&pages) {
            return;
        }
        changed.await;
    }
}

/// Carries out `work`, a change of the range, while the kernel has no page of it.
pub(crate) async fn change_pages<T>(
    tree: &Arc<Tree>,
    inode: &Arc<Inode>,
    range: Range<u64>,
    work: impl Future<Output = Result<T>>,
) -> Result<T> {
    let pages = pages_of(&range);
    let id = inode.state.lock().pages.begin_change(pages.clone());
    let change = ChangeGuard { inode, id };
    for _ in 0..ATTEMPTS_MAX {
        if inode.state.lock().pages.try_execute(change.id) {
            return work.await;
        }
        drop_range(tree, inode, pages.clone()).await;
    }
    Err(Errno::EIO)
}

/// The parts of a range that [`change_pages`] is to change at once: pages, where programs have the object
/// mapped, since a busy one reads some page of a large range all the time.
pub(crate) fn parts(inode: &Inode, range: Range<u64>) -> impl Iterator<Item = Range<u64>> + use<> {
    let part = if inode.state.lock().pages.are_mapped() { page_bytes() } else { u64::MAX };
    let mut start = range.start;
    std::iter::from_fn(move || {
        let end = (start - start % part).saturating_add(part).min(range.end);
        let next = (start < range.end).then_some(start..end);
        start = end;
        next
    })
}

/// The kernel writes back what is dirty of those pages, and drops them.
async fn drop_range(tree: &Arc<Tree>, inode: &Arc<Inode>, pages: Range<u64>) {
    let (tree, number, runtime) = (Arc::clone(tree), inode.number, tree.runtime.clone());
    let dropped = runtime.spawn_blocking(move || {
        let Some(notifier) = tree.notifier.get() else { return };
        let start = i64::try_from(pages.start.saturating_mul(page_bytes())).unwrap_or(i64::MAX);
        // A length of 0 has no end.
        let length = pages.end.saturating_sub(pages.start).saturating_mul(page_bytes());
        let length = i64::try_from(length).ok().filter(|length| start.checked_add(*length).is_some());
        if let Err(error) = notifier.inval_inode(INodeNo(number), start, length.unwrap_or(0))
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::debug!(%error, "dropping the pages of a change");
        }
    });
    // A panic or a runtime that ends: there is nothing to drop any more.
    let _ = dropped.await;
}

fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

fn pages_of(range: &Range<u64>) -> Range<u64> {
    range.start / page_bytes()..range.end.div_ceil(page_bytes())
}

fn overlap(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start < other.end && other.start < one.end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped() -> MappedPages {
        MappedPages { mappable: 1, read: true, ..MappedPages::default() }
    }

    #[test]
    fn change_of_mapped_pages_executes_once_no_page_was_read_meanwhile() {
        let mut pages = mapped();
        let id = pages.begin_change(3..5);
        assert!(!pages.try_execute(id), "pages of before are to be dropped first");
        assert!(pages.begin_read(&(4..9)), "the kernel holds the page locked, for which dropping it waits");
        assert!(!pages.try_execute(id), "one was read meanwhile");
        assert!(pages.begin_read(&(5..9)) && pages.try_execute(id), "it is of another range");
        assert!(!pages.begin_read(&(0..4)), "it is being carried out");
        pages.end_change(id);
        assert!(pages.begin_read(&(0..4)));
    }

    #[test]
    fn change_of_object_without_mapped_pages_executes_at_once() {
        for mut pages in [
            MappedPages::default(),
            MappedPages { mappable: 1, ..MappedPages::default() },
            MappedPages { read: true, ..MappedPages::default() },
        ] {
            let id = pages.begin_change(0..1);
            assert!(pages.try_execute(id));
            assert!(!pages.begin_read(&(0..1)));
        }
    }
}

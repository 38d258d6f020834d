//! An open file, as the client's users see it and as the layers below do.

use std::fmt;
use std::ops::{Deref, Range, RangeBounds};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use parking_lot::Mutex;
use proto::nfs4::DataContent;

use crate::attributes::{Attributes, SetAttributes};
use crate::error::{Error, Result};
use crate::in_turn::InTurn;
use crate::lock::{Conflict, LockKind};
use crate::nfs4;
use crate::node::Node;
use crate::readahead::Readahead;
use crate::shared::Shared;
use crate::sparse::Space;
use crate::writer::Writer;
use crate::xattr::XattrMode;

/// An open file. Clones share it; it is closed by [`File::close`], or when the last of them is dropped.
#[derive(Clone)]
pub struct File {
    open: Arc<Closer>,
}

/// Closes the file when the last handle goes. Requests under way hold the open file itself, and not this.
struct Closer(Arc<OpenFile>);

impl Deref for Closer {
    type Target = Arc<OpenFile>;

    fn deref(&self) -> &Arc<OpenFile> {
        &self.0
    }
}

/// An open file as the layers below know it.
pub(crate) struct OpenFile {
    /// Unique in this client: the lock owner.
    pub(crate) id: u64,
    pub(crate) shared: Arc<Shared>,
    pub(crate) node: Arc<Node>,
    pub(crate) readable: bool,
    pub(crate) writable: bool,
    /// Every write is on stable storage before it returns.
    pub(crate) sync: bool,
    pub(crate) readahead: Mutex<Readahead>,
    /// Fetches ahead of the reader.
    pub(crate) ahead: Arc<InTurn>,
    /// Of those that are open for writing.
    pub(crate) writer: Option<Arc<Writer>>,
    /// NFSv4.1: what the server knows of the open.
    pub(crate) v4: Mutex<nfs4::FileState>,
    /// It was read, written or locked.
    used: AtomicBool,
    /// NFSv4.1: held while the open is made anew.
    pub(crate) reopening: tokio::sync::Mutex<()>,
    closed: AtomicBool,
    /// Held while data are taken, and alone from when it is closed until they are at the server.
    pub(crate) closing_gate: tokio::sync::RwLock<()>,
}

impl File {
    pub(crate) fn new(open: Arc<OpenFile>) -> Self {
        Self { open: Arc::new(Closer(open)) }
    }

    pub(crate) fn inner(&self) -> &Arc<OpenFile> {
        &self.open
    }

    /// Up to `length` bytes at `offset`; fewer only at the end of the file.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn read_at(&self, offset: u64, length: usize) -> Result<Bytes> {
        self.open.check(self.open.readable, "the file is not open for reading")?;
        self.open.read(offset, length).await
    }

    /// Writes all of `data` at `offset`. Returns when it is taken, which may be before the server has it:
    /// what goes wrong later, [`File::sync_all`] and [`File::close`] tell. Files opened with `sync` wait for
    /// stable storage.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn write_at(&self, offset: u64, data: Bytes) -> Result<()> {
        self.open.check(self.open.writable, "the file is not open for writing")?;
        self.open.write(offset, data).await
    }

    /// Writes all of `data` at the end of the file, as this client knows it, and returns where that was.
    /// Appends by one client never overlap, whichever of its open files they come through. NFS itself has no
    /// appending: clients that append to one file together lock it for each append, which also shows them the
    /// present end.
    ///
    /// # Errors
    /// As [`File::write_at`].
    pub async fn append(&self, data: Bytes) -> Result<u64> {
        self.open.check(self.open.writable, "the file is not open for writing")?;
        self.open.append(data).await
    }

    /// Waits until everything written is on the server's stable storage. The attributes are there at all
    /// times.
    ///
    /// # Errors
    /// What went wrong with any write since the last call.
    pub async fn sync_all(&self) -> Result<()> {
        self.open.flush().await
    }

    /// As [`File::sync_all`]: over NFS the two do not differ.
    ///
    /// # Errors
    /// As [`File::sync_all`].
    pub async fn sync_data(&self) -> Result<()> {
        self.open.flush().await
    }

    /// Sends what is not written, gives up locks, and closes.
    ///
    /// # Errors
    /// As [`File::sync_all`]. The file is closed in any case.
    pub async fn close(self) -> Result<()> {
        self.open.close().await
    }

    /// The attributes, those of data not written yet included.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn metadata(&self) -> Result<Attributes> {
        self.open.shared.attributes(&self.open.node).await
    }

    /// Sets attributes.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn set_metadata(&self, set: SetAttributes) -> Result<()> {
        self.open.shared.set_attributes(&self.open.node, &set, Some(&**self.open)).await
    }

    /// Sets the length in bytes.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn set_len(&self, size: u64) -> Result<()> {
        self.open.check(self.open.writable, "the file is not open for writing")?;
        self.set_metadata(SetAttributes { size: Some(size), ..SetAttributes::default() }).await
    }

    /// Reserves space for a range, so that writing it does not fail for want of it; a file that ends before
    /// is made longer. NFSv4.2.
    ///
    /// # Errors
    /// [`Error::Unsupported`] over an older version; see [`Error`].
    pub async fn allocate(&self, range: Range<u64>) -> Result<()> {
        self.open.check(self.open.writable, "the file is not open for writing")?;
        self.open.change_space(range, Space::Reserved).await
    }

    /// Gives the space of a range back: it reads as zeros then. The file keeps its length. NFSv4.2.
    ///
    /// # Errors
    /// As [`File::allocate`].
    pub async fn deallocate(&self, range: Range<u64>) -> Result<()> {
        self.open.check(self.open.writable, "the file is not open for writing")?;
        self.open.change_space(range, Space::GivenBack).await
    }

    /// Where data begin, at `offset` or after it; `None` when there are none before the end. NFSv4.2.
    ///
    /// # Errors
    /// As [`File::allocate`].
    pub async fn seek_data(&self, offset: u64) -> Result<Option<u64>> {
        self.open.check(true, "")?;
        self.open.seek(offset, DataContent::Data).await
    }

    /// Where a hole begins, at `offset` or after it; the end of the file counts as one. `None` when the file
    /// ends at `offset` or before. NFSv4.2.
    ///
    /// # Errors
    /// As [`File::allocate`].
    pub async fn seek_hole(&self, offset: u64) -> Result<Option<u64>> {
        self.open.check(true, "")?;
        self.open.seek(offset, DataContent::Hole).await
    }

    /// Like [`File::seek_data`], but returns `offset` when the server does not support SEEK.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn next_data(&self, offset: u64) -> Result<Option<u64>> {
        self.open.check(true, "")?;
        self.open.next_data(offset).await
    }

    /// Copies this file into the empty file `target` and returns its length. Keeps holes: those that SEEK
    /// finds, or aligned blocks of 64 KiB of zeros without SEEK. Otherwise like [`File::copy_range`].
    ///
    /// # Errors
    /// See [`Error`]. A part of the file may be copied by then.
    pub async fn copy_whole(&self, target: &Self) -> Result<u64> {
        self.open.check(self.open.readable, "the file is not open for reading")?;
        target.open.check(target.open.writable, "the file is not open for writing")?;
        self.open.copy_whole(&target.open).await
    }

    /// Copies a range of this file to `target_offset` of `target` and returns how many bytes that were: fewer
    /// only where this file ends. Over NFSv4.2 the server copies, and what it copied is on stable storage;
    /// where it cannot, over an older version, within one file or between servers, the data are read and
    /// written as by [`File::write_at`].
    ///
    /// # Errors
    /// See [`Error`]. Some of it may be copied then.
    pub async fn copy_range(
        &self,
        range: impl RangeBounds<u64>,
        target: &Self,
        target_offset: u64,
    ) -> Result<u64> {
        self.open.check(self.open.readable, "the file is not open for reading")?;
        target.open.check(target.open.writable, "the file is not open for writing")?;
        self.open.copy_range(&range, &target.open, target_offset).await
    }

    /// Lets `target` share a range of this file until either is written, at once and whole: a range without
    /// an end reaches to the end of this file. Most file systems want ranges of whole blocks. NFSv4.2.
    ///
    /// # Errors
    /// [`Error::Unsupported`] over an older version; an error of kind [`std::io::ErrorKind::Unsupported`]
    /// where the server's file system does not share; see [`Error`].
    pub async fn clone_range(
        &self,
        range: impl RangeBounds<u64>,
        target: &Self,
        target_offset: u64,
    ) -> Result<()> {
        self.open.check(self.open.readable, "the file is not open for reading")?;
        target.open.check(target.open.writable, "the file is not open for writing")?;
        self.open.clone_range(&range, &target.open, target_offset).await
    }

    /// As [`crate::Client::xattr`].
    ///
    /// # Errors
    /// As [`File::allocate`].
    pub async fn xattr(&self, name: impl AsRef<[u8]>) -> Result<Option<Bytes>> {
        self.open.shared.get_xattr(&self.open.node, name.as_ref()).await
    }

    /// As [`crate::Client::set_xattr`].
    ///
    /// # Errors
    /// As [`File::allocate`].
    pub async fn set_xattr(&self, name: impl AsRef<[u8]>, value: Bytes, mode: XattrMode) -> Result<()> {
        self.open.shared.set_xattr(&self.open.node, name.as_ref(), value, mode).await
    }

    /// As [`crate::Client::list_xattrs`].
    ///
    /// # Errors
    /// As [`File::allocate`].
    pub async fn list_xattrs(&self) -> Result<Vec<Bytes>> {
        self.open.shared.list_xattrs(&self.open.node).await
    }

    /// As [`crate::Client::remove_xattr`].
    ///
    /// # Errors
    /// As [`File::allocate`].
    pub async fn remove_xattr(&self, name: impl AsRef<[u8]>) -> Result<()> {
        self.open.shared.remove_xattr(&self.open.node, name.as_ref()).await
    }

    /// Locks a range and waits while others hold it. Each open file is an owner of its own. What was read
    /// before is read again where it may have changed.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn lock(&self, range: impl RangeBounds<u64>, kind: LockKind) -> Result<()> {
        self.open.lock(&range, kind, true).await
    }

    /// As [`File::lock`], without waiting.
    ///
    /// # Errors
    /// [`Error::Locked`] when somebody else holds a conflicting lock.
    pub async fn try_lock(&self, range: impl RangeBounds<u64>, kind: LockKind) -> Result<()> {
        self.open.lock(&range, kind, false).await
    }

    /// What this open file has locked, in no order.
    pub fn held_locks(&self) -> Vec<(Range<u64>, LockKind)> {
        self.open.held_locks()
    }

    /// A lock of somebody else, of this client or another, that forbids this one; `None` when it would be
    /// granted now.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn test_lock(&self, range: impl RangeBounds<u64>, kind: LockKind) -> Result<Option<Conflict>> {
        self.open.test_lock(&range, kind).await
    }

    /// Sends what was written and gives a range back.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn unlock(&self, range: impl RangeBounds<u64>) -> Result<()> {
        self.open.unlock(&range).await
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        OpenFile::fmt(&self.open, f)
    }
}

impl OpenFile {
    pub(crate) fn new(
        shared: Arc<Shared>,
        id: u64,
        node: Arc<Node>,
        access: (bool, bool),
        sync: bool,
        v4: nfs4::FileState,
    ) -> Arc<Self> {
        let limits = shared.limits();
        let window_bytes_max = match shared.options.data_cache {
            true => shared.options.readahead_bytes_max.min(shared.options.data_cache_bytes_max / 2),
            false => 0,
        };
        let writer = access.1.then(|| node.writer_of(&shared));
        let open = Arc::new(Self {
            id,
            readable: access.0,
            writable: access.1,
            sync,
            readahead: Mutex::new(Readahead::new(limits.read_bytes_max, window_bytes_max)),
            ahead: Arc::default(),
            writer,
            v4: Mutex::new(v4),
            used: AtomicBool::new(false),
            reopening: tokio::sync::Mutex::default(),
            closed: AtomicBool::new(false),
            closing_gate: tokio::sync::RwLock::default(),
            node,
            shared,
        });
        let mut state = open.node.state.lock();
        state.opens.retain(|file| file.strong_count() > 0);
        state.opens.push(Arc::downgrade(&open));
        if open.writable {
            state.write_habit.opened();
        }
        drop(state);
        if open.v4.lock().ahead.is_some() {
            nfs4::expire_lock_ahead(&open);
        }
        open
    }

    pub(crate) fn check(&self, allowed: bool, cause: &'static str) -> Result<()> {
        if self.closed.load(Ordering::Relaxed) {
            return Err(Error::Usage("the file is closed"));
        }
        if allowed { Ok(()) } else { Err(Error::Usage(cause)) }
    }

    /// It is used in this way, for a lock or for something else. The first use tells what to expect of the
    /// next open.
    pub(crate) fn note_use(self: &Arc<Self>, lock: Option<(Range<u64>, bool)>) {
        if self.used.load(Ordering::Relaxed) || self.used.swap(true, Ordering::Relaxed) {
            return;
        }
        let is_lock = lock.is_some();
        self.node.state.lock().habit.first_act(lock);
        if !is_lock && self.v4.lock().ahead.is_some() {
            let file = Arc::clone(self);
            tokio::spawn(async move { file.give_up_lock_ahead().await });
        }
    }

    /// Gives back the lock that came with the open and was not taken, if there is one.
    pub(crate) async fn give_up_lock_ahead(self: &Arc<Self>) {
        if self.v4.lock().ahead.is_none() {
            return;
        }
        self.note_use(None);
        if let Some(mount) = self.shared.protocol().as_v4() {
            mount.drop_lock_ahead(self).await;
        }
    }

    /// Refuses to go on as if locks were held that the server has taken away.
    pub(crate) fn check_not_lost(&self) -> Result<()> {
        if self.v4.lock().lost_locks { Err(Error::Revoked) } else { Ok(()) }
    }

    /// True when it holds locks by a delegation alone that the server may have ended unnoticed.
    pub(crate) fn locks_are_in_doubt(&self) -> bool {
        let state = self.node.state.lock();
        state.delegation.is_some_and(|delegation| !delegation.returning)
            && !state.is_delegated()
            && self.v4.lock().lock.is_none()
            && !state.locks.holds_nothing(self.id)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// Closes once, however often it is called.
    pub(crate) async fn close(self: &Arc<Self>) -> Result<()> {
        if self.closed.load(Ordering::SeqCst) {
            return Ok(());
        }
        let flushed = self.flush().await;
        if self.closed.swap(true, Ordering::SeqCst) {
            return flushed;
        }
        // What waited for room when it was closed has been taken then.
        let _gate = self.closing_gate.write().await;
        let flushed = flushed.and(self.flush().await);
        self.give_up_lock_ahead().await;
        let unlocked = self.unlock_all().await;
        let mine = Arc::downgrade(self);
        self.node.state.lock().opens.retain(|other| !other.ptr_eq(&mine));
        if let Some(mount) = self.shared.protocol().as_v4() {
            mount.close(self).await;
        }
        flushed.and(unlocked)
    }

    fn needs_closing(&self) -> bool {
        !self.closed.load(Ordering::SeqCst)
            && (self.has_pending()
                || self.shared.protocol().as_v4().is_some()
                || !self.node.state.lock().locks.holds_nothing(self.id))
    }
}

impl Drop for Closer {
    /// In the background: nobody is left to tell what goes wrong.
    fn drop(&mut self) {
        if !self.0.needs_closing() {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let open = Arc::clone(&self.0);
            runtime.spawn(async move {
                if let Err(error) = open.close().await {
                    tracing::warn!(%error, "a file that was dropped without closing it");
                }
            });
        }
    }
}

impl fmt::Debug for OpenFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File").field("id", &self.id).finish_non_exhaustive()
    }
}

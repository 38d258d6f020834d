//! The kernel's requests, each handed to the runtime at once: none waits for another.

use std::ffi::OsStr;
use std::future::Future;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use client::SetAttributes;
use fuser::{
    AccessFlags, BsdFileFlags, CopyFileRangeFlags, Errno, FileHandle, FopenFlags, Generation, INodeNo,
    InitFlags, IoctlFlags, KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate,
    ReplyData, ReplyDirectory, ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyIoctl, ReplyLock, ReplyLseek,
    ReplyOpen, ReplyStatfs, ReplyWrite, ReplyXattr, Request, TimeOrNow, WriteFlags,
};

use crate::callers::Caller;
use crate::convert::set_time;
use crate::directories::Listing;
use crate::errno::Result;
use crate::files::WriteKind;
use crate::locks::{self, Lock};
use crate::replies;
use crate::set_id::is_cleared_by;
use crate::tree::{Entry, Tree};

/// The largest read and write that the kernel makes, in bytes.
const TRANSFER_BYTES_MAX: u32 = 1 << 20;
/// Reads ahead and the like that the kernel may have under way.
const BACKGROUND_MAX: u16 = 256;
/// What `statfs` calls a block, in bytes.
const BLOCK_BYTES: u32 = 4096;
/// The longest name, in bytes.
const NAME_BYTES_MAX: u32 = 255;

/// What is wanted of the kernel, if it can.
const WANTED: [InitFlags; 10] = [
    InitFlags::FUSE_POSIX_LOCKS,
    InitFlags::FUSE_FLOCK_LOCKS,
    InitFlags::FUSE_ATOMIC_O_TRUNC,
    InitFlags::FUSE_PARALLEL_DIROPS,
    InitFlags::FUSE_DO_READDIRPLUS,
    InitFlags::FUSE_READDIRPLUS_AUTO,
    InitFlags::FUSE_ASYNC_DIO,
    // The kernel is told when its pages are void; times that our own writes change are no sign of that.
    InitFlags::FUSE_EXPLICIT_INVAL_DATA,
    // The mount clears set-id bits; otherwise the kernel would ask for an extended attribute before every
    // write.
    InitFlags::FUSE_HANDLE_KILLPRIV_V2,
    InitFlags::FUSE_CACHE_SYMLINKS,
];

/// Where the kernel's requests arrive.
pub(crate) struct Filesystem {
    tree: Arc<Tree>,
}

impl Filesystem {
    pub(crate) fn new(tree: &Arc<Tree>) -> Self {
        Self { tree: Arc::clone(tree) }
    }

    /// Answers with what comes of `work`, which changes nothing: when the caller is killed it is given up.
    fn ask<T, F>(
        &self,
        request: &Request,
        work: impl FnOnce(Arc<Tree>) -> F,
        reply: impl FnOnce(Result<T>) + Send + 'static,
    ) where
        T: Send,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let (caller, callers) = (Caller::of(request), self.tree.callers.clone());
        let work = work(Arc::clone(&self.tree));
        self.tree.runtime.spawn(async move { reply(callers.ask(caller, work).await) });
    }

    /// Answers with what comes of `work`, which goes on when the caller is killed.
    fn change<T, F>(
        &self,
        request: &Request,
        work: impl FnOnce(Arc<Tree>) -> F,
        reply: impl FnOnce(Result<T>) + Send + 'static,
    ) where
        T: Send,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        self.change_or_undo(Caller::of(request), work, reply, |_, _| ());
    }

    /// As [`Filesystem::change`]. When it has come too late, `undo` is told.
    fn change_or_undo<T, F>(
        &self,
        caller: Caller,
        work: impl FnOnce(Arc<Tree>) -> F,
        reply: impl FnOnce(Result<T>) + Send + 'static,
        undo: impl FnOnce(Arc<Tree>, Result<T>) + Send + 'static,
    ) where
        T: Send,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let (tree, callers) = (Arc::clone(&self.tree), self.tree.callers.clone());
        let work = work(Arc::clone(&self.tree));
        self.tree.background.spawn(async move {
            callers.change(caller, work, reply, |outcome| undo(tree, outcome)).await;
        });
    }

    /// As [`Filesystem::change`], of what makes a name.
    fn make<F>(&self, request: &Request, work: impl FnOnce(Arc<Tree>) -> F, reply: ReplyEntry)
    where
        F: Future<Output = Result<Entry>> + Send + 'static,
    {
        self.change_or_undo(Caller::of(request), work, replies::entry(reply), |tree, made| {
            if let Ok(entry) = made {
                tree.unknown_to_the_kernel(&entry);
            }
        });
    }
}

fn bytes(name: &OsStr) -> Bytes {
    Bytes::copy_from_slice(name.as_bytes())
}

impl fuser::Filesystem for Filesystem {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> io::Result<()> {
        for wanted in WANTED {
            if let Err(missing) = config.add_capabilities(wanted) {
                tracing::debug!(?missing, "the kernel lacks a capability");
            }
        }
        self.tree.pages.ask(config);
        // Where the kernel does not go as far, it says how far it does.
        let _ = config.set_max_write(TRANSFER_BYTES_MAX);
        let _ = config.set_max_readahead(TRANSFER_BYTES_MAX).or_else(|most| config.set_max_readahead(most));
        let _ = config.set_max_background(BACKGROUND_MAX);
        Ok(())
    }

    fn lookup(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let name = bytes(name);
        self.tree.prune_soon();
        self.ask(request, |tree| async move { tree.lookup(parent.0, &name).await }, replies::entry(reply));
    }

    fn forget(&self, _request: &Request, ino: INodeNo, lookups: u64) {
        self.tree.inodes.forget(ino.0, lookups);
    }

    fn getattr(&self, request: &Request, ino: INodeNo, _handle: Option<FileHandle>, reply: ReplyAttr) {
        self.ask(request, |tree| async move { tree.get_attributes(ino.0).await }, replies::attributes(reply));
    }

    fn setattr(
        &self,
        request: &Request,
        ino: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        accessed: Option<TimeOrNow>,
        modified: Option<TimeOrNow>,
        _changed: Option<SystemTime>,
        handle: Option<FileHandle>,
        _created: Option<SystemTime>,
        _change_time: Option<SystemTime>,
        _backup_time: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let set = SetAttributes {
            mode: mode.map(|mode| mode & 0o7777),
            uid,
            gid,
            size,
            accessed: accessed.map(set_time),
            modified: modified.map(set_time),
        };
        let clears_set_id = is_cleared_by(request);
        self.change(
            request,
            move |tree| async move { tree.set_attributes(ino.0, set, handle, clears_set_id).await },
            replies::attributes(reply),
        );
    }

    fn readlink(&self, request: &Request, ino: INodeNo, reply: ReplyData) {
        self.ask(request, |tree| async move { tree.read_link(ino.0).await }, replies::data(reply));
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        device: u32,
        reply: ReplyEntry,
    ) {
        let name = bytes(name);
        self.make(
            request,
            move |tree| async move { tree.make_node(parent.0, &name, mode, device).await },
            reply,
        );
    }

    fn mkdir(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        reply: ReplyEntry,
    ) {
        let name = bytes(name);
        self.make(
            request,
            move |tree| async move { tree.make_directory(parent.0, &name, mode).await },
            reply,
        );
    }

    fn unlink(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let name = bytes(name);
        self.change(request, |tree| async move { tree.remove(parent.0, &name).await }, replies::empty(reply));
    }

    fn rmdir(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let name = bytes(name);
        self.change(
            request,
            |tree| async move { tree.remove_directory(parent.0, &name).await },
            replies::empty(reply),
        );
    }

    fn symlink(&self, request: &Request, parent: INodeNo, name: &OsStr, target: &Path, reply: ReplyEntry) {
        let (name, target) = (bytes(name), bytes(target.as_os_str()));
        self.make(request, |tree| async move { tree.symlink(parent.0, &name, &target).await }, reply);
    }

    fn rename(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        to_parent: INodeNo,
        to_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let (name, to_name) = (bytes(name), bytes(to_name));
        self.change(
            request,
            move |tree| async move { tree.rename((parent.0, &name), (to_parent.0, &to_name), flags).await },
            replies::empty(reply),
        );
    }

    fn link(&self, request: &Request, ino: INodeNo, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let name = bytes(name);
        self.make(request, |tree| async move { tree.link(ino.0, parent.0, &name).await }, reply);
    }

    fn open(&self, request: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let clears_set_id = is_cleared_by(request);
        self.change_or_undo(
            Caller::of(request),
            move |tree| async move { tree.open(ino.0, flags, clears_set_id).await },
            replies::open(reply),
            |tree, opened| {
                if let Ok((handle, _)) = opened {
                    tree.release_soon(handle);
                }
            },
        );
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let name = bytes(name);
        self.tree.prune_soon();
        self.change_or_undo(
            Caller::of(request),
            move |tree| async move { tree.create(parent.0, &name, mode, OpenFlags(flags)).await },
            move |outcome| match outcome {
                Ok((entry, handle, flags)) => {
                    let believed = entry.attributes_for.min(entry.name_for);
                    reply.created(&believed, &entry.attributes, Generation(0), handle, flags);
                }
                Err(error) => reply.error(error),
            },
            |tree, created| {
                if let Ok((entry, handle, _)) = created {
                    tree.release_soon(handle);
                    tree.unknown_to_the_kernel(&entry);
                }
            },
        );
    }

    fn read(
        &self,
        request: &Request,
        _ino: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        // The kernel names an owner of locks only where a program reads.
        let for_pages = owner.is_none();
        self.ask(
            request,
            move |tree| async move { tree.read(handle, (offset, size), for_pages).await },
            replies::data(reply),
        );
    }

    fn write(
        &self,
        request: &Request,
        _ino: INodeNo,
        handle: FileHandle,
        offset: u64,
        data: &[u8],
        write_flags: WriteFlags,
        flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let caller = Caller::of(request).with_bytes(data.len());
        let data = Bytes::copy_from_slice(data);
        let turn = self.tree.turn_to_append(handle, (flags, write_flags));
        let how = WriteKind {
            from_pages: write_flags.contains(WriteFlags::FUSE_WRITE_CACHE),
            clears_set_id: write_flags.contains(WriteFlags::FUSE_WRITE_KILL_SUIDGID),
        };
        self.change_or_undo(
            caller,
            move |tree| async move { tree.write(handle, (offset, data), turn, how).await },
            move |outcome| match outcome {
                Ok(count) => reply.written(count),
                Err(error) => reply.error(error),
            },
            |_, _| (),
        );
    }

    fn flush(
        &self,
        request: &Request,
        _ino: INodeNo,
        handle: FileHandle,
        owner: LockOwner,
        reply: ReplyEmpty,
    ) {
        self.change(
            request,
            move |tree| async move { tree.flush(handle, owner.0).await },
            replies::empty(reply),
        );
    }

    fn release(
        &self,
        _request: &Request,
        _ino: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        let tree = Arc::clone(&self.tree);
        self.tree.background.spawn(async move {
            tree.release(handle, owner.map(|owner| owner.0)).await;
            reply.ok();
        });
    }

    fn fsync(
        &self,
        request: &Request,
        _ino: INodeNo,
        handle: FileHandle,
        _data_only: bool,
        reply: ReplyEmpty,
    ) {
        self.change(request, move |tree| async move { tree.sync(handle).await }, replies::empty(reply));
    }

    fn opendir(&self, request: &Request, ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        self.ask(
            request,
            |tree| async move { Ok((tree.open_directory(ino.0).await?, FopenFlags::empty())) },
            replies::open(reply),
        );
    }

    fn readdir(
        &self,
        request: &Request,
        _ino: INodeNo,
        handle: FileHandle,
        offset: u64,
        reply: ReplyDirectory,
    ) {
        self.list(request, handle, offset, Listing::Names(reply));
    }

    fn readdirplus(
        &self,
        request: &Request,
        _ino: INodeNo,
        handle: FileHandle,
        offset: u64,
        reply: ReplyDirectoryPlus,
    ) {
        self.list(request, handle, offset, Listing::Entries { reply, known: false });
    }

    fn releasedir(
        &self,
        _request: &Request,
        _ino: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        reply: ReplyEmpty,
    ) {
        self.tree.directories.remove(handle);
        reply.ok();
    }

    /// Changes of directories are on the server's stable storage before they are answered.
    fn fsyncdir(
        &self,
        _request: &Request,
        _ino: INodeNo,
        _handle: FileHandle,
        _data_only: bool,
        reply: ReplyEmpty,
    ) {
        reply.ok();
    }

    fn statfs(&self, request: &Request, ino: INodeNo, reply: ReplyStatfs) {
        self.ask(
            request,
            |tree| async move { tree.fs_stat(ino.0).await },
            |outcome| match outcome {
                Ok(space) => {
                    let blocks = |bytes| bytes / u64::from(BLOCK_BYTES);
                    reply.statfs(
                        blocks(space.total_bytes),
                        blocks(space.free_bytes),
                        blocks(space.available_bytes),
                        space.total_files,
                        space.free_files,
                        BLOCK_BYTES,
                        NAME_BYTES_MAX,
                        BLOCK_BYTES,
                    );
                }
                Err(error) => reply.error(error),
            },
        );
    }

    fn access(&self, request: &Request, ino: INodeNo, mask: AccessFlags, reply: ReplyEmpty) {
        self.ask(
            request,
            move |tree| async move { tree.check_access(ino.0, mask).await },
            replies::empty(reply),
        );
    }

    fn getlk(
        &self,
        request: &Request,
        _ino: INodeNo,
        handle: FileHandle,
        owner: LockOwner,
        first: u64,
        last: u64,
        kind: i32,
        _pid: u32,
        reply: ReplyLock,
    ) {
        let lock = Lock { owner: owner.0, first, last, kind };
        self.ask(
            request,
            move |tree| async move { tree.test_lock(handle, lock).await },
            move |outcome| match outcome {
                // Who has it is known to the server alone.
                Ok(Some(other)) => reply.locked(other.first, other.last, other.kind, 0),
                Ok(None) => reply.locked(0, 0, locks::UNLOCK, 0),
                Err(error) => reply.error(error),
            },
        );
    }

    fn setlk(
        &self,
        request: &Request,
        _ino: INodeNo,
        handle: FileHandle,
        owner: LockOwner,
        first: u64,
        last: u64,
        kind: i32,
        _pid: u32,
        sleep: bool,
        reply: ReplyEmpty,
    ) {
        let lock = Lock { owner: owner.0, first, last, kind };
        let waiting = sleep.then(|| request.pid());
        let open = self.tree.files.get(handle).ok();
        self.change_or_undo(
            Caller::of(request),
            move |tree| async move { tree.set_lock(handle, lock, waiting).await },
            replies::empty(reply),
            move |tree, _| {
                if let Some(open) = open {
                    tree.take_back_soon(&open.opening.inode, lock);
                }
            },
        );
    }

    fn setxattr(
        &self,
        request: &Request,
        ino: INodeNo,
        name: &OsStr,
        value: &[u8],
        flags: i32,
        _position: u32,
        reply: ReplyEmpty,
    ) {
        let (name, value) = (bytes(name), Bytes::copy_from_slice(value));
        self.change(
            request,
            move |tree| async move { tree.set_xattr(ino.0, &name, value, flags).await },
            replies::empty(reply),
        );
    }

    fn getxattr(&self, request: &Request, ino: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        let name = bytes(name);
        self.ask(
            request,
            move |tree| async move { tree.get_xattr(ino.0, &name).await },
            replies::xattr(reply, size),
        );
    }

    fn listxattr(&self, request: &Request, ino: INodeNo, size: u32, reply: ReplyXattr) {
        self.ask(
            request,
            move |tree| async move { tree.list_xattrs(ino.0).await },
            replies::xattr(reply, size),
        );
    }

    fn removexattr(&self, request: &Request, ino: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let name = bytes(name);
        self.change(
            request,
            move |tree| async move { tree.remove_xattr(ino.0, &name).await },
            replies::empty(reply),
        );
    }

    fn fallocate(
        &self,
        request: &Request,
        _ino: INodeNo,
        handle: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let clears_set_id = is_cleared_by(request);
        self.change(
            request,
            move |tree| async move {
                if clears_set_id {
                    tree.clear_set_id_of(handle).await?;
                }
                tree.allocate(handle, offset, length, mode).await
            },
            replies::empty(reply),
        );
    }

    fn lseek(
        &self,
        request: &Request,
        _ino: INodeNo,
        handle: FileHandle,
        offset: i64,
        whence: i32,
        reply: ReplyLseek,
    ) {
        self.ask(
            request,
            move |tree| async move { tree.seek(handle, offset, whence).await },
            move |outcome| match outcome {
                Ok(place) => reply.offset(place),
                Err(error) => reply.error(error),
            },
        );
    }

    fn copy_file_range(
        &self,
        request: &Request,
        _from: INodeNo,
        from: FileHandle,
        from_offset: u64,
        _to: INodeNo,
        to: FileHandle,
        to_offset: u64,
        length: u64,
        _flags: CopyFileRangeFlags,
        reply: ReplyWrite,
    ) {
        let clears_set_id = is_cleared_by(request);
        self.change(
            request,
            move |tree| async move {
                if clears_set_id {
                    tree.clear_set_id_of(to).await?;
                }
                tree.copy((from, from_offset), (to, to_offset), length).await
            },
            move |outcome| match outcome {
                Ok(count) => reply.written(count),
                Err(error) => reply.error(error),
            },
        );
    }

    fn ioctl(
        &self,
        _request: &Request,
        _ino: INodeNo,
        _handle: FileHandle,
        _flags: IoctlFlags,
        _command: u32,
        _data: &[u8],
        _size: u32,
        reply: ReplyIoctl,
    ) {
        reply.error(Errno::ENOTTY);
    }
}

impl Filesystem {
    fn list(&self, request: &Request, handle: FileHandle, offset: u64, mut listing: Listing) {
        self.tree.prune_soon();
        let (caller, tree) = (Caller::of(request), Arc::clone(&self.tree));
        self.tree.runtime.spawn(async move {
            let work = tree.read_directory(handle, offset, &mut listing);
            let outcome = tree.callers.ask(caller, work).await;
            listing.reply(outcome);
        });
    }
}

//! The system calls that no safe wrapper offers: kernel file handles, per-thread ids, reads into spare
//! capacity, fanotify.
//!
//! The only unsafe code of the crate. Knows nothing of file systems beyond these calls.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::io::Errno;
use rustix::path::Arg;

use crate::Span;

/// The longest kernel handle that we can use, in bytes, so that ours stays within 64.
pub(super) const FID_BYTES_MAX: usize = 36;

/// A kernel file handle: names an inode of one file system, over restarts, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Fid {
    pub(super) kind: u8,
    length: u8,
    bytes: [u8; FID_BYTES_MAX],
}

impl Fid {
    pub(super) fn new(kind: u8, payload: &[u8]) -> Option<Self> {
        let mut bytes = [0; FID_BYTES_MAX];
        bytes.get_mut(..payload.len())?.copy_from_slice(payload);
        Some(Self { kind, length: payload.len() as u8, bytes })
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// The number of the inode, in the handles of ext4, XFS, btrfs and tmpfs.
    pub(super) fn fileid(&self) -> Option<u64> {
        let word = |at| Some(u32::from_ne_bytes(*self.bytes().get(at..)?.first_chunk()?).into());
        let long = || self.bytes().first_chunk().map(|number| u64::from_ne_bytes(*number));
        match (self.kind, self.length) {
            // A number and a generation: ext4, and XFS where numbers are small.
            (1, 8) => word(0),
            // tmpfs: a generation, and the halves of the number.
            (1, 12) => Some(word(4)? | word(8)? << 32),
            // XFS: a number and a generation; btrfs: a number, a tree and a generation.
            (0x81, 12) | (0x4d, 20) => long(),
            _ => None,
        }
    }
}

/// `struct file_handle` with room for the longest that we take.
#[repr(C)]
struct RawHandle {
    handle_bytes: libc::c_uint,
    handle_type: libc::c_int,
    f_handle: [u8; FID_BYTES_MAX],
}

/// What [`name_to_handle_in`] finds.
#[derive(Debug, Clone, Copy)]
pub(super) struct FoundHandle {
    /// `None` where the file system has none that fits.
    pub(super) fid: Option<Fid>,
    /// The mount that the object was found on.
    pub(super) mount_id: u64,
}

/// The kernel handle of what `fd` is open on. `None` where the file system has none that fits.
pub(super) fn name_to_handle(fd: impl AsFd) -> io::Result<Option<Fid>> {
    Ok(name_to_handle_at(fd.as_fd(), c"", libc::AT_EMPTY_PATH)?.fid)
}

/// The kernel handle of `name` in `dir`, itself and not what it may point to, with the thread's ids.
pub(super) fn name_to_handle_in(dir: BorrowedFd<'_>, name: &[u8]) -> rustix::io::Result<FoundHandle> {
    name.into_with_c_str(|name| {
        name_to_handle_at(dir, name, 0).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
    })
}

fn name_to_handle_at(dir: BorrowedFd<'_>, name: &CStr, flags: libc::c_int) -> io::Result<FoundHandle> {
    let mut raw = RawHandle {
        handle_bytes: FID_BYTES_MAX as libc::c_uint,
        handle_type: 0,
        f_handle: [0; FID_BYTES_MAX],
    };
    let mut mount_id = 0;
    // SAFETY: the name is a C string; `raw` has the layout of `struct file_handle` followed by the number of
    // bytes it states.
    let result = unsafe {
        libc::name_to_handle_at(
            dir.as_raw_fd(),
            name.as_ptr(),
            (&raw mut raw).cast(),
            &raw mut mount_id,
            flags,
        )
    };
    let mount_id = u64::try_from(mount_id).unwrap_or_default();
    if result < 0 {
        let error = io::Error::last_os_error();
        return match error.raw_os_error() {
            Some(libc::EOPNOTSUPP | libc::EOVERFLOW | libc::ENOSYS) => {
                Ok(FoundHandle { fid: None, mount_id })
            }
            _ => Err(error),
        };
    }
    let bytes = raw.f_handle.get(..raw.handle_bytes as usize);
    let fid = u8::try_from(raw.handle_type).ok().zip(bytes).and_then(|(kind, bytes)| Fid::new(kind, bytes));
    Ok(FoundHandle { fid, mount_id })
}

/// An `O_PATH` descriptor of the inode that `fid` names on the file system of `mount`, which must not itself
/// be `O_PATH`. Needs CAP_DAC_READ_SEARCH.
pub(super) fn open_by_handle(mount: BorrowedFd<'_>, fid: &Fid) -> rustix::io::Result<OwnedFd> {
    let mut raw = RawHandle {
        handle_bytes: libc::c_uint::from(fid.length),
        handle_type: libc::c_int::from(fid.kind),
        f_handle: fid.bytes,
    };
    // SAFETY: as above; the result is a new descriptor that nobody else owns.
    unsafe {
        let fd = libc::open_by_handle_at(
            mount.as_raw_fd(),
            (&raw mut raw).cast(),
            libc::O_PATH | libc::O_NOFOLLOW | libc::O_CLOEXEC,
        );
        if fd < 0 { Err(last_errno()) } else { Ok(OwnedFd::from_raw_fd(fd)) }
    }
}

/// Makes the calling thread act on files with these ids, and only this thread.
///
/// # Errors
/// `EPERM` when the kernel did not take one of them; the thread's ids are then a mixture.
pub(super) fn set_thread_fs_ids(uid: u32, gid: u32, groups: &[u32]) -> rustix::io::Result<()> {
    // The raw calls: libc's setgroups would change every thread of the process.
    // SAFETY: `groups` is valid for its length; the others take plain numbers.
    unsafe {
        if libc::syscall(libc::SYS_setgroups, groups.len(), groups.as_ptr()) != 0 {
            return Err(last_errno());
        }
        libc::syscall(libc::SYS_setfsgid, gid);
        libc::syscall(libc::SYS_setfsuid, uid);
        // They report no failure; asking for an impossible id returns the present one.
        let now_gid = libc::syscall(libc::SYS_setfsgid, u32::MAX) as u32;
        let now_uid = libc::syscall(libc::SYS_setfsuid, u32::MAX) as u32;
        if (now_uid, now_gid) == (uid, gid) { Ok(()) } else { Err(Errno::PERM) }
    }
}

/// Checks `mode` (4 read, 2 write, 1 execute) on what `fd` is open on, for the ids the thread acts with.
pub(super) fn check_access(fd: BorrowedFd<'_>, mode: u32) -> rustix::io::Result<()> {
    let flags = libc::AT_EACCESS | libc::AT_EMPTY_PATH;
    // SAFETY: the path is a C string, the rest are numbers.
    let result = unsafe {
        libc::syscall(libc::SYS_faccessat2, fd.as_raw_fd(), c"".as_ptr(), mode as libc::c_int, flags)
    };
    if result == 0 { Ok(()) } else { Err(last_errno()) }
}

/// Appends up to `count` bytes from `offset` to `out`, in one call, and returns how many came.
///
/// # Errors
/// With `nowait`, `EAGAIN` where it would have to wait for a disk.
pub(super) fn read_at(
    fd: BorrowedFd<'_>,
    out: &mut Vec<u8>,
    count: usize,
    offset: u64,
    nowait: bool,
) -> rustix::io::Result<usize> {
    out.reserve(count);
    let spare = &mut out.spare_capacity_mut()[..count];
    let part = libc::iovec { iov_base: spare.as_mut_ptr().cast(), iov_len: count };
    let flags = if nowait { libc::RWF_NOWAIT } else { 0 };
    let Ok(offset) = libc::off_t::try_from(offset) else { return Ok(0) };
    // SAFETY: the kernel writes at most `count` bytes to memory that we reserved.
    let got = unsafe { libc::preadv2(fd.as_raw_fd(), &raw const part, 1, offset, flags) };
    let Ok(got) = usize::try_from(got) else { return Err(last_errno()) };
    // SAFETY: the kernel has initialised `got` bytes after the old length, and `got <= count`.
    unsafe { out.set_len(out.len() + got) };
    Ok(got)
}

/// Lets a range of one file share what a range of another holds.
///
/// # Errors
/// `EOPNOTSUPP` where the file system shares nothing, `EINVAL` for a range that it cannot share.
pub(super) fn clone_range(from: BorrowedFd<'_>, to: BorrowedFd<'_>, span: Span) -> rustix::io::Result<()> {
    let range = libc::file_clone_range {
        src_fd: i64::from(from.as_raw_fd()),
        src_offset: span.from,
        src_length: span.count,
        dest_offset: span.to,
    };
    // SAFETY: the request takes a pointer to this struct, which lives until the call returns.
    let result = unsafe { libc::ioctl(to.as_raw_fd(), libc::FICLONERANGE, &raw const range) };
    if result == 0 { Ok(()) } else { Err(last_errno()) }
}

/// A group of marks, empty, whose events name the objects by their handles. Needs no privilege since Linux
/// 5.13.
///
/// # Errors
/// `EMFILE` where the user has too many; `EPERM`, `EINVAL` or `ENOSYS` where there are none.
pub(super) fn fanotify_group() -> rustix::io::Result<OwnedFd> {
    let flags = libc::FAN_CLASS_NOTIF | libc::FAN_REPORT_FID | libc::FAN_CLOEXEC | libc::FAN_NONBLOCK;
    // SAFETY: takes numbers; the result is a new descriptor that nobody else owns.
    unsafe {
        let fd = libc::fanotify_init(flags, libc::O_RDONLY as libc::c_uint);
        if fd < 0 { Err(last_errno()) } else { Ok(OwnedFd::from_raw_fd(fd)) }
    }
}

/// How the object is named that is marked.
#[derive(Debug, Clone, Copy)]
pub(super) enum Marked<'a> {
    /// By a descriptor that is open for data: the quicker way.
    Open(BorrowedFd<'a>),
    /// By a path, for descriptors that are `O_PATH`.
    At(&'a CStr),
}

/// Adds to what a group is told of an object, or takes it away again.
///
/// # Errors
/// `ENOSPC` where the user has too many marks; `ENOENT` when there was none; `ENODEV`, `EXDEV` or
/// `EOPNOTSUPP` where the file system cannot name its objects.
pub(super) fn fanotify_mark(
    group: BorrowedFd<'_>,
    add: bool,
    mask: u64,
    marked: Marked<'_>,
) -> rustix::io::Result<()> {
    let flags = if add { libc::FAN_MARK_ADD } else { libc::FAN_MARK_REMOVE };
    let (directory, path) = match marked {
        Marked::Open(fd) => (fd.as_raw_fd(), std::ptr::null()),
        Marked::At(path) => (libc::AT_FDCWD, path.as_ptr()),
    };
    // SAFETY: the path is none, which stands for the descriptor, or a C string that lives until the call
    // returns.
    let result = unsafe { libc::fanotify_mark(group.as_raw_fd(), flags, mask, directory, path) };
    if result == 0 { Ok(()) } else { Err(last_errno()) }
}

fn last_errno() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)
}

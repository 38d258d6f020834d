//! Locks of ranges that belong to an open file, so that the threads of one process lock each other out
//! (fcntl_locking(2)).

use std::fs::File;
use std::ops::Range;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Shared,
    Exclusive,
}

/// Locks, and waits for it if told so; false when it is refused.
pub fn lock(file: &File, range: &Range<u64>, kind: Kind, wait: bool) -> bool {
    let kind = match kind {
        Kind::Shared => libc::F_RDLCK,
        Kind::Exclusive => libc::F_WRLCK,
    };
    match set(file, range, kind, wait) {
        Ok(_) => true,
        Err(Errno::EAGAIN | Errno::EACCES) if !wait => false,
        Err(error) => panic!("locking {range:?}: {error}"),
    }
}

pub fn unlock(file: &File, range: &Range<u64>) {
    set(file, range, libc::F_UNLCK, false).unwrap();
}

fn set(file: &File, range: &Range<u64>, kind: libc::c_int, wait: bool) -> nix::Result<libc::c_int> {
    let lock = libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: range.start as libc::off_t,
        l_len: (range.end - range.start) as libc::off_t,
        l_pid: 0,
    };
    let set = if wait { FcntlArg::F_OFD_SETLKW(&lock) } else { FcntlArg::F_OFD_SETLK(&lock) };
    fcntl(file, set)
}

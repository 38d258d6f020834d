//! `statx(2)` and its translation to [`Attributes`].

use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, FileType, Statx, StatxFlags, StatxTimestamp, statx};

use crate::{Attributes, DeviceNumber, FileKind, Name, Timestamp};

const WANTED: StatxFlags = StatxFlags::BASIC_STATS.union(StatxFlags::BTIME).union(StatxFlags::MNT_ID);

/// Of what `fd` is open on.
pub(super) fn stat(fd: BorrowedFd<'_>) -> rustix::io::Result<Statx> {
    statx(fd, c"", AtFlags::EMPTY_PATH, WANTED)
}

/// Owner and length of what `fd` is open on. Leaves the times alone: one that was looked at must be renewed
/// by the next write, which costs that write a transaction of the file system.
pub(super) fn owner_and_size(fd: BorrowedFd<'_>) -> rustix::io::Result<(u32, u64)> {
    let stat = statx(fd, c"", AtFlags::EMPTY_PATH, StatxFlags::UID | StatxFlags::SIZE)?;
    Ok((stat.stx_uid, stat.stx_size))
}

/// True while what `fd` is open on has a name, as far as the kernel knows without asking a server or a disk.
pub(super) fn has_name(fd: BorrowedFd<'_>) -> bool {
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    statx(fd, c"", flags, StatxFlags::NLINK).is_ok_and(|stat| stat.stx_nlink > 0)
}

/// Of `name` in `dir`, itself and not what it may point to.
pub(super) fn stat_name(dir: BorrowedFd<'_>, name: Name<'_>) -> rustix::io::Result<Statx> {
    statx(dir, name.as_bytes(), AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT, WANTED)
}

/// The device an object is on. Only ever compared with others of this process.
pub(super) fn device(stat: &Statx) -> DeviceNumber {
    DeviceNumber { major: stat.stx_dev_major, minor: stat.stx_dev_minor }
}

pub(super) fn kind(stat: &Statx) -> FileKind {
    match FileType::from_raw_mode(stat.stx_mode.into()) {
        FileType::Directory => FileKind::Directory,
        FileType::Symlink => FileKind::Symlink,
        FileType::Fifo => FileKind::Fifo,
        FileType::Socket => FileKind::Socket,
        FileType::CharacterDevice => FileKind::Character,
        FileType::BlockDevice => FileKind::Block,
        _ => FileKind::Regular,
    }
}

/// The time of birth in nanoseconds, where the file system keeps it.
pub(super) fn birth_ns(stat: &Statx) -> Option<i64> {
    let known = stat.stx_mask & StatxFlags::BTIME.bits() != 0;
    known.then(|| nanoseconds(stat.stx_btime))
}

/// The time of the last change in nanoseconds.
pub(super) fn change_ns(stat: &Statx) -> i64 {
    nanoseconds(stat.stx_ctime)
}

pub(super) fn attributes(stat: &Statx, fsid: u64, change: u64) -> Attributes {
    let created = stat.stx_mask & StatxFlags::BTIME.bits() != 0;
    Attributes {
        kind: kind(stat),
        mode: u32::from(stat.stx_mode) & 0o7777,
        links: stat.stx_nlink,
        uid: stat.stx_uid,
        gid: stat.stx_gid,
        size: stat.stx_size,
        used: stat.stx_blocks.saturating_mul(512),
        device: DeviceNumber { major: stat.stx_rdev_major, minor: stat.stx_rdev_minor },
        fsid,
        fileid: stat.stx_ino,
        accessed: timestamp(stat.stx_atime),
        modified: timestamp(stat.stx_mtime),
        changed: timestamp(stat.stx_ctime),
        created: created.then(|| timestamp(stat.stx_btime)),
        change,
    }
}

fn timestamp(time: StatxTimestamp) -> Timestamp {
    Timestamp { seconds: time.tv_sec, nanoseconds: time.tv_nsec }
}

fn nanoseconds(time: StatxTimestamp) -> i64 {
    time.tv_sec.wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec.into())
}

//! A local directory that a tree is written into, and nothing outside of it.
//!
//! Every object is reached from the descriptor of the directory, one name after the other, and no symbolic
//! link is followed on the way or at the end: neither one that the same transfer has made nor one that was
//! there or is put there meanwhile.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use bytes::Bytes;
use rustix::fs::{
    AtFlags, FileType, Gid, Mode, OFlags, RawMode, ResolveFlags, Timespec, Timestamps, UTIME_OMIT, Uid,
};
use rustix::io::Errno;

use super::TreeOptions;
use super::arrival::{Meta, mode};
use crate::attributes::Time;
use crate::items::{Existing, Names};

/// Paths of more bytes are walked name by name (`PATH_MAX`).
const PATH_BYTES_MAX: usize = 4096;

const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);
/// To go on from: that takes no permission to read it.
const STEP: OFlags = DIRECTORY.union(OFlags::PATH);

/// See the module.
pub(super) struct LocalTree {
    root: OwnedFd,
    existing: Existing,
    /// The directory that was used last: many objects of one directory arrive one after the other.
    last: Option<(Names, OwnedFd)>,
}

impl LocalTree {
    /// The root itself may be a symbolic link: it is the user's.
    pub(super) fn open(root: &Path, existing: Existing) -> io::Result<Self> {
        let root = rustix::fs::open(root, STEP.difference(OFlags::NOFOLLOW), Mode::empty())?;
        Ok(Self { root, existing, last: None })
    }

    /// Opens a directory of the tree, such that its attributes can be set.
    pub(super) fn directory(&self, at: &Names) -> io::Result<OwnedFd> {
        let step = step_to(self.root.as_fd(), at)?;
        Ok(rustix::fs::openat(step, ".", DIRECTORY, Mode::empty())?)
    }

    /// Makes a directory; one that is there is kept.
    pub(super) fn make_directory(&mut self, at: &Names, mode: u32) -> io::Result<()> {
        let (dir, name) = self.parent(at)?;
        match rustix::fs::mkdirat(dir, &name[..], Mode::from_raw_mode(mode as RawMode)) {
            Err(Errno::EXIST) if is_directory(dir, &name) => Ok(()),
            made => Ok(made?),
        }
    }

    /// Opens a regular file for writing that is empty and new in the sense of [`Existing`].
    pub(super) fn create_file(&mut self, at: &Names, mode: u32) -> io::Result<File> {
        let existing = self.existing;
        let (dir, name) = self.parent(at)?;
        let mode = Mode::from_raw_mode(mode as RawMode);
        // A pipe without a reader does not hold the copy up.
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let new = || rustix::fs::openat(dir, &name[..], flags | OFlags::EXCL, mode);
        if existing != Existing::Truncate {
            return Ok(in_place(dir, &name, existing, new)?.into());
        }
        let file = rustix::fs::openat(dir, &name[..], flags, mode)?;
        let found = rustix::fs::fstat(&file)?;
        if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "what has its name is no regular file"));
        }
        let file = File::from(file);
        file.set_len(0)?;
        Ok(file)
    }

    /// Makes a symbolic link and hands its directory and name to `dress`.
    pub(super) fn symlink(
        &mut self,
        at: &Names,
        target: &[u8],
        dress: impl FnOnce(BorrowedFd<'_>, &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let existing = self.existing.of_links();
        let (dir, name) = self.parent(at)?;
        in_place(dir, &name, existing, || rustix::fs::symlinkat(target, dir, &name[..]))?;
        dress(dir, &name)
    }

    /// Gives a file of the tree one more name. A symbolic link at its end gets the name itself.
    pub(super) fn hard_link(&mut self, source: &Names, at: &Names) -> io::Result<()> {
        let existing = self.existing.of_links();
        let (source_dir, source_name) = source.split_last().ok_or(io::ErrorKind::InvalidInput)?;
        let source_dir = step_to(self.root.as_fd(), &source_dir)?;
        let (dir, name) = self.parent(at)?;
        let link = || rustix::fs::linkat(&source_dir, &source_name[..], dir, &name[..], AtFlags::empty());
        Ok(in_place(dir, &name, existing, link)?)
    }

    fn parent(&mut self, at: &Names) -> io::Result<(BorrowedFd<'_>, Bytes)> {
        let (above, name) = at.split_last().ok_or(io::ErrorKind::InvalidInput)?;
        if self.last.as_ref().is_none_or(|(last, _)| *last != above) {
            let opened = step_to(self.root.as_fd(), &above)?;
            self.last = Some((above, opened));
        }
        let dir = self.last.as_ref().map_or(self.root.as_fd(), |(_, dir)| dir.as_fd());
        Ok((dir, name))
    }
}

/// Makes something under a name, which is freed first where that is wanted.
fn in_place<T>(
    dir: BorrowedFd<'_>,
    name: &[u8],
    existing: Existing,
    make: impl Fn() -> rustix::io::Result<T>,
) -> rustix::io::Result<T> {
    match make() {
        Err(Errno::EXIST) if existing == Existing::Replace => {
            rustix::fs::unlinkat(dir, name, AtFlags::empty())?;
            make()
        }
        made => made,
    }
}

fn is_directory(dir: BorrowedFd<'_>, name: &[u8]) -> bool {
    let found = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW);
    found.is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Directory)
}

/// By one system call where the kernel has it (Linux 5.6), else name by name.
fn step_to(root: BorrowedFd<'_>, at: &Names) -> rustix::io::Result<OwnedFd> {
    let path = at.to_path();
    if path.is_empty() {
        return rustix::fs::openat(root, ".", STEP, Mode::empty());
    }
    if path.len() < PATH_BYTES_MAX {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match rustix::fs::openat2(root, &path[..], STEP, Mode::empty(), resolve) {
            // Not there, not allowed by a filter of system calls, or a race with a rename.
            Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN | Errno::INVAL) => {}
            opened => return opened,
        }
    }
    step_by_names(root, at)
}

fn step_by_names(root: BorrowedFd<'_>, at: &Names) -> rustix::io::Result<OwnedFd> {
    let mut dir = rustix::fs::openat(root, ".", STEP, Mode::empty())?;
    for name in at.iter() {
        dir = rustix::fs::openat(&dir, &name[..], STEP, Mode::empty())?;
    }
    Ok(dir)
}

impl Meta {
    /// Gives an open file or directory owner, mode and times as far as `options` want it.
    pub(super) fn dress(&self, of: impl AsFd, options: &TreeOptions, directory: bool) -> io::Result<()> {
        if options.owners {
            rustix::fs::fchown(&of, Some(Uid::from_raw(self.uid)), Some(Gid::from_raw(self.gid)))?;
        }
        let mode = mode(options, self);
        if options.modes || directory && mode & 0o700 != 0o700 {
            rustix::fs::fchmod(&of, Mode::from_raw_mode(mode as RawMode))?;
        }
        match options.times {
            true => Ok(rustix::fs::futimens(&of, &self.timestamps())?),
            false => Ok(()),
        }
    }

    /// As [`Meta::dress`], of a symbolic link, which has no mode of its own.
    pub(super) fn dress_link(
        &self,
        dir: BorrowedFd<'_>,
        name: &[u8],
        options: &TreeOptions,
    ) -> io::Result<()> {
        if options.owners {
            let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
            rustix::fs::chownat(dir, name, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)?;
        }
        match options.times {
            true => Ok(rustix::fs::utimensat(dir, name, &self.timestamps(), AtFlags::SYMLINK_NOFOLLOW)?),
            false => Ok(()),
        }
    }

    fn timestamps(&self) -> Timestamps {
        let time = |time: Time| Timespec { tv_sec: time.seconds, tv_nsec: time.nanoseconds.into() };
        let last_access = self.accessed.map_or(Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT }, time);
        Timestamps { last_access, last_modification: time(self.modified) }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn names(path: &str) -> Names {
        Names::parse(path.as_bytes()).unwrap()
    }

    /// A tree beside a directory `outside`, with a symbolic link `l` to it.
    fn planted(existing: Existing) -> (tempfile::TempDir, LocalTree) {
        let place = tempfile::tempdir().unwrap();
        for dir in ["outside", "tree"] {
            std::fs::create_dir(place.path().join(dir)).unwrap();
        }
        std::fs::write(place.path().join("outside/file"), "kept").unwrap();
        symlink("../outside", place.path().join("tree/l")).unwrap();
        symlink("../outside/file", place.path().join("tree/f")).unwrap();
        let tree = LocalTree::open(&place.path().join("tree"), existing).unwrap();
        (place, tree)
    }

    #[test]
    fn nothing_is_made_behind_a_symlink() {
        for existing in [Existing::Refuse, Existing::Truncate, Existing::Replace] {
            let (place, mut tree) = planted(existing);
            assert!(tree.create_file(&names("l/evil"), 0o600).is_err());
            assert!(tree.make_directory(&names("l"), 0o700).is_err());
            assert!(tree.make_directory(&names("l/evil"), 0o700).is_err());
            assert!(tree.symlink(&names("l/evil"), b"x", |_, _| Ok(())).is_err());
            assert!(tree.hard_link(&names("l/file"), &names("stolen")).is_err());
            assert!(tree.hard_link(&names("f"), &names("l/evil")).is_err());
            assert!(step_by_names(tree.root.as_fd(), &names("l")).is_err());
            let written = tree.create_file(&names("f"), 0o600);
            assert_eq!(written.is_ok(), existing == Existing::Replace, "{existing:?}");
            let outside = std::fs::read_dir(place.path().join("outside")).unwrap().count();
            assert_eq!(outside, 1, "{existing:?}");
            assert_eq!(std::fs::read(place.path().join("outside/file")).unwrap(), b"kept");
        }
    }

    #[test]
    fn both_ways_to_a_directory_open_the_same() {
        let (place, tree) = planted(Existing::Refuse);
        std::fs::create_dir_all(place.path().join("tree/a/b")).unwrap();
        let inode = |dir: OwnedFd| rustix::fs::fstat(dir).unwrap().st_ino;
        for path in ["", "a", "a/b"] {
            let opened = inode(tree.directory(&names(path)).unwrap());
            assert_eq!(opened, inode(step_by_names(tree.root.as_fd(), &names(path)).unwrap()), "{path}");
        }
        assert!(tree.directory(&names("a/c")).is_err());
    }

    #[test]
    fn pipe_in_place_of_file_is_refused() {
        let (place, mut tree) = planted(Existing::Truncate);
        rustix::fs::mkfifoat(rustix::fs::CWD, place.path().join("tree/pipe"), Mode::RUSR | Mode::WUSR)
            .unwrap();
        assert!(tree.create_file(&names("pipe"), 0o600).is_err());
    }
}

//! A directory of this machine, local or mounted, as a client of the benchmark: every call is one of the
//! operating system.
//!
//! Owns the translation to system calls and the words for their failures. Each call blocks its thread, as it
//! does in an application; [`crate::workload::threads`] gives every thread of a workload one of its own.

use std::cell::RefCell;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use rustix::fs::{Advice, FlockOperation, OFlags, fadvise, flock};

use super::{Access, Habits};
use crate::workload::Error;

/// What past-the-cache reads must be aligned to, in memory; file systems ask for this or less.
const ALIGNMENT: usize = 4096;

/// A directory in which a client works.
pub(super) struct Directory {
    root: PathBuf,
    habits: Habits,
    /// Its calls fail from now on, so that whoever still works in it ends soon.
    closed: AtomicBool,
}

impl Directory {
    /// The tree below `root`.
    pub(super) fn new(root: &Path, habits: Habits) -> Self {
        Self { root: root.to_owned(), habits, closed: AtomicBool::new(false) }
    }

    /// Lets every call fail from now on.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    /// Does `call` on a path of this tree.
    fn call<T>(
        &self,
        verb: &'static str,
        path: &str,
        call: impl FnOnce(&Path) -> io::Result<T>,
    ) -> Result<T, Error> {
        if self.closed.load(Ordering::Relaxed) {
            return Err(Error::Closed);
        }
        let whole = self.root.join(path.trim_start_matches('/'));
        blocking(|| call(&whole)).map_err(failed(verb, path))
    }

    pub(super) fn open(&self, path: &str, access: Access) -> Result<DirectoryFile, Error> {
        let habits = self.habits;
        let file = self.call("open", path, |whole| {
            let file = options(access, habits).open(whole)?;
            if !habits.readahead {
                fadvise(&file, 0, None, Advice::Random)?;
            }
            Ok(file)
        })?;
        let past_the_cache = reads_past_the_cache(access, habits);
        Ok(DirectoryFile { file: Arc::new(file), path: path.into(), past_the_cache })
    }

    pub(super) fn create(&self, path: &str) -> Result<(), Error> {
        self.open(path, Access::Create)?.close()
    }

    pub(super) fn write_file(&self, path: &str, data: &[u8]) -> Result<(), Error> {
        let file = self.open(path, Access::Replace)?;
        file.write(0, data)?;
        file.close()
    }

    pub(super) fn look_at(&self, verb: &'static str, path: &str) -> Result<(), Error> {
        self.call(verb, path, |whole| fs::metadata(whole).map(drop))
    }

    pub(super) fn delete(&self, path: &str) -> Result<(), Error> {
        self.call("delete", path, |whole| fs::remove_file(whole))
    }

    pub(super) fn rename(&self, from: &str, to: &str) -> Result<(), Error> {
        let to = self.root.join(to.trim_start_matches('/'));
        self.call("rename", from, |whole| fs::rename(whole, to))
    }

    /// Drops what the operating system keeps of a file.
    pub(super) fn forget(&self, path: &str) -> Result<(), Error> {
        self.call("forget", path, |whole| forget(&fs::File::open(whole)?))
    }

    pub(super) fn make_directory(&self, path: &str) -> Result<(), Error> {
        self.call("make the directory", path, |whole| fs::DirBuilder::new().mode(0o755).create(whole))
    }

    pub(super) fn free_bytes(&self) -> Result<u64, Error> {
        self.call("ask for the free space of", "/", |whole| {
            let stat = rustix::fs::statvfs(whole)?;
            Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
        })
    }

    pub(super) fn remove_directory(&self, path: &str) -> Result<(), Error> {
        self.call("remove the directory", path, |whole| gone_is_good(fs::remove_dir(whole)))
    }

    /// As [`super::Mount::remove_all`]. The standard library follows no symbolic link that it meets.
    pub(super) fn remove_all(&self, path: &str, last: Option<&str>) -> Result<(), Error> {
        self.call("remove", path, |whole| gone_is_good(remove_all(whole, last)))
    }

    pub(super) fn list(&self, path: &str, prefix: &str) -> Result<Option<Vec<(String, bool)>>, Error> {
        self.call("list", path, |whole| {
            let entries = match fs::read_dir(whole) {
                Ok(entries) => entries,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(error),
            };
            let entry = |entry: io::Result<fs::DirEntry>| {
                let entry = entry?;
                Ok((entry.file_name().to_string_lossy().into_owned(), entry.file_type()?.is_dir()))
            };
            let is_wanted = |entry: &io::Result<(String, bool)>| {
                entry.as_ref().map_or(true, |(name, _)| name.starts_with(prefix))
            };
            entries.map(entry).filter(is_wanted).collect::<io::Result<_>>().map(Some)
        })
    }
}

fn remove_all(whole: &Path, last: Option<&str>) -> io::Result<()> {
    if !fs::symlink_metadata(whole)?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    let Some(last) = last else { return fs::remove_dir_all(whole) };
    for entry in fs::read_dir(whole)? {
        let entry = entry?;
        if entry.file_name() == last {
            continue;
        }
        let is_directory = entry.file_type()?.is_dir();
        let removed =
            if is_directory { fs::remove_dir_all(entry.path()) } else { fs::remove_file(entry.path()) };
        gone_is_good(removed)?;
    }
    gone_is_good(fs::remove_file(whole.join(last)))?;
    fs::remove_dir(whole)
}

/// An open file.
#[derive(Clone)]
pub(crate) struct DirectoryFile {
    file: Arc<fs::File>,
    path: Arc<str>,
    past_the_cache: bool,
}

impl DirectoryFile {
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    pub(super) fn read(&self, offset: u64, length: usize) -> Result<Bytes, Error> {
        blocking(|| match self.past_the_cache {
            true => read_aligned(&self.file, offset, length),
            false => read(&self.file, offset, length),
        })
        .map_err(failed("read", &self.path))
    }

    pub(super) fn write(&self, offset: u64, data: &[u8]) -> Result<(), Error> {
        blocking(|| self.file.write_all_at(data, offset)).map_err(failed("write", &self.path))
    }

    pub(super) fn lock(&self, exclusive: bool) -> Result<(), Error> {
        let operation = if exclusive { FlockOperation::LockExclusive } else { FlockOperation::LockShared };
        self.flock("lock", operation)
    }

    pub(super) fn unlock(&self) -> Result<(), Error> {
        self.flock("unlock", FlockOperation::Unlock)
    }

    fn flock(&self, verb: &'static str, operation: FlockOperation) -> Result<(), Error> {
        blocking(|| rustix::io::retry_on_intr(|| flock(&self.file, operation)).map_err(io::Error::from))
            .map_err(failed(verb, &self.path))
    }

    pub(super) fn sync(&self) -> Result<(), Error> {
        blocking(|| self.file.sync_all()).map_err(failed("sync", &self.path))
    }

    /// As [`Directory::forget`].
    pub(super) fn forget(&self) -> Result<(), Error> {
        blocking(|| forget(&self.file)).map_err(failed("forget", &self.path))
    }

    pub(super) fn close(self) -> Result<(), Error> {
        // Whoever else has it closes it when done.
        let Some(file) = Arc::into_inner(self.file) else { return Ok(()) };
        blocking(|| nix::unistd::close(file).map_err(io::Error::from)).map_err(failed("close", &self.path))
    }
}

/// Tells the runtime, where this is one of its threads, that it is not to be counted on for a while.
fn blocking<T>(call: impl FnOnce() -> T) -> T {
    tokio::task::block_in_place(call)
}

fn options(access: Access, habits: Habits) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o644);
    let mut flags = OFlags::empty();
    let synced = match access {
        Access::Read => {
            options.read(true);
            false
        }
        Access::Write { sync } => {
            options.write(true);
            sync
        }
        Access::ReadWrite { sync } => {
            options.read(true).write(true);
            sync
        }
        Access::CreateReadWrite { sync } => {
            options.read(true).write(true).create(true).truncate(false);
            sync
        }
        Access::Replace => {
            options.write(true).create(true).truncate(true);
            false
        }
        Access::Create => {
            options.write(true).create(true).truncate(false);
            false
        }
    };
    flags.set(OFlags::SYNC, synced);
    flags.set(OFlags::DIRECT, reads_past_the_cache(access, habits));
    options.custom_flags(flags.bits().cast_signed());
    options
}

/// Only where nothing is written: what is written would have to be aligned too, which a workload may not
/// have.
fn reads_past_the_cache(access: Access, habits: Habits) -> bool {
    !habits.data_cache && matches!(access, Access::Read)
}

fn read(file: &fs::File, offset: u64, length: usize) -> io::Result<Bytes> {
    let mut data = Vec::with_capacity(length);
    while data.len() < length {
        let at = offset + data.len() as u64;
        let spare = length - data.len();
        data.reserve_exact(spare);
        match rustix::io::pread(file, rustix::buffer::spare_capacity(&mut data), at) {
            Ok(0) => break,
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    data.truncate(length);
    Ok(data.into())
}

thread_local! {
    /// What reads past the cache go to; memory that is new for each of them would have to be cleared.
    static ALIGNED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

fn read_aligned(file: &fs::File, offset: u64, length: usize) -> io::Result<Bytes> {
    ALIGNED.with_borrow_mut(|buffer| {
        if buffer.len() < length + ALIGNMENT {
            buffer.resize(length + ALIGNMENT, 0);
        }
        let start = buffer.as_ptr().align_offset(ALIGNMENT);
        let data = &mut buffer[start..start + length];
        let mut done = 0;
        while done < length {
            match file.read_at(&mut data[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Bytes::copy_from_slice(&data[..done]))
    })
}

/// Only pages that are on the disk, or on the server, can be dropped.
fn forget(file: &fs::File) -> io::Result<()> {
    file.sync_data()?;
    Ok(fadvise(file, 0, None, Advice::DontNeed)?)
}

fn gone_is_good(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn failed(verb: &'static str, path: &str) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::Call { doing: format!("{verb} {path}"), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HABITS: Habits = Habits { delegations: true, readahead: true, data_cache: true };

    #[test]
    fn a_file_is_read_as_it_was_written_with_the_cache_and_past_it() {
        let place = tempfile::tempdir_in(".").unwrap();
        let data: Vec<u8> = (0..10_000_u32).map(|number| number as u8).collect();
        let tree = Directory::new(place.path(), HABITS);
        tree.write_file("/file", &data).unwrap();
        tree.forget("/file").unwrap();
        for data_cache in [true, false] {
            let tree = Directory::new(place.path(), Habits { data_cache, ..HABITS });
            let file = match tree.open("/file", Access::Read) {
                Ok(file) => file,
                // Some file systems know no other way than through the cache.
                Err(_) if !data_cache => continue,
                Err(error) => panic!("{error}"),
            };
            assert_eq!(file.read(4096, 4096).unwrap(), data[4096..8192]);
            assert_eq!(file.read(8192, 4096).unwrap(), data[8192..], "the file ends there");
            file.close().unwrap();
        }
    }

    #[test]
    fn names_come_and_go_and_what_is_gone_already_is_gone() {
        let place = tempfile::tempdir().unwrap();
        let tree = Directory::new(place.path(), HABITS);
        tree.make_directory("/d").unwrap();
        tree.create("/d/a").unwrap();
        tree.rename("/d/a", "/d/b").unwrap();
        tree.make_directory("/d/e").unwrap();
        let mut found = tree.list("/d", "").unwrap().unwrap();
        found.sort();
        assert_eq!(found, [("b".to_owned(), false), ("e".to_owned(), true)]);
        tree.delete("/d/b").unwrap();
        assert!(tree.delete("/d/b").unwrap_err().to_string().starts_with("cannot delete /d/b: "));
        for path in ["/d/e", "/d", "/d"] {
            tree.remove_directory(path).unwrap();
        }
        assert_eq!(tree.list("/d", "").unwrap(), None);
    }

    #[test]
    fn removal_of_all_follows_no_link() {
        let place = tempfile::tempdir().unwrap();
        let tree = Directory::new(place.path(), HABITS);
        for path in ["/d", "/d/e", "/other"] {
            tree.make_directory(path).unwrap();
        }
        for path in ["/d/last", "/d/e/a", "/other/kept"] {
            tree.create(path).unwrap();
        }
        let whole = |path: &str| place.path().join(path);
        for link in ["d/link", "d/e/link"] {
            std::os::unix::fs::symlink(whole("other"), whole(link)).unwrap();
        }
        std::os::unix::fs::symlink("other", whole("link")).unwrap();
        for last in [None, Some("last")] {
            assert!(tree.remove_all("/link", last).is_err());
        }
        tree.remove_all("/d", Some("last")).unwrap();
        assert!(!whole("d").exists() && whole("other/kept").exists());
        tree.remove_all("/d", None).unwrap();
    }

    #[test]
    fn a_lock_is_the_open_files_own() {
        let place = tempfile::tempdir().unwrap();
        let tree = Directory::new(place.path(), HABITS);
        tree.create("/file").unwrap();
        let [one, other] = [(); 2].map(|()| tree.open("/file", Access::Read).unwrap());
        one.lock(true).unwrap();
        let taken = flock(&other.file, FlockOperation::NonBlockingLockExclusive);
        assert_eq!(taken, Err(rustix::io::Errno::WOULDBLOCK));
        one.unlock().unwrap();
        other.lock(true).unwrap();
    }

    #[test]
    fn a_tree_that_was_closed_answers_nothing_more() {
        let place = tempfile::tempdir().unwrap();
        let tree = Directory::new(place.path(), HABITS);
        tree.close();
        assert!(matches!(tree.create("/file"), Err(Error::Closed)));
    }
}

//! From the server to the local file system.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_OMIT};
use tokio::sync::mpsc;

use super::arrival::{ARRIVALS_MAX, Arrival, Meta, mode};
use super::departure::depart;
use super::local::local_error;
use super::{TreeFailure, TreeOptions, TreeProgress, TreeReport};
use crate::batch::{Chunks, Existing, Names};
use crate::error::{Error, Result};
use crate::shared::Shared;

impl Shared {
    /// Copies what is in the directory `from` to the local directory `to`, which is made if it is not there.
    pub(super) async fn download(
        self: &Arc<Self>,
        from: &[u8],
        to: &Path,
        options: &TreeOptions,
    ) -> Result<TreeReport> {
        let (ground, _) = self.tree_ground(from).await?;
        if let Err(error) = fs::create_dir(to)
            && error.kind() != ErrorKind::AlreadyExists
        {
            return Err(local_error(&error));
        }
        let (sender, arrivals) = mpsc::channel(ARRIVALS_MAX);
        let tap = Arc::clone(&self.tap);
        let before = tap.requests();
        let sink = Sink {
            root: to.to_owned(),
            options: options.clone(),
            directories: Vec::new(),
            report: TreeReport::default(),
            requests: Box::new(move || tap.requests() - before),
        };
        let write = tokio::task::spawn_blocking(move || sink.run(arrivals));
        let read = depart(ground, sender, options).await;
        let written = write.await.map_err(|_| Error::Usage("the runtime is being shut down"))?;
        Ok(written.with_failures_of(read))
    }
}

/// Writes what arrives.
struct Sink {
    root: PathBuf,
    options: TreeOptions,
    /// They get modes and times when nothing is added to them any more.
    directories: Vec<(Names, Meta)>,
    report: TreeReport,
    requests: Box<dyn Fn() -> u64 + Send>,
}

impl Sink {
    fn run(mut self, mut arrivals: mpsc::Receiver<Arrival>) -> TreeReport {
        while let Some(arrival) = arrivals.blocking_recv() {
            let (at, result) = self.take(arrival);
            if !self.ended(&at, result) {
                break;
            }
        }
        drop(arrivals);
        self.directories.sort_unstable_by(|a, b| b.0.cmp(&a.0));
        for (at, meta) in std::mem::take(&mut self.directories) {
            if let Err(error) = self.dress(&self.path(&at), &meta, true) {
                self.fail(&at, local_error(&error));
            }
        }
        self.report.done.requests = (self.requests)();
        self.report
    }

    fn take(&mut self, arrival: Arrival) -> (Names, Result<u64>) {
        let local = |error: io::Error| local_error(&error);
        match arrival {
            Arrival::Directory { at, meta } => {
                let mode = mode(&self.options, &meta) | 0o700;
                let made = make_directory(&self.path(&at), mode).map_err(local);
                self.directories.push((at.clone(), meta));
                (at, made.map(|()| 0))
            }
            Arrival::File { at, data, meta } => {
                let written = self.create(&at, &meta).and_then(|file| file.write_all_at(&data, 0));
                let written = written.and_then(|()| self.dress(&self.path(&at), &meta, false));
                (at, written.map(|()| data.len() as u64).map_err(local))
            }
            Arrival::Large { at, size, parts, meta } => {
                let written = self.create(&at, &meta).map_err(local);
                let written = written.and_then(|file| {
                    fill(&file, &parts)?;
                    file.set_len(size).map_err(local)
                });
                let written = written.and_then(|()| self.dress(&self.path(&at), &meta, false).map_err(local));
                (at, written.map(|()| size))
            }
            Arrival::Symlink { at, target, meta } => {
                let path = self.path(&at);
                let target = Path::new(std::ffi::OsStr::from_bytes(&target)).to_owned();
                let made = self.in_place(&path, || std::os::unix::fs::symlink(&target, &path));
                let made = made.and_then(|()| self.dress_link(&path, &meta));
                (at, made.map(|()| 0).map_err(local))
            }
            Arrival::Link { source, at } => {
                let (source, path) = (self.path(&source), self.path(&at));
                let made = self.in_place(&path, || fs::hard_link(&source, &path));
                (at, made.map(|()| 0).map_err(local))
            }
            Arrival::Failed { at, error } => (at, Err(error)),
        }
    }

    /// False when it is the end.
    fn ended(&mut self, at: &Names, result: Result<u64>) -> bool {
        match result {
            Ok(bytes) => {
                self.report.done.items += 1;
                self.report.done.bytes += bytes;
                if let Some(progress) = &self.options.progress {
                    progress(&TreeProgress { requests: (self.requests)(), ..self.report.done });
                }
                true
            }
            Err(error) => {
                self.fail(at, error);
                !self.options.stop_on_error
            }
        }
    }

    fn fail(&mut self, at: &Names, error: Error) {
        self.report.failures_total += 1;
        if self.report.failures.len() < super::FAILURES_MAX {
            self.report.failures.push(TreeFailure { path: at.to_path(), error });
        }
    }

    fn path(&self, at: &Names) -> PathBuf {
        at.iter().fold(self.root.clone(), |path, name| path.join(std::ffi::OsStr::from_bytes(&name)))
    }

    fn create(&self, at: &Names, meta: &Meta) -> io::Result<File> {
        let path = self.path(at);
        let mode = mode(&self.options, meta);
        let mut options = File::options();
        options.write(true).mode(mode & 0o777).custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32);
        match self.options.existing {
            Existing::Truncate => options.create(true).truncate(true).open(&path),
            Existing::Refuse | Existing::Replace => {
                self.in_place(&path, || options.create_new(true).open(&path))
            }
        }
    }

    fn in_place<T>(&self, path: &Path, mut make: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        match make() {
            Err(error)
                if error.kind() == ErrorKind::AlreadyExists && self.options.existing == Existing::Replace =>
            {
                fs::remove_file(path)?;
                make()
            }
            made => made,
        }
    }

    fn dress(&self, path: &Path, meta: &Meta, directory: bool) -> io::Result<()> {
        if self.options.owners {
            std::os::unix::fs::lchown(path, Some(meta.uid), Some(meta.gid))?;
        }
        let mode = mode(&self.options, meta);
        if self.options.modes || directory && mode & 0o700 != 0o700 {
            fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
        }
        self.set_times(path, meta)
    }

    fn dress_link(&self, path: &Path, meta: &Meta) -> io::Result<()> {
        if self.options.owners {
            std::os::unix::fs::lchown(path, Some(meta.uid), Some(meta.gid))?;
        }
        self.set_times(path, meta)
    }

    fn set_times(&self, path: &Path, meta: &Meta) -> io::Result<()> {
        if !self.options.times {
            return Ok(());
        }
        let time = |time: crate::Time| Timespec { tv_sec: time.seconds, tv_nsec: time.nanoseconds.into() };
        let last_access = meta.accessed.map_or(Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT }, time);
        let times = Timestamps { last_access, last_modification: time(meta.modified) };
        Ok(rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)?)
    }
}

/// One that is there is kept, if it is a directory and no link to one.
fn make_directory(path: &Path, mode: u32) -> io::Result<()> {
    match fs::DirBuilder::new().mode(mode).create(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            match fs::symlink_metadata(path)?.is_dir() {
                true => Ok(()),
                false => Err(error),
            }
        }
        made => made,
    }
}

fn fill(file: &File, parts: &Chunks) -> Result<()> {
    let mut parts = parts.blocking_lock();
    while let Some(part) = parts.blocking_recv() {
        let (offset, data) = part?;
        file.write_all_at(&data, offset).map_err(|error| local_error(&error))?;
    }
    Ok(())
}

//! From the server to the local file system.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::mpsc;

use super::arrival::{ARRIVALS_MAX, Arrival, Meta, mode};
use super::departure::depart;
use super::local::local_error;
use super::place::LocalTree;
use super::{TreeFailure, TreeOptions, TreeProgress, TreeReport};
use crate::error::{Error, Result};
use crate::items::{Chunks, Names};
use crate::shared::Shared;

impl Shared {
    /// Copies what is in the directory `from` to the local directory `to`, which is made if it is not there.
    pub(super) async fn download(
        self: &Arc<Self>,
        from: &[u8],
        to: &Path,
        options: &TreeOptions,
    ) -> Result<TreeReport> {
        let ground = self.tree_ground(from).await?;
        if let Err(error) = fs::create_dir(to)
            && error.kind() != ErrorKind::AlreadyExists
        {
            return Err(local_error(&error));
        }
        let tree = LocalTree::open(to, options.existing).map_err(|error| local_error(&error))?;
        let (sender, arrivals) = mpsc::channel(ARRIVALS_MAX);
        let tap = Arc::clone(&self.tap);
        let before = tap.requests();
        let sink = Sink {
            tree,
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
    tree: LocalTree,
    options: TreeOptions,
    /// They get modes and times when nothing is added to them any more.
    directories: Vec<(Names, Meta)>,
    report: TreeReport,
    requests: Box<dyn Fn() -> u64 + Send>,
}

impl Sink {
    fn run(mut self, mut arrivals: mpsc::Receiver<Arrival>) -> TreeReport {
        while let Some(arrival) = arrivals.blocking_recv() {
            match self.take(arrival) {
                Ok(bytes) => self.done(bytes),
                Err((path, error)) => {
                    self.fail(path, error);
                    if self.options.stop_on_error {
                        break;
                    }
                }
            }
        }
        drop(arrivals);
        self.directories.sort_unstable_by(|a, b| b.0.cmp(&a.0));
        for (at, meta) in std::mem::take(&mut self.directories) {
            let dressed = self.tree.directory(&at).and_then(|dir| meta.dress(&dir, &self.options, true));
            if let Err(error) = dressed {
                self.fail(at.to_path(), local_error(&error));
            }
        }
        self.report.done.requests = (self.requests)();
        self.report
    }

    /// The bytes that were written, or which object failed and why.
    fn take(&mut self, arrival: Arrival) -> std::result::Result<u64, (Bytes, Error)> {
        let (at, written) = match arrival {
            Arrival::Directory { at, meta } => {
                let made = self.tree.make_directory(&at, mode(&self.options, &meta) | 0o700);
                self.directories.push((at.clone(), meta));
                (at, made.map(|()| 0).map_err(|error| local_error(&error)))
            }
            Arrival::File { at, data, meta } => {
                let written = self.write(&at, &meta, |file| {
                    file.write_all_at(&data, 0).map_err(|error| local_error(&error))
                });
                (at, written.map(|()| data.len() as u64))
            }
            Arrival::Large { at, size, parts, meta } => {
                let written = self.write(&at, &meta, |file| {
                    // First, since a file that cannot become so long need not be read.
                    if let Some(size) = size {
                        file.set_len(size).map_err(|error| local_error(&error))?;
                    }
                    fill(file, &parts)
                });
                (at, written.map(|()| size.unwrap_or(0)))
            }
            Arrival::Symlink { at, target, meta } => {
                let made =
                    self.tree.symlink(&at, &target, |dir, name| meta.dress_link(dir, name, &self.options));
                (at, made.map(|()| 0).map_err(|error| local_error(&error)))
            }
            Arrival::Link { source, at } => {
                let made = self.tree.hard_link(&source, &at);
                (at, made.map(|()| 0).map_err(|error| local_error(&error)))
            }
            Arrival::Failed { path, error } => return Err((path, error)),
        };
        written.map_err(|error| (at.to_path(), error))
    }

    fn write(&mut self, at: &Names, meta: &Meta, fill: impl FnOnce(&File) -> Result<()>) -> Result<()> {
        let local = |error: std::io::Error| local_error(&error);
        let file = self.tree.create_file(at, mode(&self.options, meta) & 0o777).map_err(local)?;
        fill(&file)?;
        meta.dress(&file, &self.options, false).map_err(local)
    }

    fn done(&mut self, bytes: u64) {
        self.report.done.items += 1;
        self.report.done.bytes += bytes;
        if let Some(progress) = &self.options.progress {
            progress(&TreeProgress { requests: (self.requests)(), ..self.report.done });
        }
    }

    fn fail(&mut self, path: Bytes, error: Error) {
        self.report.failures_total += 1;
        if self.report.failures.len() < super::FAILURES_MAX {
            self.report.failures.push(TreeFailure { path, error });
        }
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

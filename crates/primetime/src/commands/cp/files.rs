//! The copy of one file.

use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use bytes::Bytes;
use client::{File, OpenOptions, SetAttributes, data_runs};
use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;
use tokio::task::block_in_place;

use super::side::{Cause, Kind, ObjectSummary, Side, is_root};
use super::{Copy, Job};
use crate::remote::Spot;

/// How much is read or written at a time, in bytes; the client reads ahead and writes behind.
const PART_BYTES: usize = 1 << 20;

/// On which side a copy failed.
#[derive(Debug)]
pub(super) enum Trouble {
    Source(Cause),
    Target(Cause),
}

fn source(error: impl Into<Cause>) -> Trouble {
    Trouble::Source(error.into())
}

fn target(error: impl Into<Cause>) -> Trouble {
    Trouble::Target(error.into())
}

impl Copy<'_> {
    /// Copies a file as the options say.
    pub(super) async fn copy_file(&self, job: &Job) -> Result<(), Trouble> {
        if self.arguments.force {
            match job.target.look(false).await {
                Ok(there) if there.kind != Kind::Directory && !is_same(job, &there) => {
                    job.target.remove_file().await.map_err(Trouble::Target)?;
                }
                _ => {}
            }
        }
        let copied = match (&job.source, &job.target) {
            (Side::Local(from), Side::Remote(to)) => self.upload(from, &job.found, to).await,
            (Side::Remote(from), Side::Local(to)) => self.download(from, &job.found, to).await,
            (Side::Remote(from), Side::Remote(to)) => self.across(from, job, to).await,
            (Side::Local(_), Side::Local(_)) => {
                Err(target(client::Error::Usage("one end of a copy must be at a server")))
            }
        };
        match copied {
            Err(Trouble::Target(cause))
                if cause.kind == ErrorKind::AlreadyExists && self.arguments.no_clobber =>
            {
                Ok(())
            }
            copied => copied,
        }
    }

    /// Reads to the end, not to the reported size: pipes and files of `/proc` have none.
    async fn upload(&self, from: &Path, found: &ObjectSummary, to: &Spot) -> Result<(), Trouble> {
        // Opening a pipe waits for its writer.
        let from = block_in_place(|| fs::File::open(from)).map_err(source)?;
        let mut has_holes = found.kind == Kind::File && found.size > found.used;
        let file = self.create(to, found).await?;
        let (mut offset, mut written) = (0, 0);
        loop {
            if has_holes {
                match seek(&from, SeekFrom::Data(offset)) {
                    Ok(data) => offset = data,
                    Err(Errno::NXIO) => {
                        offset = found.size.max(offset);
                        break;
                    }
                    // The file system does not support SEEK_DATA.
                    Err(_) => {
                        has_holes = false;
                        seek(&from, SeekFrom::Start(offset))
                            .map_err(|error| source(io::Error::from(error)))?;
                    }
                }
            }
            let mut part = Vec::new();
            let read = block_in_place(|| (&from).take(PART_BYTES as u64).read_to_end(&mut part));
            let count = read.map_err(source)? as u64;
            if count == 0 {
                break;
            }
            for (at, run) in data_runs(offset, Bytes::from(part)) {
                written = at + run.len() as u64;
                file.write_at(at, run).await.map_err(target)?;
            }
            self.session.progress.add_bytes(count);
            offset += count;
        }
        if written < offset {
            file.set_len(offset).await.map_err(target)?;
        }
        self.finish(file, found).await
    }

    async fn download(&self, from: &Spot, found: &ObjectSummary, to: &Path) -> Result<(), Trouble> {
        let file = open(from).await?;
        let mut options = fs::File::options();
        options.write(true).mode(found.mode & 0o777);
        match self.arguments.no_clobber {
            true => options.create_new(true),
            false => options.create(true).truncate(true),
        };
        let mut to_file = options.open(to).map_err(target)?;
        let is_file = to_file.metadata().map_err(target)?.is_file();
        let has_holes = is_file && found.size > found.used;
        let (mut offset, mut written) = (0, 0);
        loop {
            if has_holes {
                match file.next_data(offset).await.map_err(source)? {
                    Some(data) => offset = data,
                    None => {
                        offset = file.metadata().await.map_err(source)?.size.max(offset);
                        break;
                    }
                }
            }
            let part = file.read_at(offset, PART_BYTES).await.map_err(source)?;
            if part.is_empty() {
                break;
            }
            let count = part.len() as u64;
            if is_file {
                for (at, run) in data_runs(offset, part) {
                    written = at + run.len() as u64;
                    block_in_place(|| to_file.write_all_at(&run, at)).map_err(target)?;
                }
            } else {
                block_in_place(|| to_file.write_all(&part)).map_err(target)?;
            }
            self.session.progress.add_bytes(count);
            offset += count;
        }
        if is_file && written < offset {
            to_file.set_len(offset).map_err(target)?;
        }
        file.close().await.map_err(source)?;
        if self.arguments.preserve {
            found.dress_file(&to_file).map_err(target)?;
        }
        Ok(())
    }

    /// By the server itself, where both files are on it and it can.
    async fn across(&self, from: &Spot, job: &Job, to: &Spot) -> Result<(), Trouble> {
        let server = |spot: &Spot| (spot.url.host().to_owned(), spot.url.port());
        if server(from) == server(to)
            && let Ok(there) = job.target.look(true).await
            && is_same(job, &there)
        {
            return Err(target(client::Error::Usage("it is the same file as the source")));
        }
        let from = open(from).await?;
        let file = self.create(to, &job.found).await?;
        // Either end may have failed; the sentence says how.
        let count = from.copy_whole(&file).await.map_err(target)?;
        self.session.progress.add_bytes(count);
        from.close().await.map_err(source)?;
        self.finish(file, &job.found).await
    }

    async fn create(&self, to: &Spot, found: &ObjectSummary) -> Result<File, Trouble> {
        let options = OpenOptions::new().write(true).mode(found.mode & 0o777 & !self.session.umask);
        let options = match self.arguments.no_clobber {
            true => options.create_new(true),
            false => options.create(true).truncate(true),
        };
        to.client.open(&to.path, options).await.map_err(target)
    }

    /// The data are written: makes them stable, and gives the file the looks of the source if that is wanted.
    async fn finish(&self, file: File, found: &ObjectSummary) -> Result<(), Trouble> {
        if self.arguments.preserve {
            if is_root() {
                let owner =
                    SetAttributes { uid: Some(found.uid), gid: Some(found.gid), ..Default::default() };
                file.set_metadata(owner).await.map_err(target)?;
            }
            file.set_metadata(found.dress()).await.map_err(target)?;
        }
        file.close().await.map_err(target)
    }
}

async fn open(from: &Spot) -> Result<File, Trouble> {
    from.client.open(&from.path, OpenOptions::new().read(true)).await.map_err(source)
}

fn is_same(job: &Job, there: &ObjectSummary) -> bool {
    matches!((&job.source, &job.target), (Side::Remote(_), Side::Remote(_)))
        && there.identity == job.found.identity
}

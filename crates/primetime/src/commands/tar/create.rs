//! `tar -c`: an archive of what is in a directory at a server.

use std::collections::HashMap;
use std::io::{self, ErrorKind, Read, Write, stdout};

use bytes::Bytes;
use client::{Attributes, Batch, Descend, FileType, OpenOptions, TreeEntry, TreeOptions};
use tar::{Builder, EntryType, Header};
use tokio::runtime::Handle;
use tokio::task::block_in_place;

use super::Arguments;
use crate::failure::Failure;
use crate::remote::{CopyEnd, End, Session, Spot, Work, remote_path, sentence};

/// Files up to this size are read many at a time.
const SMALL_BYTES_MAX: u64 = 256 << 10;
/// Objects that are asked for together, and the data of files among them, in bytes.
const OBJECTS_PER_BATCH: usize = 1024;
const BYTES_PER_BATCH: u64 = 32 << 20;
/// How much of a large file is read at a time, in bytes.
const PART_BYTES: usize = 1 << 20;
/// The most zeros that a file is filled up with to the size in its header, in bytes. A server can give any
/// size to a file.
const PADDING_BYTES_MAX: u64 = 1 << 30;

/// The server has fewer data of a file than the size that it gave.
const SHORTER: &str = "it has become shorter meanwhile";

/// What is packed: its path below the directory, and what it is.
type Packed = (Bytes, Attributes);
type Archive = Builder<Box<dyn Write>>;

pub(super) async fn create(session: &Session, arguments: &Arguments, spot: &Spot) -> Work {
    let objects = list(session, spot).await;
    let failed = |error| Failure::set_up(sentence("write", arguments.file.display(), io_kind(&error), error));
    let to: Box<dyn Write> = match arguments.is_standard() {
        true => Box::new(io::BufWriter::new(stdout())),
        false => Box::new(io::BufWriter::new(std::fs::File::create(&arguments.file).map_err(failed)?)),
    };
    let making = session.making(arguments.file.display());
    let mut packing = Packing { session, spot, archive: Builder::new(to), links: HashMap::new() };
    match packing.all(&objects).await.and_then(|()| packing.archive.into_inner()?.flush()) {
        Ok(()) => {
            making.made();
            Ok(())
        }
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(End::ReaderGone),
        Err(error) => {
            Err(Failure::refused(sentence("write", arguments.file.display(), error.kind(), error)).into())
        }
    }
}

fn io_kind(error: &io::Error) -> ErrorKind {
    error.kind()
}

/// Everything below the directory, sorted: a directory stands before what is in it.
async fn list(session: &Session, spot: &Spot) -> Vec<Packed> {
    let options = TreeOptions::default();
    let mut objects = Vec::new();
    let mut unknown = Vec::new();
    let listed = spot.client.list_tree(&spot.path, &options, |found: TreeEntry| {
        match found.entry.attributes {
            Some(known) => objects.push((found.path, known)),
            None => unknown.push(found.path),
        }
        Descend::Into
    });
    match listed.await {
        Ok(report) => session.report("pack", &CopyEnd::Remote(spot.url.clone()), &report),
        Err(error) => session.failed("pack", &spot.url, &error),
    }
    for path in unknown {
        session.refused(format_args!(
            "cannot pack {}: the server does not say what it is; try again",
            remote_path::below(&spot.url, &path)
        ));
    }
    objects.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    objects
}

struct Packing<'a> {
    session: &'a Session,
    spot: &'a Spot,
    archive: Archive,
    /// Files of several names, by file system and number: the name under which they were packed.
    links: HashMap<(u64, u64), Bytes>,
}

impl Packing<'_> {
    async fn all(&mut self, objects: &[Packed]) -> io::Result<()> {
        let mut rest = objects;
        while !rest.is_empty() {
            let mut bytes = 0;
            let fits = |(_, known): &&Packed| {
                bytes += small_bytes(known);
                bytes <= BYTES_PER_BATCH
            };
            let count = rest.iter().take(OBJECTS_PER_BATCH).take_while(fits).count().max(1);
            let (now, later) = rest.split_at(count);
            self.some(now).await?;
            rest = later;
        }
        Ok(())
    }

    /// Contents of small files and targets of links are asked for together.
    async fn some(&mut self, objects: &[Packed]) -> io::Result<()> {
        let mut batch = Batch::new();
        let mut places = Vec::new();
        for (place, (path, known)) in objects.iter().enumerate() {
            let at = remote_path::join(&self.spot.path, path);
            match known.kind {
                FileType::Symlink => drop(batch.read_link(at)),
                FileType::Regular if known.size > 0 && known.size <= SMALL_BYTES_MAX => {
                    // One byte more shows that it is larger than it was listed.
                    batch.read_range(at, 0, SMALL_BYTES_MAX + 1);
                }
                _ => continue,
            }
            places.push(place);
        }
        let mut contents: HashMap<usize, client::Result<Bytes>> = HashMap::new();
        for (place, result) in places.into_iter().zip(self.spot.client.run(batch).await) {
            contents.insert(place, result.map(|output| output.into_data().unwrap_or_default()));
        }
        for (place, (path, known)) in objects.iter().enumerate() {
            match contents.remove(&place).transpose() {
                Ok(content) => self.one(path, known, content).await?,
                Err(error) => self.session.failed("pack", remote_path::below(&self.spot.url, path), &error),
            }
        }
        Ok(())
    }

    async fn one(&mut self, path: &Bytes, known: &Attributes, content: Option<Bytes>) -> io::Result<()> {
        let mut header = header(known);
        let name = as_path(path);
        if known.kind != FileType::Directory && known.links > 1 {
            let first = self.links.entry((known.fsid, known.fileid)).or_insert_with(|| path.clone());
            if first != path {
                header.set_entry_type(EntryType::Link);
                let first = first.clone();
                return self.archive.append_link(&mut header, name, as_path(&first));
            }
        }
        match known.kind {
            FileType::Directory => {
                header.set_entry_type(EntryType::Directory);
                self.archive.append_data(&mut header, name, io::empty())
            }
            FileType::Symlink => {
                header.set_entry_type(EntryType::Symlink);
                self.archive.append_link(&mut header, name, as_path(&content.unwrap_or_default()))
            }
            FileType::Regular if known.size <= SMALL_BYTES_MAX => {
                let content = content.unwrap_or_default();
                if content.len() as u64 > SMALL_BYTES_MAX {
                    return self.large(path, &mut header).await;
                }
                header.set_size(content.len() as u64);
                self.session.progress.add_bytes(content.len() as u64);
                self.archive.append_data(&mut header, name, &content[..])
            }
            FileType::Regular => self.large(path, &mut header).await,
            _ => {
                self.session.refused(format_args!(
                    "cannot pack {}: it is a device, a pipe or a socket; leave it out",
                    remote_path::below(&self.spot.url, path)
                ));
                Ok(())
            }
        }
    }

    /// A file that is read while it is packed. One that becomes shorter meanwhile is filled up with zeros, up
    /// to [`PADDING_BYTES_MAX`]; beyond, the archive ends with an error.
    async fn large(&mut self, path: &Bytes, header: &mut Header) -> io::Result<()> {
        let url = remote_path::below(&self.spot.url, path);
        let at = remote_path::join(&self.spot.path, path);
        let file = match self.spot.client.open(at, OpenOptions::new().read(true)).await {
            Ok(file) => file,
            Err(error) => {
                self.session.failed("pack", url, &error);
                return Ok(());
            }
        };
        // Before the header, which says how much follows.
        let (size, part) = match beginning(&file).await {
            Ok(beginning) => beginning,
            Err(error) => {
                self.session.failed("pack", url, &error);
                return Ok(());
            }
        };
        header.set_size(size);
        let mut content = Content { file: &file, at: part.len() as u64, size, part, failed: None };
        block_in_place(|| self.archive.append_data(header, as_path(path), &mut content))?;
        self.session.progress.add_bytes(size);
        if let Some(error) = content.failed.take() {
            self.session.failed("pack", &url, &error);
        }
        if let Err(error) = file.close().await {
            self.session.failed("pack", &url, &error);
        }
        Ok(())
    }
}

/// The size of a file that is not empty, and its first part.
async fn beginning(file: &client::File) -> client::Result<(u64, Bytes)> {
    match file.read_at(0, PART_BYTES).await? {
        part if part.is_empty() => Err(client::Error::Usage(SHORTER)),
        part => Ok((file.metadata().await?.size.max(part.len() as u64), part)),
    }
}

fn as_path(name: &[u8]) -> &std::path::Path {
    use std::os::unix::ffi::OsStrExt;
    std::path::Path::new(std::ffi::OsStr::from_bytes(name))
}

fn small_bytes(known: &Attributes) -> u64 {
    if known.kind == FileType::Regular && known.size <= SMALL_BYTES_MAX { known.size } else { 0 }
}

fn header(known: &Attributes) -> Header {
    let mut header = Header::new_gnu();
    header.set_mode(known.mode);
    header.set_uid(known.uid.into());
    header.set_gid(known.gid.into());
    set_time(&mut header, known.modified.seconds);
    header.set_size(0);
    header
}

/// Times before 1970 are numbers of base 256 in two's complement, as GNU tar writes and reads them.
fn set_time(header: &mut Header, seconds: i64) {
    match u64::try_from(seconds) {
        Ok(seconds) => header.set_mtime(seconds),
        Err(_) => {
            let (sign, digits) = header.as_old_mut().mtime.split_at_mut(4);
            sign.fill(0xff);
            digits.copy_from_slice(&seconds.to_be_bytes());
        }
    }
}

/// The data of a file, exactly as many as its header says.
struct Content<'a> {
    file: &'a client::File,
    at: u64,
    size: u64,
    part: Bytes,
    failed: Option<client::Error>,
}

impl Read for Content<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.part.is_empty() {
            let wanted = (self.size - self.at).min(PART_BYTES as u64) as usize;
            if wanted == 0 {
                return Ok(0);
            }
            let read = match &self.failed {
                None => Handle::current().block_on(self.file.read_at(self.at, wanted)),
                Some(_) => Ok(Bytes::new()),
            };
            let read = read.and_then(|data| match data.is_empty() && self.failed.is_none() {
                true => Err(client::Error::Usage(SHORTER)),
                false => Ok(data),
            });
            self.part = read.unwrap_or_else(|error| {
                self.failed = Some(error);
                Bytes::new()
            });
            if self.part.is_empty() {
                if self.size - self.at > PADDING_BYTES_MAX {
                    let cause = "a file ends more than 1 GiB before its size";
                    return Err(io::Error::new(ErrorKind::InvalidData, cause));
                }
                self.part = Bytes::from(vec![0; wanted]);
            }
            self.at += self.part.len() as u64;
        }
        let count = into.len().min(self.part.len());
        into[..count].copy_from_slice(&self.part.split_to(count));
        Ok(count)
    }
}

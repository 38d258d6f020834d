//! Reading directories. The kernel's place in a directory is the number of the entry; which request brings that one is
//! remembered with the open directory, so that it does not matter what a server's own numbers look like.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::time::Duration;

use client::{DirEntry, ListingTrail, Object, Position};
use fuser::{
    AccessFlags, FileAttr, FileHandle, FileType, Generation, INodeNo, ReplyDirectory, ReplyDirectoryPlus,
};
use tokio::sync::Mutex;

use crate::convert;
use crate::errno::{self, Result};
use crate::inodes::Inode;
use crate::tree::{Entry, Tree};

/// `.` and `..` come first.
const DOTS: u64 = 2;

/// An open directory.
#[derive(Debug)]
pub(crate) struct OpenDirectory {
    inode: Arc<Inode>,
    /// Where the parts begin that were read up to now: the number of the first entry, and its place on the server.
    parts: Vec<(u64, Position)>,
    trail: ListingTrail,
    /// The part that was read last.
    present: Option<Arc<Part>>,
}

#[derive(Debug)]
struct Part {
    first: u64,
    entries: Vec<(DirEntry, Option<Object>)>,
    last: bool,
}

/// What the kernel is answered with.
#[derive(Debug)]
pub(crate) enum Listing {
    /// Names alone.
    Names(ReplyDirectory),
    /// With what they stand for. Those in it count as known to the kernel.
    Entries { reply: ReplyDirectoryPlus, known: bool },
}

impl Tree {
    pub(crate) async fn open_directory(&self, number: u64) -> Result<FileHandle> {
        // A directory that may not be read cannot be opened, rather than opened and not read.
        self.check_access(number, AccessFlags::R_OK).await?;
        let inode = self.inodes.get(number)?;
        let directory = OpenDirectory {
            inode,
            parts: vec![(DOTS, Position::default())],
            trail: ListingTrail::default(),
            present: None,
        };
        Ok(self.directories.insert(Mutex::new(directory)))
    }

    /// Adds the entries from number `offset` on, as many as there is room for.
    pub(crate) async fn read_directory(
        &self,
        handle: FileHandle,
        offset: u64,
        listing: &mut Listing,
    ) -> Result<()> {
        let directory = self.directories.get(handle)?;
        let mut directory = directory.lock().await;
        if offset == 0 {
            // From the beginning: what has changed since is to be seen.
            directory.present = None;
            directory.parts.truncate(1);
            directory.trail = ListingTrail::default();
        }
        let mut at = offset;
        while at < DOTS {
            if listing.add_dot(&directory.inode, at) {
                return Ok(());
            }
            at += 1;
        }
        while let Some(part) = directory.part(at).await? {
            for (entry, object) in part.entries.iter().skip((at - part.first) as usize) {
                if self.add(&directory.inode, listing, at + 1, entry, object.as_ref()).await {
                    return Ok(());
                }
                at += 1;
            }
            if part.last {
                return Ok(());
            }
        }
        Ok(())
    }

    /// True when there was no room.
    async fn add(
        &self,
        parent: &Inode,
        listing: &mut Listing,
        next: u64,
        entry: &DirEntry,
        object: Option<&Object>,
    ) -> bool {
        let name = OsStr::from_bytes(&entry.name);
        match listing {
            Listing::Names(reply) => {
                let kind = entry.attributes.map_or(FileType::RegularFile, |known| convert::kind(known.kind));
                reply.add(INodeNo(entry.fileid), next, kind, name)
            }
            Listing::Entries { reply, known: any_known } => {
                let Some(known) = self.listed(parent, &entry.name, object).await else {
                    // Number 0 tells the kernel to ask for it by name.
                    let unknown = unknown(FileType::RegularFile);
                    return reply.add(INodeNo(0), next, name, &Duration::ZERO, &unknown, Generation(0));
                };
                let believed = known.name_for.min(known.attributes_for);
                let number = known.attributes.ino;
                let full = reply.add(number, next, name, &believed, &known.attributes, Generation(0));
                if full {
                    self.unknown_to_the_kernel(&known);
                } else {
                    *any_known = true;
                }
                full
            }
        }
    }

    /// An entry as the kernel is told of it, with its inode counted.
    async fn listed(&self, parent: &Inode, name: &[u8], object: Option<&Object>) -> Option<Entry> {
        let object = object?;
        let open = self.inodes.find(object.key()).is_some_and(|inode| inode.state.lock().opens > 0);
        match open {
            // What is on its way to the server counts.
            true => self.entry(parent, name, object).await.ok(),
            false => {
                let content = object.content();
                Some(self.entry_of(parent, name, object, (&object.remembered()?.attributes, content)))
            }
        }
    }
}

impl OpenDirectory {
    /// The part with entry number `at`; `None` when there is none.
    async fn part(&mut self, at: u64) -> Result<Option<Arc<Part>>> {
        loop {
            if let Some(part) = &self.present
                && at >= part.first
                && (part.last || at < part.first + part.entries.len() as u64)
            {
                let there = at < part.first + part.entries.len() as u64;
                return Ok(there.then(|| Arc::clone(part)));
            }
            let place = self.parts.partition_point(|(first, _)| *first <= at);
            let (first, position) = self.parts[place.max(1) - 1];
            let page = self.inode.object.read_dir(position).await.map_err(errno::of)?;
            let end = first + page.entries.len() as u64;
            if let Some(next) = page.next
                && place == self.parts.len()
            {
                self.trail.advance(&next).map_err(errno::of)?;
                self.parts.push((end, next));
            }
            let last = page.next.is_none();
            self.present = Some(Arc::new(Part { first, entries: page.entries, last }));
        }
    }
}

impl Listing {
    fn add_dot(&mut self, inode: &Inode, at: u64) -> bool {
        let name = if at == 0 { "." } else { ".." };
        match self {
            Self::Names(reply) => reply.add(INodeNo(inode.number), at + 1, FileType::Directory, name),
            Self::Entries { reply, .. } => {
                let mut known = unknown(FileType::Directory);
                known.ino = INodeNo(inode.number);
                reply.add(known.ino, at + 1, name, &Duration::ZERO, &known, Generation(0))
            }
        }
    }

    pub(crate) fn reply(self, outcome: Result<()>) {
        match (self, outcome) {
            (Self::Names(reply), Ok(())) => reply.ok(),
            (Self::Names(reply), Err(error)) => reply.error(error),
            // What is in it is told in any case, since it counts. What has failed will do so again.
            (Self::Entries { reply, known: true }, _) | (Self::Entries { reply, .. }, Ok(())) => reply.ok(),
            (Self::Entries { reply, .. }, Err(error)) => reply.error(error),
        }
    }
}

/// Attributes that tell nothing but the type.
fn unknown(kind: FileType) -> FileAttr {
    let time = std::time::UNIX_EPOCH;
    FileAttr {
        ino: INodeNo(0),
        size: 0,
        blocks: 0,
        atime: time,
        mtime: time,
        ctime: time,
        crtime: time,
        kind,
        perm: 0,
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 0,
        flags: 0,
    }
}

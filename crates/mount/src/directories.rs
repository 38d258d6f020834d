//! Reading directories. The kernel's place in a directory is the number of the entry; which request brings
//! that one is remembered with the open directory, so that it does not matter what a server's own numbers
//! look like.

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
    /// Where the parts begin that were read up to now: the number of the first entry, and its place on the
    /// server.
    parts: Vec<(u64, Position)>,
    trail: ListingTrail,
    /// The part that was read last.
    present: Option<Arc<Part>>,
}

#[derive(Debug)]
struct Part {
    first: u64,
    entries: Vec<(DirEntry, Option<Object>)>,
    /// The number of the first entry of the next part; `None` when there is none.
    next: Option<u64>,
}

impl Part {
    /// A part that begins with entry number `first`. One that was read before ends where it ended then,
    /// whatever the server lists now: the kernel knows the entries of the next part by their numbers.
    fn new(first: u64, mut entries: Vec<(DirEntry, Option<Object>)>, next: Option<u64>) -> Self {
        if let Some(next) = next {
            entries.truncate(usize::try_from(next - first).unwrap_or(usize::MAX));
        }
        Self { first, entries, next }
    }

    fn contains(&self, at: u64) -> bool {
        at >= self.first && self.next.is_none_or(|next| at < next)
    }
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
        loop {
            let part = directory.part(at).await?;
            for (entry, object) in part.entries.iter().skip((at - part.first) as usize) {
                if self.add(&directory.inode, listing, at + 1, entry, object.as_ref()).await {
                    return Ok(());
                }
                at += 1;
            }
            match part.next {
                Some(next) => at = next,
                None => return Ok(()),
            }
        }
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
        // Attributes are optional in NFSv3, and the kernel wants the type of an entry.
        let says_enough = match listing {
            Listing::Names(_) => object.is_some() || entry.attributes.is_some(),
            Listing::Entries { .. } => object.is_some(),
        };
        let found = match says_enough {
            true => None,
            false => parent.object.lookup(&entry.name).await.ok(),
        };
        let object = object.or(found.as_ref());
        let remembered = || Some(object?.remembered()?.attributes);
        let attributes = entry.attributes.or_else(remembered);
        let kind = attributes.map_or(FileType::RegularFile, |known| convert::kind(known.kind));
        let name = OsStr::from_bytes(&entry.name);
        match listing {
            // Programs pass over entries of number 0.
            Listing::Names(reply) => reply.add(INodeNo(entry.fileid.max(1)), next, kind, name),
            Listing::Entries { reply, known: any_known } => {
                let Some(known) = self.listed(parent, &entry.name, object).await else {
                    // A number that stands for nothing: the kernel asks for the name when a program uses it.
                    let mut unknown = unknown(kind);
                    unknown.ino = INodeNo(self.inodes.spare_number());
                    return reply.add(unknown.ino, next, name, &Duration::ZERO, &unknown, Generation(0));
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

    /// Returns an entry for the kernel, with its inode counted. `None` where LOOKUP has the answer.
    async fn listed(&self, parent: &Inode, name: &[u8], object: Option<&Object>) -> Option<Entry> {
        let object = object?;
        let open = self.inodes.find(object.key()).is_some_and(|inode| inode.state.lock().opens > 0);
        match open {
            // What is on its way to the server counts.
            true => self.entry(parent, name, object).await.ok(),
            false => {
                let content = object.content();
                self.entry_of(parent, name, object, (&object.remembered()?.attributes, content)).ok()
            }
        }
    }
}

impl OpenDirectory {
    /// The part with entry number `at`, or the last one.
    async fn part(&mut self, at: u64) -> Result<Arc<Part>> {
        loop {
            if let Some(part) = &self.present
                && part.contains(at)
            {
                return Ok(Arc::clone(part));
            }
            let place = self.parts.partition_point(|(first, _)| *first <= at);
            let (first, position) = self.parts[place.max(1) - 1];
            let page = self.inode.object.read_dir(position).await.map_err(errno::of)?;
            let next = match page.next {
                Some(next) if place == self.parts.len() => {
                    self.trail.advance(&next).map_err(errno::of)?;
                    let end = first + page.entries.len() as u64;
                    self.parts.push((end, next));
                    Some(end)
                }
                Some(_) => Some(self.parts[place].0),
                None => None,
            };
            self.present = Some(Arc::new(Part::new(first, page.entries, next)));
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

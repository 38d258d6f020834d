//! An item of a batch by calls of its own: all of them over NFSv3; over NFSv4.1 what does not fit into a
//! COMPOUND with others, or has met a symbolic link.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use tokio::sync::mpsc;

use crate::attributes::{DirEntry, FileType, SetAttributes};
use crate::error::{Error, Result};
use crate::file::File;
use crate::holes::data_runs;
use crate::items::{Chunk, Chunks, Existing, Ground, Item, Names, Output, kind};
use crate::listing::{ListingTrail, NamedEntry};
use crate::node::Node;
use crate::open::OpenOptions;
use crate::protocol::{DirPosition, NewObject};

/// The longest file that is read as a whole, in bytes.
const WHOLE_BYTES_MAX: u64 = 1 << 30;
/// How much of a file is copied at a time, in bytes.
const COPY_BYTES: usize = 4 << 20;
/// The most entries of one directory: a list is held in memory.
const ENTRIES_MAX: usize = 10_000_000;
/// A directory with more entries is listed while no other such one is.
const LARGE_LIST_ENTRIES: usize = 100_000;
/// LOOKUPs that are under way at once for the entries of one directory.
const LOOKUPS_MAX: usize = 16;
/// How often a name is freed for a file that is to have it.
const REPLACE_TRIES: usize = 3;

impl Ground {
    /// Carries one item out.
    pub(crate) async fn single(&self, item: &Item) -> Result<Output> {
        match item {
            Item::Read { at, offset, length, .. } => self.read(at, *offset, *length).await.map(Output::Data),
            Item::Write { at, data, existing, mode, set } => {
                let file = self.create(at, *existing, *mode).await?;
                let written = file.write_at(0, data.clone()).await;
                finish(file, written, set).await.map(|()| Output::Done)
            }
            Item::WriteRange { at, offset, data } => {
                let file = self.open(at, OpenOptions::new().write(true)).await?;
                let written = file.write_at(*offset, data.clone()).await;
                let closed = file.close().await;
                written.and(closed).map(|()| Output::Done)
            }
            Item::Attributes { at } => {
                let node = self.object(at).await?;
                self.shared.attributes(&node).await.map(Output::Attributes)
            }
            Item::SetAttributes { at, set } => {
                let node = self.object(at).await?;
                self.shared.set_attributes(&node, set, None).await.map(|()| Output::Done)
            }
            Item::MakeDirectory { at, mode } => self.make(at, &NewObject::Directory, *mode).await,
            Item::Symlink { at, target, existing } => {
                let link = NewObject::Symlink(target.clone());
                let mut tries = 0;
                loop {
                    let made = self.make(at, &link, 0o777).await;
                    if !self.frees(at, *existing, is_taken(&made), &mut tries).await? {
                        return made;
                    }
                }
            }
            Item::ReadLink { at } => {
                let node = self.object(at).await?;
                self.shared.protocol().read_link(&node.handle).await.map(Output::Data)
            }
            Item::Remove { at, directory } => {
                let (dir, name) = self.place(at).await?;
                if *directory {
                    self.forget(at);
                }
                self.shared.remove(&dir, &name, *directory).await.map(|()| Output::Done)
            }
            Item::Rename { from, to } => self.rename(from, to).await.map(|()| Output::Done),
            Item::Link { source, at, existing } => {
                let mut tries = 0;
                loop {
                    let linked = self.link(source, at).await;
                    if !self.frees(at, *existing, is_taken(&linked), &mut tries).await? {
                        return linked.map(|()| Output::Done);
                    }
                }
            }
            Item::List { at } => self.list(at).await,
            Item::Copy { from, to, existing, mode, set } => {
                let source = self.open(from, OpenOptions::new().read(true)).await?;
                let copied = self.copy(&source, to, (*existing, *mode, set)).await;
                source.close().await?;
                copied.map(|()| Output::Done)
            }
            Item::Fill { at, existing, mode, set, parts } => {
                let file = self.create(at, *existing, *mode).await?;
                let filled = fill(&file, parts).await;
                finish(file, filled, set).await.map(|()| Output::Done)
            }
            Item::Drain { at, parts } => {
                let file = self.open(at, OpenOptions::new().read(true)).await?;
                let drained = drain(&file, parts).await;
                file.close().await?;
                drained.map(|()| Output::Done)
            }
        }
    }

    /// Opens a file.
    pub(crate) async fn open(&self, at: &Names, options: OpenOptions) -> Result<File> {
        let place = self.place(at).await?;
        let path = at.to_path();
        self.shared.open_in(place, self.follow.then_some((&self.start, &path[..])), &options).await
    }

    /// Opens a file for writing that is empty and new in the sense of `existing`.
    pub(crate) async fn create(&self, at: &Names, existing: Existing, mode: u32) -> Result<File> {
        let options = OpenOptions::new().write(true).mode(mode);
        let options = match existing {
            Existing::Truncate => options.create(true).truncate(true),
            Existing::Refuse | Existing::Replace => options.create_new(true),
        };
        let mut tries = 0;
        loop {
            let opened = self.open(at, options).await;
            if !self.frees(at, existing, is_taken(&opened), &mut tries).await? {
                return opened;
            }
        }
    }

    /// The name was `taken`: removes what has it where that is wanted. True when the name is to be tried
    /// again.
    async fn frees(&self, at: &Names, existing: Existing, taken: bool, tries: &mut usize) -> Result<bool> {
        if !taken || existing != Existing::Replace || *tries >= REPLACE_TRIES {
            return Ok(false);
        }
        *tries += 1;
        let (dir, name) = self.place(at).await?;
        match self.shared.resolve(&dir, &name, false).await {
            // NFSv4 removes empty directories, too.
            Ok(node) if kind(&node) == Some(FileType::Directory) => return Ok(false),
            Err(error) if !error.is_not_found() => return Err(error),
            _ => {}
        }
        match self.shared.remove(&dir, &name, false).await {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(true),
        }
    }

    async fn read(&self, at: &Names, offset: u64, length: u64) -> Result<Bytes> {
        let file = self.open(at, OpenOptions::new().read(true)).await?;
        let read = async {
            let size = file.metadata().await?.size;
            let wanted = length.min(size.saturating_sub(offset));
            if wanted > WHOLE_BYTES_MAX {
                return Err(Error::Usage("so much is read in parts, not by a batch"));
            }
            file.read_at(offset, wanted as usize).await
        };
        let read = read.await;
        file.close().await?;
        read
    }

    async fn make(&self, at: &Names, object: &NewObject, mode: u32) -> Result<Output> {
        let shared = &self.shared;
        shared.check_writable()?;
        let (dir, name) = self.place(at).await?;
        let asked = Instant::now();
        let made = shared.protocol().make(&dir.handle, &name, object, mode).await;
        let (found, effect) = shared.or_forget(&dir, &name, made)?;
        let alone = shared.learn_effect(&dir, effect, asked);
        match found {
            Some(found) => {
                let node = shared.learn_found(&found, asked);
                shared.set_name(&dir, &name, Some(&node), alone);
                if found.attributes.kind == FileType::Directory {
                    self.keep(at, &node);
                }
            }
            None => shared.forget_name(&dir, &name),
        }
        Ok(Output::Done)
    }

    async fn rename(&self, from: &Names, to: &Names) -> Result<()> {
        let (from_dir, from_name) = self.place(from).await?;
        let (to_dir, to_name) = self.place(to).await?;
        self.forget(from);
        self.forget(to);
        self.shared.rename_in((&from_dir, &from_name), (&to_dir, &to_name)).await
    }

    async fn link(&self, source: &Names, at: &Names) -> Result<()> {
        let node = self.object(source).await?;
        let (dir, name) = self.place(at).await?;
        self.shared.link_in(&node, &dir, &name).await
    }

    async fn list(&self, at: &Names) -> Result<Output> {
        let dir = self.directory(at).await?;
        let mut all = Vec::new();
        let mut trail = ListingTrail::default();
        let mut next = Some(DirPosition::default());
        let mut turn = None;
        while let Some(position) = next {
            if all.len() > LARGE_LIST_ENTRIES && turn.is_none() {
                turn = Some(self.large_list.lock().await);
            }
            let page = self.shared.read_dir_page(&dir, position).await?;
            if let Some(next) = &page.next {
                trail.advance_to(next)?;
            }
            next = page.next;
            let entries = self.described(&dir, page.entries).await;
            self.listed(at, &entries);
            all.extend(entries.into_iter().map(|(entry, _)| entry));
            if all.len() > ENTRIES_MAX {
                return Err(Error::Usage("the directory has too many entries for a batch"));
            }
        }
        Ok(Output::Entries(all))
    }

    /// Looks up the entries that the reply says nothing of: attributes are optional in READDIRPLUS, and
    /// READDIR of NFSv3 has none. An entry that cannot be looked up stays as it is.
    async fn described(&self, dir: &Arc<Node>, entries: Vec<NamedEntry>) -> Vec<NamedEntry> {
        if entries.iter().all(|(entry, _)| entry.attributes.is_some()) {
            return entries;
        }
        let look_up = |(entry, node): NamedEntry| async move {
            if entry.attributes.is_some() {
                return (entry, node);
            }
            let found = async {
                let node = self.shared.resolve(dir, &entry.name, false).await?;
                Ok::<_, Error>((self.shared.attributes(&node).await?, node))
            };
            match found.await {
                Ok((known, node)) => (DirEntry { attributes: Some(known), ..entry }, Some(node)),
                Err(_) => (entry, node),
            }
        };
        stream::iter(entries).map(look_up).buffered(LOOKUPS_MAX).collect().await
    }

    /// Remembers the directories of a list.
    pub(crate) fn listed(&self, at: &Names, entries: &[NamedEntry]) {
        for (entry, node) in entries {
            if let Some(node) = node
                && entry.attributes.is_some_and(|known| known.is_directory())
            {
                self.keep(&at.child(&entry.name), node);
            }
        }
    }

    /// By the server where it can.
    async fn copy(
        &self,
        source: &File,
        to: &Names,
        (existing, mode, set): (Existing, u32, &SetAttributes),
    ) -> Result<()> {
        let target = self.create(to, existing, mode).await?;
        let copied = source.copy_whole(&target).await.map(drop);
        finish(target, copied, set).await
    }
}

fn is_taken<T>(outcome: &Result<T>) -> bool {
    matches!(outcome, Err(error) if error.kind() == ErrorKind::AlreadyExists)
}

/// The content is there, or not: sets attributes and closes.
async fn finish(file: File, written: Result<()>, set: &SetAttributes) -> Result<()> {
    let written = match written {
        Ok(()) if *set != SetAttributes::default() => file.set_metadata(*set).await,
        other => other,
    };
    let closed = file.close().await;
    written.and(closed)
}

async fn fill(file: &File, parts: &Chunks) -> Result<()> {
    let mut parts = parts.lock().await;
    while let Some(part) = parts.recv().await {
        let (offset, data) = part?;
        file.write_at(offset, data).await?;
    }
    Ok(())
}

async fn drain(file: &File, parts: &mpsc::Sender<Chunk>) -> Result<()> {
    let may_have_holes = file.inner().may_have_holes().await?;
    let mut at = 0;
    loop {
        if may_have_holes {
            match file.next_data(at).await? {
                Some(data) => at = data,
                None => return Ok(()),
            }
        }
        let data = file.read_at(at, COPY_BYTES).await?;
        if data.is_empty() {
            return Ok(());
        }
        let begin = at;
        at += data.len() as u64;
        for run in data_runs(begin, data) {
            // The receiver reports its failure itself.
            if parts.send(Ok(run)).await.is_err() {
                return Ok(());
            }
        }
    }
}

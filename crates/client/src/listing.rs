//! Reading directories.

use std::collections::HashSet;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, Stream, StreamExt, TryStreamExt};

use crate::attributes::DirEntry;
use crate::error::{Error, Result};
use crate::name::{FileName, is_dots};
use crate::node::Node;
use crate::object::Position;
use crate::protocol::{DirPosition, FoundObject, RawEntry};
use crate::shared::Shared;

/// The entries of a directory, as they come: a [`Stream`], or one by one with [`ReadDir::next_entry`]. `.`
/// and `..` are left out.
///
/// One reply of the server is held at a time, at most a megabyte, however many entries there are; the next is
/// asked for when all of it was taken. An entry that is there from the beginning to the end comes exactly
/// once; of what is made, removed or renamed meanwhile each may come or not. After an error the stream ends:
/// a server that cannot go on at the place where it was says so by one, and the caller may begin anew.
pub struct ReadDir {
    entries: BoxStream<'static, Result<DirEntry>>,
}

impl ReadDir {
    /// The next entry; `None` after the last one.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn next_entry(&mut self) -> Result<Option<DirEntry>> {
        self.entries.try_next().await
    }

    /// All entries that are left, in as much memory as that takes.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn into_vec(self) -> Result<Vec<DirEntry>> {
        self.entries.try_collect().await
    }
}

impl Stream for ReadDir {
    type Item = Result<DirEntry>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.entries.poll_next_unpin(context)
    }
}

impl fmt::Debug for ReadDir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadDir").finish_non_exhaustive()
    }
}

/// An entry, and the object that it stands for if the server told it with its attributes.
pub(crate) type NamedEntry = (DirEntry, Option<Arc<Node>>);

/// A part of a directory.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) entries: Vec<NamedEntry>,
    /// Where the next part starts; `None` at the end.
    pub(crate) next: Option<DirPosition>,
}

/// The most parts of one list: at half a thousand entries each, 500 million entries.
const PARTS_MAX: usize = 1 << 20;

/// Where the parts of one list began. A server that sends a reader back to one of them, or on for ever, is
/// found out.
#[derive(Debug, Default)]
pub struct ListingTrail {
    cookies: HashSet<u64>,
}

impl ListingTrail {
    /// Goes on to the part that begins at `next`.
    ///
    /// # Errors
    /// When the list went on there before, or at its beginning: a cookie stands for one entry (RFC 1813
    /// §3.3.16, RFC 8881 §18.23.3), so that it would have no end. When it has more than a million parts.
    pub fn advance(&mut self, next: &Position) -> Result<()> {
        self.advance_to(&next.0)
    }

    pub(crate) fn advance_to(&mut self, next: &DirPosition) -> Result<()> {
        if next.cookie == 0 || !self.cookies.insert(next.cookie) {
            return Err(Error::misbehaved("READDIR", "the list leads back to a place where it was before"));
        }
        match self.cookies.len() > PARTS_MAX {
            true => Err(Error::misbehaved("READDIR", "the list has no end within a million parts")),
            false => Ok(()),
        }
    }
}

impl Shared {
    /// All entries, with attributes. The first part is asked for at once, so that a directory that cannot be
    /// read is an error here.
    pub(crate) async fn read_dir(self: &Arc<Self>, dir: &Arc<Node>) -> Result<ReadDir> {
        let first = self.read_dir_page(dir, DirPosition::default()).await?;
        let (shared, dir) = (Arc::clone(self), Arc::clone(dir));
        let rest = stream::try_unfold((first.next, ListingTrail::default()), move |(at, mut trail)| {
            let (shared, dir) = (Arc::clone(&shared), Arc::clone(&dir));
            async move {
                let Some(at) = at else { return Ok(None) };
                trail.advance_to(&at)?;
                let page = shared.read_dir_page(&dir, at).await?;
                Ok(Some((page.entries, (page.next, trail))))
            }
        });
        let pages = stream::once(async move { Ok::<_, Error>(first.entries) }).chain(rest);
        let entries = pages.map_ok(|entries| stream::iter(entries).map(|(entry, _)| Ok(entry))).try_flatten();
        Ok(ReadDir { entries: entries.boxed() })
    }

    /// The entries at a place in a directory; what they say is remembered, so that opening what was listed
    /// costs less.
    pub(crate) async fn read_dir_page(&self, dir: &Arc<Node>, at: DirPosition) -> Result<Page> {
        let asked = Instant::now();
        let page = self.protocol().read_dir(&dir.handle, at).await?;
        if page.next.is_some_and(|next| next.cookie == at.cookie) {
            return Err(Error::misbehaved("READDIR", "the list does not advance"));
        }
        if let Some(attributes) = page.directory {
            self.learn(dir, attributes, asked);
        }
        let entries = self.learn_entries(page.entries, Some(dir), asked);
        Ok(Page { entries, next: page.next })
    }

    /// The entries of a reply to a request that was sent at `asked`, with the objects that they stand for.
    /// Every list of this client goes through here: `.` and `..` are left out, and what is no name is
    /// refused.
    pub(crate) fn learn_entries(
        &self,
        raw: Vec<RawEntry>,
        dir: Option<&Arc<Node>>,
        asked: Instant,
    ) -> Vec<NamedEntry> {
        let mut entries = Vec::with_capacity(raw.len());
        for RawEntry { name, fileid, attributes, handle } in raw {
            if is_dots(&name) {
                continue;
            }
            // A copy, as the bytes are a part of a whole reply, most of which may be left out.
            let Some(name) = FileName::new(Bytes::copy_from_slice(&name)) else {
                self.refusals.add(&name);
                continue;
            };
            let found = handle.zip(attributes).map(|(handle, attributes)| FoundObject { handle, attributes });
            let node = found.map(|found| self.learn_found(&found, asked));
            if let (Some(dir), Some(node)) = (dir, &node) {
                self.learn_name(dir, &name, Some(node), asked);
            }
            entries.push((DirEntry { name, fileid, attributes }, node));
        }
        entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trail_of(cookies: &[u64]) -> Result<()> {
        let mut trail = ListingTrail::default();
        cookies.iter().try_for_each(|&cookie| trail.advance_to(&DirPosition { cookie, verifier: [0; 8] }))
    }

    #[test]
    fn list_that_leads_back_is_an_error() {
        assert!(trail_of(&[7, 3, u64::MAX]).is_ok(), "cookies need no order");
        for cookies in [&[0][..], &[7, 7], &[7, 3, 7], &[7, 0]] {
            assert!(trail_of(cookies).is_err(), "{cookies:?}");
        }
    }

    #[test]
    fn list_has_a_bounded_number_of_parts() {
        let all: Vec<u64> = (1..=PARTS_MAX as u64 + 1).collect();
        assert!(trail_of(&all[..PARTS_MAX]).is_ok());
        assert!(trail_of(&all).is_err());
    }
}

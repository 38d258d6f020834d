//! Reading directories.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use futures_util::stream::{self, BoxStream, Stream, StreamExt, TryStreamExt};

use crate::attributes::DirEntry;
use crate::error::{Error, Result};
use crate::node::Node;
use crate::protocol::{DirPosition, Found, Page};
use crate::shared::Shared;

/// The entries of a directory, as they come: a [`Stream`], or one by one with [`ReadDir::next_entry`]. `.` and `..` are left
/// out.
///
/// One reply of the server is held at a time, at most a megabyte, however many entries there are; the next is asked for
/// when all of it was taken. An entry that is there from the beginning to the end comes exactly once; of what is made,
/// removed or renamed meanwhile each may come or not. After an error the stream ends: a server that cannot go on at the
/// place where it was says so by one, and the caller may begin anew.
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

impl Shared {
    /// All entries, with attributes. The first part is asked for at once, so that a directory that cannot be read is an error
    /// here.
    pub(crate) async fn read_dir(self: &Arc<Self>, dir: &Arc<Node>) -> Result<ReadDir> {
        let first = self.read_dir_page(dir, DirPosition::default()).await?;
        let (shared, dir) = (Arc::clone(self), Arc::clone(dir));
        let rest = stream::try_unfold(first.next, move |at| {
            let (shared, dir) = (Arc::clone(&shared), Arc::clone(&dir));
            async move {
                let Some(at) = at else { return Ok(None) };
                let page = shared.read_dir_page(&dir, at).await?;
                Ok(Some((page.entries, page.next)))
            }
        });
        let pages = stream::once(async move { Ok::<_, Error>(first.entries) }).chain(rest);
        let entries = pages.map_ok(|entries| stream::iter(entries).map(|(entry, _)| Ok(entry))).try_flatten();
        Ok(ReadDir { entries: entries.boxed() })
    }

    /// The entries at a place in a directory; what they say is remembered, so that opening what was listed costs less.
    pub(crate) async fn read_dir_page(&self, dir: &Arc<Node>, at: DirPosition) -> Result<Page> {
        let asked = Instant::now();
        let mut page = self.protocol().read_dir(&dir.handle, at).await?;
        if page.next.is_some_and(|next| next.cookie == at.cookie) {
            return Err(Error::misbehaved("READDIR", "the list does not advance"));
        }
        if let Some(attributes) = page.directory {
            self.learn(dir, attributes, asked);
        }
        page.entries.retain(|(entry, _)| &entry.name[..] != b"." && &entry.name[..] != b"..");
        for (entry, handle) in &page.entries {
            if let (Some(handle), Some(attributes)) = (handle, entry.attributes) {
                let node = self.learn_found(&Found { handle: handle.clone(), attributes }, asked);
                self.learn_name(dir, &entry.name, Some(&node), asked);
            }
        }
        Ok(page)
    }
}

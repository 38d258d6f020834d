//! Objects by their handles, for users who keep objects rather than paths, as the file systems of kernels do.
//!
//! Names are single names here: nothing is walked, and symbolic links are objects like others.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::attributes::{Access, Attributes, DirEntry, FsStat, SetAttributes};
use crate::carried_out::carried_out;
use crate::error::Result;
use crate::file::File;
use crate::node::Node;
use crate::open::OpenOptions;
use crate::protocol::{DirPosition, NewObject};
use crate::shared::Shared;
use crate::xattr::XattrMode;

/// How often it is asked for the state of an object that others change all the time.
const SETTLING_ATTEMPTS_MAX: usize = 4;

/// An object on the server. Clones are the same object; what is remembered of it is shared by the whole
/// client, and kept at least as long as one of them is.
#[derive(Clone)]
pub struct Object {
    shared: Arc<Shared>,
    node: Arc<Node>,
}

/// What is remembered of an object.
#[derive(Debug, Clone, Copy)]
pub struct Remembered {
    /// The last attributes.
    pub attributes: Attributes,
    /// How long they are still believed; no end is in sight while a delegation is held.
    pub believed_for: Duration,
    /// A delegation is held: they are right until the [`crate::Watcher`] hears that it is returning.
    pub delegated: bool,
    /// The delegation is one for writing.
    pub write_delegated: bool,
}

/// Something to make that is no regular file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Special {
    /// A directory.
    Directory,
    /// A symbolic link with its target.
    Symlink(Bytes),
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A block device with its major and minor number.
    Block(u32, u32),
    /// A character device with its major and minor number.
    Character(u32, u32),
}

/// A place in a directory, of no meaning outside it. The default is the beginning.
#[derive(Debug, Clone, Copy, Default)]
pub struct Position(pub(crate) DirPosition);

/// A part of a directory.
#[derive(Debug)]
pub struct Entries {
    /// The entries but `.` and `..`, each with its object if the server told.
    pub entries: Vec<(DirEntry, Option<Object>)>,
    /// Where the next part begins; `None` at the end.
    pub next: Option<Position>,
}

impl Object {
    pub(crate) fn new(shared: &Arc<Shared>, node: Arc<Node>) -> Self {
        Self { shared: Arc::clone(shared), node }
    }

    /// Names the object; no two have the same in the life of a client.
    pub fn key(&self) -> u64 {
        self.node.key
    }

    /// What is remembered of it; `None` if that is nothing.
    pub fn remembered(&self) -> Option<Remembered> {
        let state = self.node.state.lock();
        let attributes = *state.known.last()?;
        let delegated = state.is_delegated();
        let believed_for = match delegated {
            _ if state.known.is_outdated() => Duration::ZERO,
            true => Duration::MAX,
            false => state.known.believed_for(Instant::now()),
        };
        let write_delegated = state.is_write_delegated();
        Some(Remembered { attributes, believed_for, delegated, write_delegated })
    }

    /// The largest size of this file that its file system allows, in bytes; `u64::MAX` when that is not
    /// known.
    pub fn file_bytes_max(&self) -> u64 {
        self.shared.file_bytes_max(&self.node)
    }

    /// Counts how often the content may have changed without this client's knowing what to: what was read
    /// under another number is void.
    pub fn content(&self) -> u64 {
        self.node.state.lock().known.epoch()
    }

    /// As [`Object::content`], when it is sure: where answers have crossed, so that it cannot be said which
    /// state is the later, the server is asked until that is known, or for a few times; then what was read is
    /// void.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn settled_content(&self) -> Result<u64> {
        for _ in 0..SETTLING_ATTEMPTS_MAX {
            if !self.node.state.lock().known.is_doubtful() {
                break;
            }
            self.shared.revalidate(&self.node).await?;
        }
        let mut state = self.node.state.lock();
        if state.known.is_doubtful() {
            // Of which state it is nobody can tell.
            state.known.forget_content();
        }
        Ok(state.known.epoch())
    }

    /// The object of that name in this directory.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn lookup(&self, name: &[u8]) -> Result<Self> {
        let node = self.shared.resolve(&self.node, name, false).await?;
        Ok(Self::new(&self.shared, node))
    }

    /// The attributes, with the data that are not at the server yet; asked for unless they are believed.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn attributes(&self) -> Result<Attributes> {
        self.shared.attributes(&self.node).await
    }

    /// Sets attributes; a length is set by the right of `file`, if that is open for writing.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn set_attributes(&self, set: &SetAttributes, file: Option<&File>) -> Result<()> {
        self.shared.set_attributes(&self.node, set, file.map(File::inner)).await
    }

    /// Which of the `wanted` permissions the caller has.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn access(&self, wanted: Access) -> Result<Access> {
        self.shared.access(&self.node, wanted).await
    }

    /// The target of this symbolic link.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn read_link(&self) -> Result<Bytes> {
        self.shared.protocol().read_link(&self.node.handle).await
    }

    /// The space of the file system that it is on.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn fs_stat(&self) -> Result<FsStat> {
        self.shared.protocol().fs_stat(&self.node.handle).await
    }

    /// The value of an extended attribute, or `None` when there is none of that name. Needs NFSv4.2, as all
    /// of them do.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn xattr(&self, name: &[u8]) -> Result<Option<Bytes>> {
        self.shared.get_xattr(&self.node, name).await
    }

    /// Sets an extended attribute.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn set_xattr(&self, name: &[u8], value: Bytes, mode: XattrMode) -> Result<()> {
        self.shared.set_xattr(&self.node, name, value, mode).await
    }

    /// The names of the extended attributes.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn list_xattrs(&self) -> Result<Vec<Bytes>> {
        self.shared.list_xattrs(&self.node).await
    }

    /// Removes an extended attribute.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn remove_xattr(&self, name: &[u8]) -> Result<()> {
        self.shared.remove_xattr(&self.node, name).await
    }

    /// Opens this regular file; what in `options` is about creating is passed over.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn open(&self, options: &OpenOptions) -> Result<File> {
        let options = &options.checked()?;
        if options.modifies() {
            self.shared.check_writable()?;
        }
        if options.truncate {
            // What it was given before must not come after.
            self.shared.settle(&self.node).await;
        }
        carried_out(Arc::clone(&self.shared).open_object(Arc::clone(&self.node), *options)).await
    }

    /// Waits until everything that was written to it through any open file of this client is on stable
    /// storage.
    ///
    /// # Errors
    /// What went wrong with any of it.
    pub async fn sync(&self) -> Result<()> {
        let Some(writer) = self.node.writer() else { return Ok(()) };
        writer.settle().await;
        writer.told_any()
    }

    /// Opens the regular file of that name in this directory, and makes it as `options` say.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn create(&self, name: &[u8], options: &OpenOptions) -> Result<(Self, File)> {
        let file = self.shared.open(&self.node, name, options).await?;
        let node = Arc::clone(&file.inner().node);
        Ok((Self::new(&self.shared, node), file))
    }

    /// Makes an empty regular file in this directory, which must not exist.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn create_file(&self, name: &[u8], mode: u32) -> Result<Self> {
        self.shared.create_file(&self.node, name, mode).await?;
        self.lookup(name).await
    }

    /// Makes anything else in this directory.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn make(&self, name: &[u8], what: Special, mode: u32) -> Result<Self> {
        let name = Bytes::copy_from_slice(name);
        match self.shared.make_in(&self.node, &name, &what.into(), mode).await? {
            Some(node) => Ok(Self::new(&self.shared, node)),
            None => self.lookup(&name).await,
        }
    }

    /// Gives `object` a name in this directory.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn link(&self, name: &[u8], object: &Self) -> Result<()> {
        self.shared.link_in(&object.node, &self.node, &Bytes::copy_from_slice(name)).await
    }

    /// Removes a name in this directory, that of an empty directory if `directory` says so.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn remove(&self, name: &[u8], directory: bool) -> Result<()> {
        self.shared.remove(&self.node, name, directory).await
    }

    /// Gives what has `name` in this directory the name `to_name` in `to`; what had that name before is gone.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn rename(&self, name: &[u8], to: &Self, to_name: &[u8]) -> Result<()> {
        let (name, to_name) = (Bytes::copy_from_slice(name), Bytes::copy_from_slice(to_name));
        self.shared.rename_in((&self.node, &name), (&to.node, &to_name)).await
    }

    /// The part of this directory that begins at `at`, with what the server tells of the entries.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn read_dir(&self, at: Position) -> Result<Entries> {
        let page = self.shared.read_dir_page(&self.node, at.0).await?;
        let object = |node: Option<Arc<Node>>| node.map(|node| Self::new(&self.shared, node));
        let entries = page.entries.into_iter().map(|(entry, node)| (entry, object(node)));
        Ok(Entries { entries: entries.collect(), next: page.next.map(Position) })
    }
}

impl From<Special> for NewObject {
    fn from(special: Special) -> Self {
        match special {
            Special::Directory => Self::Directory,
            Special::Symlink(target) => Self::Symlink(target),
            Special::Fifo => Self::Fifo,
            Special::Socket => Self::Socket,
            Special::Block(major, minor) => Self::Block(major, minor),
            Special::Character(major, minor) => Self::Character(major, minor),
        }
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Object").field("key", &self.node.key).finish_non_exhaustive()
    }
}

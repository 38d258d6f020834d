//! Opening and creating files.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use tokio::sync::OwnedMutexGuard;

use crate::attributes::{Attributes, FileType, SetAttributes};
use crate::carried_out::carried_out;
use crate::error::{Error, Result};
use crate::file::{File, OpenFile};
use crate::node::Node;
use crate::protocol::{Effect, FoundObject, Protocol};
use crate::shared::Shared;
use crate::walk::SYMLINKS_MAX;
use crate::{nfs3, nfs4, permission};

/// How to open a file, after [`std::fs::OpenOptions`]. Nothing is set to begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenOptions {
    pub(crate) read: bool,
    pub(crate) write: bool,
    pub(crate) execute: bool,
    pub(crate) append: bool,
    pub(crate) create: bool,
    pub(crate) exclusive: bool,
    pub(crate) truncate: bool,
    pub(crate) sync: bool,
    pub(crate) mode: u32,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl OpenOptions {
    /// Nothing set; files that are created get mode 0644.
    pub const fn new() -> Self {
        Self {
            read: false,
            write: false,
            execute: false,
            append: false,
            create: false,
            exclusive: false,
            truncate: false,
            sync: false,
            mode: 0o644,
        }
    }

    /// For reading.
    #[must_use]
    pub const fn read(self, read: bool) -> Self {
        Self { read, ..self }
    }

    /// For writing.
    #[must_use]
    pub const fn write(self, write: bool) -> Self {
        Self { write, ..self }
    }

    /// For running: the file is opened for reading, and permission to execute takes the place of permission
    /// to read.
    #[must_use]
    pub const fn execute(self, execute: bool) -> Self {
        Self { execute, ..self }
    }

    /// For writing at the end: see [`File::append`].
    #[must_use]
    pub const fn append(self, append: bool) -> Self {
        Self { append, ..self }
    }

    /// Create it if there is none.
    #[must_use]
    pub const fn create(self, create: bool) -> Self {
        Self { create, ..self }
    }

    /// Create it; there must be none. `create` and `truncate` are of no matter then.
    #[must_use]
    pub const fn create_new(self, create_new: bool) -> Self {
        Self { exclusive: create_new, ..self }
    }

    /// Make it empty.
    #[must_use]
    pub const fn truncate(self, truncate: bool) -> Self {
        Self { truncate, ..self }
    }

    /// Every write waits for the server's stable storage.
    #[must_use]
    pub const fn sync(self, sync: bool) -> Self {
        Self { sync, ..self }
    }

    /// Permission bits of a file that is created.
    #[must_use]
    pub const fn mode(self, mode: u32) -> Self {
        Self { mode, ..self }
    }

    /// The same with what follows from it.
    ///
    /// # Errors
    /// When it makes no sense.
    pub(crate) fn checked(self) -> Result<Self> {
        let write = self.write || self.append;
        let read = self.read || self.execute;
        if self.execute && write {
            return Err(Error::Usage("a file that is opened to be run is not written to"));
        }
        let truncate = self.truncate && !self.exclusive;
        if !read && !write {
            return Err(Error::Usage("a file is opened for reading, writing or both"));
        }
        if truncate && !write {
            return Err(Error::Usage("only a file that is opened for writing can be made empty"));
        }
        Ok(Self { read, write, truncate, create: self.create || self.exclusive, ..self })
    }

    /// True when it may change something.
    pub(crate) fn modifies(&self) -> bool {
        self.write || self.create || self.truncate
    }
}

/// An open that succeeded, as a version's own part reports it.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) node: Arc<Node>,
    pub(crate) v4: nfs4::FileState,
    /// Held until the file is registered, so that a recall of the delegation that it was opened by finds it.
    pub(crate) gate: Option<OwnedMutexGuard<()>>,
}

impl Opened {
    /// Registers the file.
    fn into_file(self, shared: &Arc<Shared>, id: u64, options: &OpenOptions) -> File {
        let access = (options.read, options.write);
        let file = OpenFile::new(Arc::clone(shared), id, self.node, access, options.sync, self.v4);
        drop(self.gate);
        File::new(file)
    }
}

impl Shared {
    /// Opens the file at `path` below `start`.
    pub(crate) async fn open(
        self: &Arc<Self>,
        start: &Arc<Node>,
        path: &[u8],
        options: &OpenOptions,
    ) -> Result<File> {
        let options = &options.checked()?;
        if options.modifies() {
            self.check_writable()?;
        }
        let place = self.resolve_parent(start, path).await?;
        self.open_in(place, Some((start, path)), options).await
    }

    /// As [`Shared::open`], of a name in a directory that is known. `way` leads to it, if symbolic links are
    /// to be followed.
    pub(crate) async fn open_in(
        self: &Arc<Self>,
        (mut dir, mut name): (Arc<Node>, Bytes),
        way: Option<(&Arc<Node>, &[u8])>,
        options: &OpenOptions,
    ) -> Result<File> {
        let options = &options.checked()?;
        if options.modifies() {
            self.check_writable()?;
        }
        let mut path = way.map_or_else(Vec::new, |(_, path)| path.to_vec());
        let id = self.next_file_id();
        for _ in 0..SYMLINKS_MAX {
            if options.truncate {
                self.settle_name(&dir, &name).await;
            }
            // Who gives up waiting does not stop it: what is open at the server must be known, to be closed.
            let place = (Arc::clone(&dir), name.clone());
            match carried_out(Arc::clone(self).open_once(place, *options, id)).await? {
                Some(file) => return Ok(file),
                None if options.exclusive => {
                    return Err(Error::Usage("the name is taken by a symbolic link"));
                }
                None => {
                    let Some((start, _)) = way else {
                        return Err(Error::server("OPEN", proto::nfs4::Status::Symlink));
                    };
                    let link = self.resolve(&dir, &name, false).await?;
                    let target = self.protocol().read_link(&link.handle).await?;
                    // From the start, as `..` may lead above the directory that the link is in.
                    while path.ends_with(b"/") {
                        path.pop();
                    }
                    let kept = path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
                    path.truncate(if target.starts_with(b"/") { 0 } else { kept });
                    path.extend_from_slice(&target);
                    (dir, name) = self.resolve_parent(start, &path).await?;
                }
            }
        }
        Err(Error::Usage("too many symbolic links"))
    }

    /// `None` when the name is a symbolic link.
    async fn open_once(
        self: Arc<Self>,
        (dir, name): (Arc<Node>, Bytes),
        options: OpenOptions,
        id: u64,
    ) -> Result<Option<File>> {
        let outcome = match self.protocol() {
            Protocol::V3(mount) => nfs3::open(&self, mount, &dir, &name, &options).await?,
            Protocol::V4(mount) => nfs4::open(&self, mount, (&dir, &name), &options, id).await?,
        };
        let Outcome::Opened(opened) = outcome else { return Ok(None) };
        let file = opened.into_file(&self, id, &options);
        self.check_reading(&file, &options).await?;
        if options.truncate && self.has_pending(&file.inner().node) {
            // Nobody knew that this was the file. What it was given before must not come after.
            let empty = SetAttributes { size: Some(0), ..SetAttributes::default() };
            self.set_attributes(&file.inner().node, &empty, Some(file.inner())).await?;
        }
        Ok(Some(file))
    }

    /// Opens a regular file that is known.
    pub(crate) async fn open_object(self: Arc<Self>, node: Arc<Node>, options: OpenOptions) -> Result<File> {
        let id = self.next_file_id();
        let opened = match self.protocol() {
            Protocol::V3(_) => nfs3::open_object(&self, &node, &options).await,
            Protocol::V4(mount) => nfs4::open_object(&self, mount, &node, &options).await,
        };
        let file = opened?.into_file(&self, id, &options);
        self.check_reading(&file, &options).await?;
        Ok(file)
    }

    /// Closes and refuses a file that the server has opened for reading only because the caller may execute
    /// it: the server cannot tell the two apart (RFC 8881 §6.2.1.3.1). The same for a file that is opened
    /// to be run and may only be read. Where the mode bits permit, nothing is asked. NFSv3 has checked
    /// already.
    async fn check_reading(&self, file: &File, options: &OpenOptions) -> Result<()> {
        if !matches!(self.protocol(), Protocol::V4(_)) || !options.read || options.write || options.create {
            return Ok(());
        }
        let node = &file.inner().node;
        let is_permitted = |known: &Attributes| permission::mode_permits(known, &self.options, options);
        if node.state.lock().known.last().is_some_and(is_permitted) {
            return Ok(());
        }
        let needed = permission::needed(options);
        let refused = match self.access(node, needed).await {
            Ok(granted) if granted.contains(needed) => return Ok(()),
            Ok(_) => Error::server("OPEN", proto::nfs4::Status::AccessDenied),
            Err(error) => error,
        };
        // The refusal is what the caller needs to know.
        let _ = file.clone().close().await;
        Err(refused)
    }

    /// A file is about to be made empty by opening it: what was written before goes first.
    pub(crate) async fn settle_name(&self, dir: &Arc<Node>, name: &Bytes) {
        if let Some(Some(node)) = self.remembered_name(dir, name) {
            self.settle(&node).await;
        }
    }

    /// Makes an empty file, which must not exist.
    pub(crate) async fn create_file(
        self: &Arc<Self>,
        start: &Arc<Node>,
        path: &[u8],
        mode: u32,
    ) -> Result<()> {
        self.check_writable()?;
        let (dir, name) = self.resolve_parent(start, path).await?;
        match self.protocol() {
            Protocol::V3(mount) => {
                let options = OpenOptions {
                    create: true,
                    ..OpenOptions::new().write(true).create_new(true).mode(mode)
                };
                nfs3::open(self, mount, &dir, &name, &options).await.map(drop)
            }
            Protocol::V4(mount) => nfs4::create_file(self, mount, &dir, &name, mode).await,
        }
    }

    /// Remembers what an open or create has found under a name.
    pub(crate) fn learn_opened(
        &self,
        dir: &Arc<Node>,
        name: &Bytes,
        found: &FoundObject,
        asked: Instant,
    ) -> Arc<Node> {
        let node = self.nodes.get(&found.handle);
        self.learn_at_open(&node, found.attributes, asked);
        self.learn_name(dir, name, Some(&node), asked);
        node
    }

    /// As [`Shared::learn_opened`], where the request has changed the content: what was cached of it is void.
    pub(crate) fn learn_overwritten(
        &self,
        dir: &Arc<Node>,
        name: &Bytes,
        found: &FoundObject,
        asked: Instant,
    ) -> Arc<Node> {
        let node = self.nodes.get(&found.handle);
        self.learn_effect(&node, Effect::Around { before: None, after: Some(found.attributes) }, asked);
        self.learn_name(dir, name, Some(&node), asked);
        node
    }
}

/// What opening a name led to.
#[derive(Debug)]
pub(crate) enum Outcome {
    Opened(Opened),
    /// The name is a symbolic link, to be followed.
    Symlink,
}

/// An object of this type cannot be opened, unless it is a file, or a link to one.
pub(crate) fn check_type(kind: FileType) -> Result<()> {
    match kind {
        FileType::Regular | FileType::Symlink => Ok(()),
        FileType::Directory => Err(Error::server("OPEN", proto::nfs4::Status::IsDirectory)),
        _ => Err(Error::Usage("only regular files can be opened")),
    }
}

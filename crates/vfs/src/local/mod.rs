//! A directory of the Linux host as a file system.
//!
//! Everything happens relative to descriptors below the exported directory: one component at a time, never
//! through a symbolic link, never onto another mount. As root the kernel enforces each caller's permissions;
//! without root everybody is the user of the process. Calls that the page cache serves run in place; those
//! that wait for a disk run on a small pool of threads of its own, so no runtime is needed.
//!
//! **File systems that hang**: a watchdog looks at the calls that run in place. When one holds its thread
//! for too long, all calls on that file system run on the pool until it is quick again ([`StallHandler`]).
//!
//! **Threads**: as root, a thread that polled a future of this back end may go on acting on files as the last
//! caller, since switching back costs system calls. Before such a thread opens files of its own it must call
//! [`restore_thread_identity`].
//!
//! **Change attribute**: the time of the last change in nanoseconds. Where the kernel's timestamps are too
//! coarse to tell two changes apart (before Linux 6.13, or other file systems than those that have fine
//! ones), changes that are made through us within a tick are counted; `change` has the scheme. A file whose
//! attributes were asked for in the middle of a write through us gets a new time at the end of that write;
//! `writing` says why.
//!
//! **Cookies**: the kernel's positions in a directory. On ext4, xfs, btrfs and tmpfs (since Linux 6.6)
//! entries that stay are listed once while others come and go. On file systems that number entries anew at
//! every listing, as ramfs and older tmpfs do, one may be missed when others are removed meanwhile.
//!
//! **Exclusive create**: the verifier is kept in the seconds of the access and modification times, 31 bits of
//! each half, since a protocol's times may be signed.
//!
//! **Other processes**: what they do to an object that is watched is told by the kernel, for which no
//! privilege is needed ([`LocalOptions::watches_max`]). What was written through a mapping is told when the
//! mapping and the file are closed.
//!
//! **Durability**: with [`Durability::Sync`] a change of names is followed by an `fsync` of the directory and
//! of the new object, where its name on the disk does not tell that it is there (`journal`), a change of
//! attributes by one of the object, a `DataSync` write by an `fdatasync`, and a `FileSync` write or a COMMIT
//! by an `fsync`. Requests that come while an `fsync` of the same object runs share the next one. On ext4
//! without a journal a change of names or attributes is followed by a `syncfs`, which is shared by all.

mod attributes;
mod cache;
mod change;
mod containment;
mod copy;
mod create;
mod data;
mod directory;
mod errors;
mod events;
mod glance;
mod health;
mod identity;
mod in_place;
mod index;
mod journal;
mod make;
mod names;
mod object;
mod open;
mod options;
mod persistent;
mod placement;
mod pool;
mod removed;
mod resolve;
mod setup;
mod space;
mod stat;
mod sync;
mod sys;
mod walk;
mod watch;
mod watchdog;
mod writing;
mod xattrs;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use bytes::Bytes;
use rustix::io::Errno;

use crate::seal::Seal;
use crate::{
    Access, Attributes, Capabilities, Committed, Content, CreateMode, Created, DirPage, FileSystem, Handle,
    Limits, Name, NodeKind, ObjectId, ObservedChange, ReadDone, RemoveKind, Request, Result, SetAttributes,
    Settling, Span, Stability, StatFs, Tell, Watch, Written, XattrMode, XattrName,
};
use cache::Cache;
use change::Changes;
use containment::Containment;
use health::Health;
use identity::Acting;
pub use identity::restore_thread_identity;
use in_place::InPlace;
use index::Index;
use journal::Order;
pub use object::Node;
use object::Object;
pub use options::{Durability, HandleMode, IdentityMode, LocalOptions, WaitInPlace};
use placement::{placed, published};
use pool::Pool;
use removed::Sweeps;
pub use setup::raise_descriptor_limit;
use sync::WholeSyncs;
use watch::Watcher;
pub use watchdog::{StallHandler, handle_stalls};

/// A directory of the host. Cheap to share: everything is behind one pointer.
#[derive(Clone)]
pub struct Local {
    export: Arc<Export>,
}

/// What the calls and the jobs of one export share.
struct Export {
    root: Arc<Object>,
    /// Of the root; what is mounted below is not part of the export.
    mount_id: u64,
    fsid: u64,
    seal: Seal,
    acting: Acting,
    cache: Cache,
    sweeps: Sweeps,
    /// Where inodes were seen. Absent where the kernel's handles open them.
    index: Option<Index>,
    pool: Pool,
    /// Of the file system, which other exports may be on as well.
    health: Arc<Health>,
    in_place: InPlace,
    durability: Durability,
    read_only: bool,
    limits: Limits,
    capabilities: Capabilities,
    /// Of the process; takes bits from the mode of what we make.
    umask: u32,
    /// Handles and times of the file system tell enough to look at entries without opening them.
    glances: bool,
    /// No read waits for a disk.
    all_in_memory: bool,
    order: Order,
    whole_syncs: WholeSyncs,
    changes: Changes,
    verifier: AtomicU64,
    /// Counts renames, for walks and climbs to notice them.
    renamed: AtomicU64,
    containment: Containment,
    /// What other processes do. Absent where it is not asked for, or the kernel does not tell.
    watcher: Option<Watcher>,
    /// Why it does not.
    unwatched: Option<Errno>,
}

impl Local {
    /// Opens the directory `path`.
    ///
    /// Raises the soft limit of open files to the hard one. Blocks on the disk.
    ///
    /// # Errors
    /// Whatever the system says about the directory or the state directory; `NotDirectory`; `NotSupported`
    /// when the options ask for kernel handles or for callers' identities and the process may not use them.
    pub fn open(path: impl AsRef<Path>, options: &LocalOptions) -> Result<Self> {
        Ok(Self { export: Arc::new(setup::open(path.as_ref(), options)?) })
    }

    /// True when permissions are those of each caller, and not of the user of the process.
    pub fn enforces_identities(&self) -> bool {
        matches!(self.export.acting, Acting::Callers(_))
    }

    /// Why it cannot be known what other processes do, where [`LocalOptions::watches_max`] asks for it.
    pub fn unwatched(&self) -> Option<std::io::Error> {
        self.export.unwatched.map(Into::into)
    }

    /// True when the kernel's handles are used to find objects, and not an index.
    pub fn uses_kernel_handles(&self) -> bool {
        self.export.index.is_none()
    }
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local")
            .field("fsid", &self.export.fsid)
            .field("enforces_identities", &self.enforces_identities())
            .field("uses_kernel_handles", &self.uses_kernel_handles())
            .finish_non_exhaustive()
    }
}

impl Export {
    fn renames(&self) -> u64 {
        self.renamed.load(Relaxed)
    }

    fn check_writable(&self) -> Result<()> {
        if self.read_only { Err(crate::Error::ReadOnly) } else { Ok(()) }
    }
}

impl FileSystem for Local {
    type Node = Node;

    fn root(&self) -> Node {
        Node(self.export.root.clone())
    }

    async fn resolve(&self, request: Request<'_>, handle: &[u8]) -> Result<Node> {
        if let Some(known) = self.export.resolve_from_memory(handle)? {
            return Ok(Node(known));
        }
        placed!(self, request.line, (request, handle), |export| export
            .resolve(request.line, handle)
            .await
            .map(Node))
    }

    fn handle(&self, node: &Node) -> Handle {
        node.0.handle
    }

    fn object_id(&self, node: &Node) -> ObjectId {
        node.0.object_id
    }

    async fn attributes(&self, request: Request<'_>, node: &Node) -> Result<Attributes> {
        placed!(self, request.line, (node), |export| export.attributes(&node.0))
    }

    async fn settled_attributes(&self, request: Request<'_>, node: &Node) -> Result<Option<Attributes>> {
        placed!(self, request.line, (node), |export| export.settled_attributes(&node.0))
    }

    async fn set_attributes(
        &self,
        request: Request<'_>,
        node: &Node,
        set: &SetAttributes,
    ) -> Result<Attributes> {
        placed!(self, request.line, (request, node, set), |export| export
            .set_attributes(request, &node.0, set)
            .await)
    }

    async fn access(&self, request: Request<'_>, node: &Node, wanted: Access) -> Result<Access> {
        placed!(self, request.line, (request, node, wanted), |export| export.access(
            request.identity,
            &node.0,
            wanted
        ))
    }

    async fn lookup(&self, request: Request<'_>, dir: &Node, name: Name<'_>) -> Result<(Node, Attributes)> {
        let found = placed!(self, request.line, (request, dir, name), |export| export
            .lookup(request.identity, (&dir.0, name)));
        found.map(|(object, attributes)| (Node(object), attributes))
    }

    async fn lookup_parent(&self, request: Request<'_>, dir: &Node) -> Result<Node> {
        placed!(self, request.line, (request, dir), |export| export
            .lookup_parent(request, &dir.0)
            .await
            .map(Node))
    }

    async fn read_link(&self, request: Request<'_>, node: &Node) -> Result<Bytes> {
        placed!(self, request.line, (node), |export| export.read_link(&node.0))
    }

    async fn read(
        &self,
        request: Request<'_>,
        node: &Node,
        offset: u64,
        count: usize,
        out: &mut Vec<u8>,
    ) -> Result<ReadDone> {
        if !self.export.health.is_slow() {
            let read = self.export.read(request, &node.0, offset, count, out);
            return published(&self.export.health, read).await;
        }
        let (done, data) = placed!(self, request.line, (request, node, offset, count), |export| {
            let mut data = Vec::new();
            let done = export.read(request, &node.0, offset, count, &mut data).await;
            done.map(|done| (done, data))
        })?;
        out.extend_from_slice(&data);
        Ok(done)
    }

    async fn write(
        &self,
        request: Request<'_>,
        node: &Node,
        offset: u64,
        data: Bytes,
        stability: Stability,
    ) -> Result<Written> {
        placed!(self, request.line, (request, node, offset, data, stability), |export| {
            export.write(request, &node.0, offset, data.as_ref(), stability).await
        })
    }

    async fn commit(
        &self,
        request: Request<'_>,
        node: &Node,
        _offset: u64,
        _count: u64,
    ) -> Result<Committed> {
        placed!(self, request.line, (request, node), |export| export.commit(request, &node.0).await)?;
        Ok(Committed { verifier: self.write_verifier() })
    }

    fn watch(&self, node: &Node, least: ObservedChange, tell: &Tell) -> Result<Option<Watch>> {
        if self.export.health.is_slow() {
            // What other processes do is told by the kernel, which may have to ask the file system first.
            return Err(crate::Error::TryAgain);
        }
        let _call = self.export.health.begin_call();
        self.export.watch(&node.0, least, tell)
    }

    fn write_verifier(&self) -> [u8; 8] {
        self.export.verifier.load(Relaxed).to_be_bytes()
    }

    async fn create(
        &self,
        request: Request<'_>,
        dir: &Node,
        name: Name<'_>,
        mode: &CreateMode,
    ) -> Result<Created<Node>> {
        placed!(self, request.line, (request, dir, name, mode), |export| export
            .create(request, (&dir.0, name), mode)
            .await)
    }

    async fn begin_create(
        &self,
        request: Request<'_>,
        dir: &Node,
        name: Name<'_>,
        mode: &CreateMode,
    ) -> Result<(Created<Node>, Settling)> {
        placed!(self, request.line, (request, dir, name, mode), |export| export
            .begin_create(request, (&dir.0, name), mode)
            .await)
    }

    async fn make_dir(
        &self,
        request: Request<'_>,
        dir: &Node,
        name: Name<'_>,
        set: &SetAttributes,
    ) -> Result<(Node, Attributes)> {
        placed!(self, request.line, (request, dir, name, set), |export| export
            .make(request, (&dir.0, name), make::NewObject::Directory, set)
            .await)
    }

    async fn make_symlink(
        &self,
        request: Request<'_>,
        dir: &Node,
        name: Name<'_>,
        target: &[u8],
        set: &SetAttributes,
    ) -> Result<(Node, Attributes)> {
        placed!(self, request.line, (request, dir, name, target, set), |export| export
            .make(request, (&dir.0, name), make::NewObject::Symlink(target), set)
            .await)
    }

    async fn make_node(
        &self,
        request: Request<'_>,
        dir: &Node,
        name: Name<'_>,
        kind: NodeKind,
        set: &SetAttributes,
    ) -> Result<(Node, Attributes)> {
        placed!(self, request.line, (request, dir, name, kind, set), |export| export
            .make(request, (&dir.0, name), make::NewObject::Node(kind), set)
            .await)
    }

    async fn link(&self, request: Request<'_>, node: &Node, dir: &Node, name: Name<'_>) -> Result<()> {
        placed!(self, request.line, (request, node, dir, name), |export| export
            .link(request, &node.0, (&dir.0, name))
            .await)
    }

    async fn remove(&self, request: Request<'_>, dir: &Node, name: Name<'_>, kind: RemoveKind) -> Result<()> {
        placed!(self, request.line, (request, dir, name, kind), |export| export
            .remove(request, (&dir.0, name), kind)
            .await)
    }

    async fn rename(
        &self,
        request: Request<'_>,
        from_dir: &Node,
        from: Name<'_>,
        to_dir: &Node,
        to: Name<'_>,
    ) -> Result<()> {
        placed!(self, request.line, (request, from_dir, from, to_dir, to), |export| export
            .rename(request, (&from_dir.0, from), (&to_dir.0, to))
            .await)
    }

    async fn read_dir(
        &self,
        request: Request<'_>,
        dir: &Node,
        cookie: u64,
        entries_max: usize,
        objects: bool,
    ) -> Result<DirPage<Node>> {
        placed!(self, request.line, (request, dir, cookie, entries_max, objects), |export| export
            .read_dir(request, &dir.0, cookie, entries_max, objects)
            .await)
    }

    async fn seek(
        &self,
        request: Request<'_>,
        node: &Node,
        offset: u64,
        what: Content,
    ) -> Result<Option<u64>> {
        placed!(self, request.line, (request, node, offset, what), |export| export
            .seek(request, &node.0, offset, what)
            .await)
    }

    async fn allocate(&self, request: Request<'_>, node: &Node, offset: u64, length: u64) -> Result<()> {
        placed!(self, request.line, (request, node, offset, length), |export| export
            .allocate(request, &node.0, offset, length)
            .await)
    }

    async fn deallocate(&self, request: Request<'_>, node: &Node, offset: u64, length: u64) -> Result<()> {
        placed!(self, request.line, (request, node, offset, length), |export| export
            .deallocate(request, &node.0, offset, length)
            .await)
    }

    async fn copy(&self, request: Request<'_>, source: &Node, target: &Node, span: Span) -> Result<Written> {
        placed!(self, request.line, (request, source, target, span), |export| export
            .copy(request, &source.0, &target.0, span)
            .await)
    }

    async fn clone_range(
        &self,
        request: Request<'_>,
        source: &Node,
        target: &Node,
        span: Span,
    ) -> Result<()> {
        placed!(self, request.line, (request, source, target, span), |export| export
            .clone_range(request, &source.0, &target.0, span)
            .await)
    }

    async fn get_xattr(&self, request: Request<'_>, node: &Node, name: XattrName<'_>) -> Result<Bytes> {
        placed!(self, request.line, (request, node, name), |export| export.get_xattr(
            request.identity,
            &node.0,
            name
        ))
    }

    async fn set_xattr(
        &self,
        request: Request<'_>,
        node: &Node,
        name: XattrName<'_>,
        value: &[u8],
        mode: XattrMode,
    ) -> Result<()> {
        placed!(self, request.line, (request, node, name, value, mode), |export| export
            .set_xattr(request, &node.0, name, value, mode)
            .await)
    }

    async fn list_xattrs(&self, request: Request<'_>, node: &Node) -> Result<Vec<Bytes>> {
        placed!(self, request.line, (request, node), |export| export.list_xattrs(request.identity, &node.0))
    }

    async fn remove_xattr(&self, request: Request<'_>, node: &Node, name: XattrName<'_>) -> Result<()> {
        placed!(self, request.line, (request, node, name), |export| export
            .remove_xattr(request, &node.0, name)
            .await)
    }

    async fn stat_fs(&self, request: Request<'_>, _node: &Node) -> Result<StatFs> {
        placed!(self, request.line, (), |export| export.stat_fs())
    }

    fn limits(&self) -> Limits {
        self.export.limits
    }

    fn capabilities(&self) -> Capabilities {
        self.export.capabilities
    }

    fn nameless_max(&self) -> usize {
        self.export.cache.nameless_max()
    }

    fn sweep(&self) {
        self.begin_sweep();
    }

    /// Two thirds of them stay open for longer. Those beyond are closed where nothing holds them.
    fn set_descriptors_max(&self, max: usize) {
        self.export.cache.set_bounds(setup::descriptor_target(max), max);
    }
}

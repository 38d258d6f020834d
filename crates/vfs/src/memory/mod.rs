//! A file system in memory: complete, bounded, deterministic given a key and a clock.
//!
//! For tests and simulations, and as a server without a disk. Nothing survives the value: every stability is
//! answered as asked, and a new value has a new write verifier.
//!
//! Locks: `tree` is held by whoever changes names and orders them all; an inode's own lock guards its
//! contents. A thread that does not hold `tree` never holds two inode locks.

mod attributes;
mod budget;
mod data;
mod directory;
mod entries;
mod inode;
mod names;
mod pages;
mod space;
mod table;

use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use parking_lot::Mutex;

use crate::seal::{KEY_BYTES, Seal, random};
use crate::{
    Access, Attributes, Capabilities, ChangeKind, Committed, Content as Sought, CreateMode, Created, DirPage,
    Error, FileSystem, Handle, Limits, Name, NodeKind, ObjectId, ReadDone, RemoveKind, Request, Result,
    SetAttributes, Span, Stability, StatFs, Support, Timestamp, Written, XattrMode, XattrName,
};
use budget::Budget;
pub use inode::Node;
use inode::{Content, Inode};
use table::Table;

/// The largest file in bytes.
const FILE_BYTES_MAX: u64 = i64::MAX as u64;
/// The most hard links to one object.
const LINKS_MAX: u32 = 65_000;
/// The longest symbolic link in bytes.
const SYMLINK_BYTES_MAX: usize = 4095;
/// File id of the root.
const ROOT_FILEID: u64 = 2;

/// Tells the time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// How to set up a [`Memory`].
#[derive(Clone)]
pub struct MemoryOptions {
    /// The most bytes that data, names and symbolic links take, in whole pages of 4096 bytes for data.
    pub bytes_max: u64,
    /// The most objects at one time.
    pub objects_max: u64,
    /// Mode of the root directory.
    pub root_mode: u32,
    /// Owner of the root directory.
    pub root_uid: u32,
    /// Group of the root directory.
    pub root_gid: u32,
    /// Authenticates handles; random when absent. Two file systems must not share one.
    pub key: Option<[u8; 16]>,
    /// Gives times; the system's clock by default.
    pub clock: Clock,
}

impl Default for MemoryOptions {
    fn default() -> Self {
        Self {
            bytes_max: 1 << 30,
            objects_max: 1 << 20,
            root_mode: 0o755,
            root_uid: 0,
            root_gid: 0,
            key: None,
            clock: Arc::new(system_time),
        }
    }
}

impl fmt::Debug for MemoryOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryOptions")
            .field("bytes_max", &self.bytes_max)
            .field("objects_max", &self.objects_max)
            .field("root_mode", &self.root_mode)
            .finish_non_exhaustive()
    }
}

/// A file system in memory.
pub struct Memory {
    root: Arc<Inode>,
    table: Arc<Table>,
    budget: Arc<Budget>,
    seal: Seal,
    fsid: u64,
    verifier: [u8; 8],
    clock: Clock,
    /// Held by every change of names.
    tree: Mutex<()>,
}

impl Memory {
    /// An empty file system.
    ///
    /// # Errors
    /// `Io` when no key is given and the system has no random numbers; `NoSpace` when not even the root fits.
    pub fn new(options: MemoryOptions) -> Result<Self> {
        let key = match options.key {
            Some(key) => key,
            None => random::<KEY_BYTES>().map_err(Error::Io)?,
        };
        let seal = Seal::new(key, 0);
        let fsid = seal.derive(b"file system");
        let table = Arc::new(Table::new());
        let budget = Arc::new(Budget::new(options.bytes_max, options.objects_max));
        let attributes = Attributes {
            mode: options.root_mode & 0o7777,
            uid: options.root_uid,
            gid: options.root_gid,
            ..inode::new_attributes(crate::FileKind::Directory, ROOT_FILEID, fsid, (options.clock)())
        };
        let content = Content::Directory(entries::Entries::new(ROOT_FILEID));
        let root = Inode::new(attributes, content, &budget, &table)?;
        Ok(Self {
            root,
            table,
            budget,
            fsid,
            verifier: seal.derive(b"write verifier").to_be_bytes(),
            seal,
            clock: options.clock,
            tree: Mutex::new(()),
        })
    }

    fn now(&self) -> Timestamp {
        (self.clock)()
    }

    fn find_handle(&self, handle: &[u8]) -> Result<Node> {
        let payload = self.seal.open(handle)?;
        let fileid = payload.try_into().map(u64::from_le_bytes).map_err(|_| Error::BadHandle)?;
        self.table.get(fileid).map(Node).ok_or(Error::Stale)
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").field("fsid", &self.fsid).finish_non_exhaustive()
    }
}

impl FileSystem for Memory {
    type Node = Node;

    fn root(&self) -> Node {
        Node(self.root.clone())
    }

    async fn resolve(&self, _request: Request<'_>, handle: &[u8]) -> Result<Node> {
        self.find_handle(handle)
    }

    fn handle(&self, node: &Node) -> Handle {
        self.seal.seal(&node.0.fileid.to_le_bytes())
    }

    fn object_id(&self, node: &Node) -> ObjectId {
        // File ids count up and are never used again; another file system has its own.
        // File ids count up and are never used again; other file systems count as well.
        ObjectId { fileid: node.0.fileid, generation: self.fsid }
    }

    async fn attributes(&self, _request: Request<'_>, node: &Node) -> Result<Attributes> {
        Ok(node.0.attributes())
    }

    async fn set_attributes(
        &self,
        request: Request<'_>,
        node: &Node,
        set: &SetAttributes,
    ) -> Result<Attributes> {
        self.set_attributes_now(request.identity, &node.0, set)
    }

    async fn access(&self, request: Request<'_>, node: &Node, wanted: Access) -> Result<Access> {
        Ok(attributes::access(request.identity, &node.0.attributes(), wanted))
    }

    async fn lookup(&self, request: Request<'_>, dir: &Node, name: Name<'_>) -> Result<(Node, Attributes)> {
        let found = self.lookup_now(request.identity, &dir.0, name)?;
        let attributes = found.attributes();
        Ok((Node(found), attributes))
    }

    async fn lookup_parent(&self, request: Request<'_>, dir: &Node) -> Result<Node> {
        self.lookup_parent_now(request.identity, &dir.0).map(Node)
    }

    async fn read_link(&self, _request: Request<'_>, node: &Node) -> Result<Bytes> {
        match &node.0.state.read().content {
            Content::Symlink(target) => Ok(target.clone()),
            _ => Err(Error::Invalid),
        }
    }

    async fn read(
        &self,
        request: Request<'_>,
        node: &Node,
        offset: u64,
        count: usize,
        out: &mut Vec<u8>,
    ) -> Result<ReadDone> {
        data::read(request.identity, &node.0, offset, count, out)
    }

    async fn write(
        &self,
        request: Request<'_>,
        node: &Node,
        offset: u64,
        data: Bytes,
        stability: Stability,
    ) -> Result<Written> {
        let count = self.write_now(request.identity, &node.0, offset, &data)?;
        Ok(Written { count, stability })
    }

    async fn commit(
        &self,
        request: Request<'_>,
        node: &Node,
        _offset: u64,
        _count: u64,
    ) -> Result<Committed> {
        data::check_commit(request.identity, &node.0)?;
        Ok(Committed { verifier: self.verifier })
    }

    fn write_verifier(&self) -> [u8; 8] {
        self.verifier
    }

    async fn create(
        &self,
        request: Request<'_>,
        dir: &Node,
        name: Name<'_>,
        mode: &CreateMode,
    ) -> Result<Created<Node>> {
        self.create_now(request.identity, &dir.0, name, mode)
    }

    async fn make_dir(
        &self,
        request: Request<'_>,
        dir: &Node,
        name: Name<'_>,
        set: &SetAttributes,
    ) -> Result<(Node, Attributes)> {
        self.make_dir_now(request.identity, &dir.0, name, set)
    }

    async fn make_symlink(
        &self,
        request: Request<'_>,
        dir: &Node,
        name: Name<'_>,
        target: &[u8],
        set: &SetAttributes,
    ) -> Result<(Node, Attributes)> {
        self.make_symlink_now(request.identity, &dir.0, name, target, set)
    }

    async fn make_node(
        &self,
        request: Request<'_>,
        dir: &Node,
        name: Name<'_>,
        kind: NodeKind,
        set: &SetAttributes,
    ) -> Result<(Node, Attributes)> {
        self.make_node_now(request.identity, &dir.0, name, kind, set)
    }

    async fn link(&self, request: Request<'_>, node: &Node, dir: &Node, name: Name<'_>) -> Result<()> {
        self.link_now(request.identity, &node.0, &dir.0, name)
    }

    async fn remove(&self, request: Request<'_>, dir: &Node, name: Name<'_>, kind: RemoveKind) -> Result<()> {
        self.remove_now(request.identity, &dir.0, name, kind)
    }

    async fn rename(
        &self,
        request: Request<'_>,
        from_dir: &Node,
        from: Name<'_>,
        to_dir: &Node,
        to: Name<'_>,
    ) -> Result<()> {
        self.rename_now(request.identity, (&from_dir.0, from), (&to_dir.0, to))
    }

    async fn read_dir(
        &self,
        request: Request<'_>,
        dir: &Node,
        cookie: u64,
        entries_max: usize,
        objects: bool,
    ) -> Result<DirPage<Node>> {
        self.read_dir_now(request.identity, &dir.0, cookie, entries_max, objects)
    }

    async fn seek(
        &self,
        request: Request<'_>,
        node: &Node,
        offset: u64,
        what: Sought,
    ) -> Result<Option<u64>> {
        space::seek(request.identity, &node.0, offset, what)
    }

    async fn allocate(&self, request: Request<'_>, node: &Node, offset: u64, length: u64) -> Result<()> {
        self.allocate_now(request.identity, &node.0, offset, length)
    }

    async fn deallocate(&self, request: Request<'_>, node: &Node, offset: u64, length: u64) -> Result<()> {
        self.deallocate_now(request.identity, &node.0, offset, length)
    }

    async fn clone_range(
        &self,
        request: Request<'_>,
        source: &Node,
        target: &Node,
        span: Span,
    ) -> Result<()> {
        self.clone_range_now(request.identity, &source.0, &target.0, span)
    }

    async fn get_xattr(&self, request: Request<'_>, node: &Node, name: XattrName<'_>) -> Result<Bytes> {
        space::get_xattr(request.identity, &node.0, name)
    }

    async fn set_xattr(
        &self,
        request: Request<'_>,
        node: &Node,
        name: XattrName<'_>,
        value: &[u8],
        mode: XattrMode,
    ) -> Result<()> {
        self.set_xattr_now(request.identity, &node.0, name, value, mode)
    }

    async fn list_xattrs(&self, request: Request<'_>, node: &Node) -> Result<Vec<Bytes>> {
        space::list_xattrs(request.identity, &node.0)
    }

    async fn remove_xattr(&self, request: Request<'_>, node: &Node, name: XattrName<'_>) -> Result<()> {
        self.remove_xattr_now(request.identity, &node.0, name)
    }

    async fn stat_fs(&self, _request: Request<'_>, _node: &Node) -> Result<StatFs> {
        Ok(self.budget.stat_fs())
    }

    fn limits(&self) -> Limits {
        Limits {
            name_bytes_max: Name::MAX as u32,
            links_max: LINKS_MAX,
            file_bytes_max: FILE_BYTES_MAX,
            time_granularity_ns: 1,
            chown_restricted: true,
        }
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            changes: true,
            hard_links: true,
            symlinks: true,
            special_files: true,
            xattrs: true,
            exclusive_create: true,
            holes: Support::Present,
            allocate: Support::Present,
            clone: Support::Present,
            clone_block_bytes: Some(pages::PAGE_BYTES as u32),
            records_creation: true,
            change: ChangeKind::Increasing,
            ..Capabilities::default()
        }
    }
}

/// The clock of [`MemoryOptions`] unless a caller brings its own.
#[allow(clippy::disallowed_methods)]
fn system_time() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp { seconds: since.as_secs() as i64, nanoseconds: since.subsec_nanos() }
}

//! The trait that a back end implements.

use std::future::Future;

use bytes::Bytes;

use crate::{
    Access, Attributes, Capabilities, Error, Handle, Name, ObjectId, ObservedChange, Request, Result,
    SetAttributes, Settling, StatFs, Tell, Watch, XattrMode, XattrName, defaults,
};

/// What [`FileSystem::create`] does when the name exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreateMode {
    /// Opens an existing regular file; of the attributes only a `size` of 0 is then applied.
    Unchecked(SetAttributes),
    /// Fails with `Exists`.
    Guarded(SetAttributes),
    /// Fails with `Exists` unless the file was made with the same verifier. The verifier is on stable storage
    /// when the call returns (RFC 1813 §3.3.8), so that a retry after a crash is recognised.
    Exclusive {
        /// Chosen by the client.
        verifier: [u8; 8],
        /// Applied when the file is made.
        attributes: SetAttributes,
    },
}

/// What [`FileSystem::make_node`] makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    /// Named pipe.
    Fifo,
    /// Socket.
    Socket,
    /// Block device with major and minor number.
    Block(u32, u32),
    /// Character device with major and minor number.
    Character(u32, u32),
}

/// What [`FileSystem::remove`] may remove.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoveKind {
    /// Anything but a directory (NFSv3 REMOVE); `IsDirectory` otherwise.
    NonDirectory,
    /// An empty directory (NFSv3 RMDIR); `NotDirectory` otherwise.
    Directory,
    /// Either (NFSv4 REMOVE).
    Any,
}

/// How durable a write must be before it is acknowledged. Ordered from weak to strong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stability {
    /// May be lost in a crash until COMMIT.
    Unstable,
    /// The data, and the metadata needed to read it back, is on disk.
    DataSync,
    /// Data and all metadata are on disk.
    FileSync,
}

/// What [`FileSystem::seek`] looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Bytes that were written.
    Data,
    /// Bytes that were not. They read as zeros; there is always a hole where the file ends.
    Hole,
}

/// A range of a file to be copied to another, or to another place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// First byte in the source.
    pub from: u64,
    /// First byte in the target.
    pub to: u64,
    /// Bytes.
    pub count: u64,
}

/// How [`Attributes::change`] evolves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// It grows with every change.
    Increasing,
    /// It is the time of the last change.
    Time,
    /// Neither can be said.
    Undefined,
}

/// The outcome of [`FileSystem::create`].
#[derive(Debug, Clone)]
pub struct Created<N> {
    /// The file.
    pub node: N,
    /// Its attributes now.
    pub attributes: Attributes,
    /// False when an existing file was opened. The retry of an exclusive create is told that it created the
    /// file.
    pub created: bool,
}

/// The outcome of [`FileSystem::read`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadDone {
    /// Bytes that were appended to the buffer.
    pub count: usize,
    /// True when the file ends with them.
    pub eof: bool,
}

impl ReadDone {
    /// Reads up to `count` bytes from `offset` of a file whose data lie in memory.
    pub fn from_slice(data: &[u8], offset: u64, count: usize, out: &mut Vec<u8>) -> Self {
        let rest = usize::try_from(offset).ok().and_then(|start| data.get(start..)).unwrap_or_default();
        let read = &rest[..count.min(rest.len())];
        out.extend_from_slice(read);
        Self { count: read.len(), eof: read.len() == rest.len() }
    }
}

/// The outcome of [`FileSystem::write`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Bytes written; less than asked only where the disk filled up on the way.
    pub count: usize,
    /// How durable they are: at least what was asked.
    pub stability: Stability,
}

/// The outcome of [`FileSystem::commit`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Committed {
    /// The write verifier, see [`FileSystem::write_verifier`].
    pub verifier: [u8; 8],
}

/// One entry of a directory.
#[derive(Debug, Clone)]
pub struct DirEntry<N> {
    /// The name, `.` and `..` included where the back end has them.
    pub name: Bytes,
    /// Inode number.
    pub fileid: u64,
    /// Where a later call goes on, after this entry. Stable while other entries come and go; never 0.
    pub cookie: u64,
    /// The object and its attributes: present when asked for and the object still exists; absent for `..`.
    pub object: Option<(N, Attributes)>,
}

/// A part of a directory.
#[derive(Debug, Clone)]
pub struct DirPage<N> {
    /// Entries in the directory's own order.
    pub entries: Vec<DirEntry<N>>,
    /// True when no entry follows.
    pub eof: bool,
}

impl<N> DirPage<N> {
    /// A part of a directory whose entries have names, nodes and attributes at hand, and always the same
    /// order: those after `cookie`, which counts them from 1, and at most `entries_max`.
    pub fn from_list(
        list: impl IntoIterator<Item = (Bytes, N, Attributes)>,
        cookie: u64,
        entries_max: usize,
    ) -> Self {
        let numbered = (1..).zip(list).skip_while(|(number, _)| *number <= cookie);
        let mut following = numbered.peekable();
        let mut entries = Vec::new();
        while entries.len() < entries_max.max(1)
            && let Some((cookie, (name, node, attributes))) = following.next()
        {
            entries.push(DirEntry {
                name,
                fileid: attributes.fileid,
                cookie,
                object: Some((node, attributes)),
            });
        }
        Self { entries, eof: following.peek().is_none() }
    }
}

/// Limits that a client is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The longest name in bytes.
    pub name_bytes_max: u32,
    /// The most hard links to one object.
    pub links_max: u32,
    /// The largest file in bytes.
    pub file_bytes_max: u64,
    /// The granularity of times in nanoseconds.
    pub time_granularity_ns: u32,
    /// True where only a privileged caller may give a file away.
    pub chown_restricted: bool,
}

impl Default for Limits {
    /// Those of a back end without limits of its own.
    fn default() -> Self {
        Self {
            name_bytes_max: Name::MAX as u32,
            links_max: 1,
            file_bytes_max: i64::MAX as u64,
            time_granularity_ns: 1,
            chown_restricted: true,
        }
    }
}

/// A file system that a server can export.
///
/// A *node* is an object that has been found: cheap to clone, valid as long as it is held, even when the last
/// name has been removed through us: its handle is resolved and its data is there until nobody holds it
/// (operations answer `Stale` where the object is really gone).
///
/// Every operation enforces the permissions of the [`Request`]'s identity, but for those that say that they
/// need none. Operations that change a directory or an object's
/// attributes are durable when they return, unless the back end was set up as asynchronous.
///
/// A read-only back end writes the ten methods without a default. Changes then fail with `ReadOnly`, and
/// optional operations with `NotSupported`.
///
/// A future that would block the thread on a disk must yield instead; one that completes in a system call
/// served from memory should be ready at the first poll.
pub trait FileSystem: Send + Sync + 'static {
    /// An object that has been found.
    type Node: Clone + Send + Sync + 'static;

    /// The directory that is exported.
    fn root(&self) -> Self::Node;

    /// The object that `handle` names.
    ///
    /// # Errors
    /// `BadHandle` when this back end never issued it, `Stale` when the object is gone.
    fn resolve(&self, request: Request<'_>, handle: &[u8])
    -> impl Future<Output = Result<Self::Node>> + Send;

    /// The persistent name of `node`.
    fn handle(&self, node: &Self::Node) -> Handle;

    /// The key of `node` in tables.
    fn object_id(&self, node: &Self::Node) -> ObjectId;

    /// Attributes of `node`. Needs no permission.
    fn attributes(
        &self,
        request: Request<'_>,
        node: &Self::Node,
    ) -> impl Future<Output = Result<Attributes>> + Send;

    /// As [`attributes`](Self::attributes), for callers that can do without: `None` where a change of the
    /// data is under way and a look into the middle of it would cost its writers.
    fn settled_attributes(
        &self,
        request: Request<'_>,
        node: &Self::Node,
    ) -> impl Future<Output = Result<Option<Attributes>>> + Send {
        async move { self.attributes(request, node).await.map(Some) }
    }

    /// Sets attributes and returns the new ones. A `size` is applied first. The whole call fails or succeeds,
    /// but for I/O errors. The mode of a symbolic link stays as it is, see [`SetAttributes::applicable`].
    fn set_attributes(
        &self,
        _request: Request<'_>,
        _node: &Self::Node,
        _set: &SetAttributes,
    ) -> impl Future<Output = Result<Attributes>> + Send {
        std::future::ready(Err(Error::ReadOnly))
    }

    /// Which of `wanted` the caller has on `node`. By default the mode, owner and group decide.
    fn access(
        &self,
        request: Request<'_>,
        node: &Self::Node,
        wanted: Access,
    ) -> impl Future<Output = Result<Access>> + Send {
        defaults::access_by_mode(self, request, node, wanted)
    }

    /// The object called `name` in `dir`, with its attributes.
    fn lookup(
        &self,
        request: Request<'_>,
        dir: &Self::Node,
        name: Name<'_>,
    ) -> impl Future<Output = Result<(Self::Node, Attributes)>> + Send;

    /// The directory above `dir`; the root's parent is `NotFound`.
    fn lookup_parent(
        &self,
        request: Request<'_>,
        dir: &Self::Node,
    ) -> impl Future<Output = Result<Self::Node>> + Send;

    /// The target of a symbolic link; `Invalid` for another type, and by default for all.
    fn read_link(
        &self,
        _request: Request<'_>,
        _node: &Self::Node,
    ) -> impl Future<Output = Result<Bytes>> + Send {
        std::future::ready(Err(Error::Invalid))
    }

    /// Appends up to `count` bytes from `offset` to `out`. Short only at the end of the file.
    ///
    /// The owner may read whatever the mode says, as a client's open file stays readable after `chmod`. A
    /// caller with permission to execute may read, as a client reads what it runs. See RFC 1813 §4.4.
    fn read(
        &self,
        request: Request<'_>,
        node: &Self::Node,
        offset: u64,
        count: usize,
        out: &mut Vec<u8>,
    ) -> impl Future<Output = Result<ReadDone>> + Send;

    /// Writes `data` at `offset`, with `stability` or better. The owner may write whatever the mode says.
    fn write(
        &self,
        _request: Request<'_>,
        _node: &Self::Node,
        _offset: u64,
        _data: Bytes,
        _stability: Stability,
    ) -> impl Future<Output = Result<Written>> + Send {
        std::future::ready(Err(Error::ReadOnly))
    }

    /// Puts all unstable writes of `node` in the range on disk; a `count` of 0 means to the end. By default
    /// no write is unstable, and any regular file is committed.
    fn commit(
        &self,
        request: Request<'_>,
        node: &Self::Node,
        _offset: u64,
        _count: u64,
    ) -> impl Future<Output = Result<Committed>> + Send {
        defaults::commit_nothing(self, request, node)
    }

    /// Changes whenever unstable writes may have been lost (RFC 1813 §3.3.7). Constant by default.
    fn write_verifier(&self) -> [u8; 8] {
        [0; 8]
    }

    /// Creates or opens a regular file. By default existing files are opened, and `ReadOnly` is the answer
    /// where one would have to be made or truncated.
    ///
    /// # Errors
    /// For an existing name: `Exists` as `mode` says; under `Unchecked`, `IsDirectory`, `IsSymlink` or
    /// `WrongType` when it is no regular file.
    fn create(
        &self,
        request: Request<'_>,
        dir: &Self::Node,
        name: Name<'_>,
        mode: &CreateMode,
    ) -> impl Future<Output = Result<Created<Self::Node>>> + Send {
        defaults::open_existing(self, request, dir, name, mode)
    }

    /// As [`FileSystem::create`], but a new file need not be on stable storage when the call returns: only
    /// when what it returns beside the file was waited for. Everybody sees the file at once.
    ///
    /// # Errors
    /// As [`FileSystem::create`].
    fn begin_create(
        &self,
        request: Request<'_>,
        dir: &Self::Node,
        name: Name<'_>,
        mode: &CreateMode,
    ) -> impl Future<Output = Result<(Created<Self::Node>, Settling)>> + Send {
        async move { Ok((self.create(request, dir, name, mode).await?, Settling::DONE)) }
    }

    /// Makes a directory.
    fn make_dir(
        &self,
        _request: Request<'_>,
        _dir: &Self::Node,
        _name: Name<'_>,
        _set: &SetAttributes,
    ) -> impl Future<Output = Result<(Self::Node, Attributes)>> + Send {
        std::future::ready(Err(Error::ReadOnly))
    }

    /// Makes a symbolic link with the given target.
    fn make_symlink(
        &self,
        _request: Request<'_>,
        _dir: &Self::Node,
        _name: Name<'_>,
        _target: &[u8],
        _set: &SetAttributes,
    ) -> impl Future<Output = Result<(Self::Node, Attributes)>> + Send {
        std::future::ready(Err(Error::ReadOnly))
    }

    /// Makes a pipe, socket or device.
    fn make_node(
        &self,
        _request: Request<'_>,
        _dir: &Self::Node,
        _name: Name<'_>,
        _kind: NodeKind,
        _set: &SetAttributes,
    ) -> impl Future<Output = Result<(Self::Node, Attributes)>> + Send {
        std::future::ready(Err(Error::ReadOnly))
    }

    /// Makes another name for `node`.
    fn link(
        &self,
        _request: Request<'_>,
        _node: &Self::Node,
        _dir: &Self::Node,
        _name: Name<'_>,
    ) -> impl Future<Output = Result<()>> + Send {
        std::future::ready(Err(Error::ReadOnly))
    }

    /// Removes a name.
    fn remove(
        &self,
        _request: Request<'_>,
        _dir: &Self::Node,
        _name: Name<'_>,
        _kind: RemoveKind,
    ) -> impl Future<Output = Result<()>> + Send {
        std::future::ready(Err(Error::ReadOnly))
    }

    /// Renames; an existing target of a compatible type is replaced atomically, and nothing happens when both
    /// names are of the same object.
    fn rename(
        &self,
        _request: Request<'_>,
        _from_dir: &Self::Node,
        _from: Name<'_>,
        _to_dir: &Self::Node,
        _to: Name<'_>,
    ) -> impl Future<Output = Result<()>> + Send {
        std::future::ready(Err(Error::ReadOnly))
    }

    /// Entries of `dir` after `cookie` (0 from the start): at least one unless the end is reached, and at
    /// most `entries_max`. With `objects`, entries carry node and attributes.
    fn read_dir(
        &self,
        request: Request<'_>,
        dir: &Self::Node,
        cookie: u64,
        entries_max: usize,
        objects: bool,
    ) -> impl Future<Output = Result<DirPage<Self::Node>>> + Send;

    /// Where the next data or hole begins, at `offset` or after it; `None` when there is none before the end.
    /// Needs permission to read, as [`FileSystem::read`] does.
    ///
    /// # Errors
    /// `BeyondEnd` when the file has no byte at `offset`.
    fn seek(
        &self,
        _request: Request<'_>,
        _node: &Self::Node,
        _offset: u64,
        _what: Content,
    ) -> impl Future<Output = Result<Option<u64>>> + Send {
        std::future::ready(Err(Error::NotSupported))
    }

    /// Reserves space for a range: no write there fails for want of it any more. A file that ends before the
    /// range does is made longer. Durable as a change of attributes is. `length` is not 0.
    fn allocate(
        &self,
        _request: Request<'_>,
        _node: &Self::Node,
        _offset: u64,
        _length: u64,
    ) -> impl Future<Output = Result<()>> + Send {
        std::future::ready(Err(Error::NotSupported))
    }

    /// Gives the space of a range back: it reads as zeros then. The file keeps its length. Durable as a
    /// change of attributes is. `length` is not 0.
    fn deallocate(
        &self,
        _request: Request<'_>,
        _node: &Self::Node,
        _offset: u64,
        _length: u64,
    ) -> impl Future<Output = Result<()>> + Send {
        std::future::ready(Err(Error::NotSupported))
    }

    /// Copies from one file to another of this file system, in order, as reading and unstable writing would.
    /// Less than asked only where the source ends or the disk fills up.
    fn copy(
        &self,
        _request: Request<'_>,
        _source: &Self::Node,
        _target: &Self::Node,
        _span: Span,
    ) -> impl Future<Output = Result<Written>> + Send {
        std::future::ready(Err(Error::NotSupported))
    }

    /// Makes a range of a file share what a range of another, or of the same, holds, without copying it and
    /// for all others at once. Durable as a change of attributes is.
    ///
    /// # Errors
    /// `Invalid` for a range that overlaps itself, reaches beyond the end of the source, or is not aligned as
    /// [`Capabilities::clone_block_bytes`] says.
    fn clone_range(
        &self,
        _request: Request<'_>,
        _source: &Self::Node,
        _target: &Self::Node,
        _span: Span,
    ) -> impl Future<Output = Result<()>> + Send {
        std::future::ready(Err(Error::NotSupported))
    }

    /// The value of an extended attribute of a file or directory; `WrongType` for other objects, as in the
    /// three below.
    fn get_xattr(
        &self,
        _request: Request<'_>,
        _node: &Self::Node,
        _name: XattrName<'_>,
    ) -> impl Future<Output = Result<Bytes>> + Send {
        std::future::ready(Err(Error::NotSupported))
    }

    /// Sets an extended attribute. Durable as a change of attributes is.
    fn set_xattr(
        &self,
        _request: Request<'_>,
        _node: &Self::Node,
        _name: XattrName<'_>,
        _value: &[u8],
        _mode: XattrMode,
    ) -> impl Future<Output = Result<()>> + Send {
        std::future::ready(Err(Error::NotSupported))
    }

    /// The names of all extended attributes, in any order.
    fn list_xattrs(
        &self,
        _request: Request<'_>,
        _node: &Self::Node,
    ) -> impl Future<Output = Result<Vec<Bytes>>> + Send {
        std::future::ready(Err(Error::NotSupported))
    }

    /// Removes an extended attribute. Durable as a change of attributes is.
    fn remove_xattr(
        &self,
        _request: Request<'_>,
        _node: &Self::Node,
        _name: XattrName<'_>,
    ) -> impl Future<Output = Result<()>> + Send {
        std::future::ready(Err(Error::NotSupported))
    }

    /// Tells of what is done to an object by those who do not come through this, until the outcome is
    /// dropped: of this much, and more. It is told after it was done, in no order; something else that was
    /// done may be told as well. `None` where it cannot be known, or nobody else can do anything.
    ///
    /// # Errors
    /// When no more can be watched.
    fn watch(&self, _node: &Self::Node, _least: ObservedChange, _tell: &Tell) -> Result<Option<Watch>> {
        Ok(None)
    }

    /// Space and inodes. Zeros where they are not known, as by default.
    fn stat_fs(
        &self,
        _request: Request<'_>,
        _node: &Self::Node,
    ) -> impl Future<Output = Result<StatFs>> + Send {
        std::future::ready(Ok(StatFs::default()))
    }

    /// Limits to tell a client.
    fn limits(&self) -> Limits {
        Limits::default()
    }

    /// What this back end can do. By default that of a read-only one.
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    /// How many objects without a name may be held for long at a time, where each takes something that others
    /// need too.
    fn nameless_max(&self) -> usize {
        usize::MAX
    }

    /// Gives up what is not used any more, such as open descriptors. A server calls it every second or so.
    fn sweep(&self) {}

    /// Lets the back end keep at most this many descriptors open, when requests leave it the choice.
    fn set_descriptors_max(&self, _max: usize) {}
}

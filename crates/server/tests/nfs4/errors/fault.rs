//! A file system that fails when it is told to.

use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use vfs::memory::{Memory, Node};
use vfs::{
    Access, Attributes, Committed, CreateMode, Created, DirPage, Error, FileSystem, Handle, Identity, Limits,
    Name, NodeKind, ObjectId, ReadDone, RemoveKind, Result, SetAttributes, Stability, StatFs, Written,
};

/// An error that a back end may meet, and the calls in which it may.
pub struct Kind {
    pub error: fn() -> Error,
    pub calls: &'static [&'static str],
}

/// Calls that change names.
const ENTERING: &[&str] = &["create", "make_dir", "make_symlink", "make_node", "link", "rename"];
const NAMING: &[&str] =
    &["lookup", "create", "make_dir", "make_symlink", "make_node", "link", "remove", "rename"];
const GROWING: &[&str] = &[
    "create",
    "make_dir",
    "make_symlink",
    "make_node",
    "link",
    "rename",
    "write",
    "set_attributes",
    "commit",
];
const CHANGING: &[&str] = &[
    "create",
    "make_dir",
    "make_symlink",
    "make_node",
    "link",
    "rename",
    "remove",
    "write",
    "set_attributes",
];
const ASKING: &[&str] = &[
    "set_attributes",
    "lookup",
    "lookup_parent",
    "read_link",
    "read",
    "write",
    "commit",
    "create",
    "make_dir",
    "make_symlink",
    "make_node",
    "link",
    "remove",
    "rename",
    "read_dir",
];
const EVERY: &[&str] = &[
    "resolve",
    "attributes",
    "access",
    "stat_fs",
    "set_attributes",
    "lookup",
    "lookup_parent",
    "read_link",
    "read",
    "write",
    "commit",
    "create",
    "make_dir",
    "make_symlink",
    "make_node",
    "link",
    "remove",
    "rename",
    "read_dir",
];

/// What can go wrong in a back end although its caller did nothing wrong.
pub const KINDS: &[Kind] = &[
    Kind { error: || Error::Io(std::io::ErrorKind::Other.into()), calls: EVERY },
    Kind { error: || Error::TryAgain, calls: EVERY },
    Kind { error: || Error::Stale, calls: EVERY },
    Kind { error: || Error::AccessDenied, calls: ASKING },
    Kind { error: || Error::NotPermitted, calls: CHANGING },
    Kind { error: || Error::ReadOnly, calls: CHANGING },
    Kind { error: || Error::NoSpace, calls: GROWING },
    Kind { error: || Error::QuotaExceeded, calls: GROWING },
    Kind { error: || Error::FileTooBig, calls: &["create", "write", "set_attributes"] },
    Kind { error: || Error::TooManyLinks, calls: &["make_dir", "link", "rename"] },
    Kind { error: || Error::NameTooLong, calls: NAMING },
    Kind { error: || Error::InvalidName, calls: NAMING },
    Kind { error: || Error::Exists, calls: ENTERING },
    Kind { error: || Error::NotFound, calls: &["lookup", "lookup_parent", "remove", "rename"] },
    Kind { error: || Error::CrossDevice, calls: &["link", "rename"] },
    Kind { error: || Error::Busy, calls: &["link", "remove", "rename", "write", "set_attributes"] },
    Kind { error: || Error::Invalid, calls: &["read", "write", "read_link", "rename", "set_attributes"] },
    Kind { error: || Error::BadType, calls: &["make_node"] },
    Kind { error: || Error::NotSupported, calls: &["link"] },
    Kind { error: || Error::NotEmpty, calls: &["remove", "rename"] },
    Kind { error: || Error::BadCookie, calls: &["read_dir"] },
];

/// When to fail, shared with the test.
#[derive(Default)]
pub struct Trigger(Mutex<Option<(&'static Kind, usize)>>);

impl Trigger {
    /// Of the calls that may meet an error of this kind, the one after the next `skip` does.
    pub fn arm(&self, kind: &'static Kind, skip: usize) {
        *self.0.lock() = Some((kind, skip));
    }

    /// Nothing fails any more; true if nothing has.
    pub fn disarm(&self) -> bool {
        self.0.lock().take().is_some()
    }

    fn check(&self, call: &str) -> Result<()> {
        let mut armed = self.0.lock();
        match &mut *armed {
            Some((kind, skip)) if kind.calls.contains(&call) => match skip.checked_sub(1) {
                Some(left) => *skip = left,
                None => {
                    let error = (kind.error)();
                    *armed = None;
                    return Err(error);
                }
            },
            _ => {}
        }
        Ok(())
    }
}

/// A file system in memory, with a [`Trigger`].
pub struct Faulty {
    pub memory: Arc<Memory>,
    pub trigger: Arc<Trigger>,
}

impl FileSystem for Faulty {
    type Node = Node;

    fn root(&self) -> Node {
        self.memory.root()
    }

    async fn resolve(&self, handle: &[u8]) -> Result<Node> {
        self.trigger.check("resolve")?;
        self.memory.resolve(handle).await
    }

    fn handle(&self, node: &Node) -> Handle {
        self.memory.handle(node)
    }

    fn object_id(&self, node: &Node) -> ObjectId {
        self.memory.object_id(node)
    }

    async fn attributes(&self, node: &Node) -> Result<Attributes> {
        self.trigger.check("attributes")?;
        self.memory.attributes(node).await
    }

    async fn set_attributes(&self, who: &Identity, node: &Node, set: &SetAttributes) -> Result<Attributes> {
        self.trigger.check("set_attributes")?;
        self.memory.set_attributes(who, node, set).await
    }

    async fn access(&self, who: &Identity, node: &Node, wanted: Access) -> Result<Access> {
        self.trigger.check("access")?;
        self.memory.access(who, node, wanted).await
    }

    async fn lookup(&self, who: &Identity, dir: &Node, name: Name<'_>) -> Result<(Node, Attributes)> {
        self.trigger.check("lookup")?;
        self.memory.lookup(who, dir, name).await
    }

    async fn lookup_parent(&self, who: &Identity, dir: &Node) -> Result<Node> {
        self.trigger.check("lookup_parent")?;
        self.memory.lookup_parent(who, dir).await
    }

    async fn read_link(&self, who: &Identity, node: &Node) -> Result<Bytes> {
        self.trigger.check("read_link")?;
        self.memory.read_link(who, node).await
    }

    async fn read(
        &self,
        who: &Identity,
        node: &Node,
        offset: u64,
        count: usize,
        out: &mut Vec<u8>,
    ) -> Result<ReadDone> {
        self.trigger.check("read")?;
        self.memory.read(who, node, offset, count, out).await
    }

    async fn write(
        &self,
        who: &Identity,
        node: &Node,
        offset: u64,
        data: Bytes,
        stability: Stability,
    ) -> Result<Written> {
        self.trigger.check("write")?;
        self.memory.write(who, node, offset, data, stability).await
    }

    async fn commit(&self, who: &Identity, node: &Node, offset: u64, count: u64) -> Result<Committed> {
        self.trigger.check("commit")?;
        self.memory.commit(who, node, offset, count).await
    }

    fn write_verifier(&self) -> [u8; 8] {
        self.memory.write_verifier()
    }

    async fn create(
        &self,
        who: &Identity,
        dir: &Node,
        name: Name<'_>,
        mode: &CreateMode,
    ) -> Result<Created<Node>> {
        self.trigger.check("create")?;
        self.memory.create(who, dir, name, mode).await
    }

    async fn make_dir(
        &self,
        who: &Identity,
        dir: &Node,
        name: Name<'_>,
        set: &SetAttributes,
    ) -> Result<(Node, Attributes)> {
        self.trigger.check("make_dir")?;
        self.memory.make_dir(who, dir, name, set).await
    }

    async fn make_symlink(
        &self,
        who: &Identity,
        dir: &Node,
        name: Name<'_>,
        target: &[u8],
        set: &SetAttributes,
    ) -> Result<(Node, Attributes)> {
        self.trigger.check("make_symlink")?;
        self.memory.make_symlink(who, dir, name, target, set).await
    }

    async fn make_node(
        &self,
        who: &Identity,
        dir: &Node,
        name: Name<'_>,
        kind: NodeKind,
        set: &SetAttributes,
    ) -> Result<(Node, Attributes)> {
        self.trigger.check("make_node")?;
        self.memory.make_node(who, dir, name, kind, set).await
    }

    async fn link(&self, who: &Identity, node: &Node, dir: &Node, name: Name<'_>) -> Result<()> {
        self.trigger.check("link")?;
        self.memory.link(who, node, dir, name).await
    }

    async fn remove(&self, who: &Identity, dir: &Node, name: Name<'_>, kind: RemoveKind) -> Result<()> {
        self.trigger.check("remove")?;
        self.memory.remove(who, dir, name, kind).await
    }

    async fn rename(
        &self,
        who: &Identity,
        from_dir: &Node,
        from: Name<'_>,
        to_dir: &Node,
        to: Name<'_>,
    ) -> Result<()> {
        self.trigger.check("rename")?;
        self.memory.rename(who, from_dir, from, to_dir, to).await
    }

    async fn read_dir(
        &self,
        who: &Identity,
        dir: &Node,
        cookie: u64,
        entries_max: usize,
        objects: bool,
    ) -> Result<DirPage<Node>> {
        self.trigger.check("read_dir")?;
        self.memory.read_dir(who, dir, cookie, entries_max, objects).await
    }

    async fn stat_fs(&self, node: &Node) -> Result<StatFs> {
        self.trigger.check("stat_fs")?;
        self.memory.stat_fs(node).await
    }

    fn limits(&self) -> Limits {
        self.memory.limits()
    }
}

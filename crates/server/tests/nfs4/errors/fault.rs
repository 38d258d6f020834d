//! A file system that fails, or does not end, when it is told to.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use parking_lot::Mutex;
use vfs::memory::{Memory, Node};
use vfs::{
    Access, Attributes, Committed, Content, CreateMode, Created, DirPage, FileSystem, Handle, Identity,
    Limits, Name, NodeKind, ObjectId, ReadDone, RemoveKind, Result, SetAttributes, Span, Stability, StatFs,
    Written, XattrMode, XattrName,
};

use super::kinds::Kind;

/// When to fail, shared with the test.
#[derive(Default)]
pub struct Trigger(Mutex<Plan>);

#[derive(Default)]
struct Plan {
    /// An error, and how many calls that may meet it are still spared.
    armed: Option<(&'static Kind, usize)>,
    /// The calls so far.
    calls: Vec<&'static str>,
    /// These calls do not end.
    stuck: Option<&'static str>,
    without_xattrs: bool,
}

impl Trigger {
    /// Of the calls that may meet an error of this kind, the one after the next `skip` does.
    pub fn arm(&self, kind: &'static Kind, skip: usize) {
        self.0.lock().armed = Some((kind, skip));
    }

    /// From now on objects have no extended attributes.
    pub fn take_xattrs_away(&self) {
        self.0.lock().without_xattrs = true;
    }

    fn is_without_xattrs(&self) -> bool {
        self.0.lock().without_xattrs
    }

    /// True once a call has failed.
    pub fn has_fired(&self) -> bool {
        self.0.lock().armed.is_none()
    }

    /// The calls since this was asked before.
    pub fn take_calls(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.0.lock().calls)
    }

    /// Which calls do not end: of `write` before it has written, of those that look after the look. Whoever
    /// waits for one must look again by itself.
    pub fn set_stuck(&self, call: Option<&'static str>) {
        self.0.lock().stuck = call;
    }

    async fn end_of(&self, call: &'static str) {
        poll_fn(|_| if self.0.lock().stuck == Some(call) { Poll::Pending } else { Poll::Ready(()) }).await;
    }

    fn check(&self, call: &'static str) -> Result<()> {
        let mut plan = self.0.lock();
        plan.calls.push(call);
        match &mut plan.armed {
            Some((kind, skip)) if kind.meets(call) => match skip.checked_sub(1) {
                Some(left) => *skip = left,
                None => {
                    let error = (kind.error)();
                    plan.armed = None;
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
        let found = self.memory.attributes(node).await;
        self.trigger.end_of("attributes").await;
        found
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
        let found = self.memory.lookup(who, dir, name).await;
        self.trigger.end_of("lookup").await;
        found
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
        self.trigger.end_of("write").await;
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
        let page = self.memory.read_dir(who, dir, cookie, entries_max, objects).await;
        self.trigger.end_of("read_dir").await;
        page
    }

    async fn seek(&self, who: &Identity, node: &Node, offset: u64, what: Content) -> Result<Option<u64>> {
        self.trigger.check("seek")?;
        self.memory.seek(who, node, offset, what).await
    }

    async fn allocate(&self, who: &Identity, node: &Node, offset: u64, length: u64) -> Result<()> {
        self.trigger.check("allocate")?;
        self.memory.allocate(who, node, offset, length).await
    }

    async fn deallocate(&self, who: &Identity, node: &Node, offset: u64, length: u64) -> Result<()> {
        self.trigger.check("deallocate")?;
        self.memory.deallocate(who, node, offset, length).await
    }

    async fn copy(&self, who: &Identity, source: &Node, target: &Node, span: Span) -> Result<Written> {
        self.trigger.check("copy")?;
        self.memory.copy(who, source, target, span).await
    }

    async fn clone_range(&self, who: &Identity, source: &Node, target: &Node, span: Span) -> Result<()> {
        self.trigger.check("clone_range")?;
        self.memory.clone_range(who, source, target, span).await
    }

    async fn get_xattr(&self, who: &Identity, node: &Node, name: XattrName<'_>) -> Result<Bytes> {
        self.trigger.check("get_xattr")?;
        self.memory.get_xattr(who, node, name).await
    }

    async fn set_xattr(
        &self,
        who: &Identity,
        node: &Node,
        name: XattrName<'_>,
        value: &[u8],
        mode: XattrMode,
    ) -> Result<()> {
        self.trigger.check("set_xattr")?;
        self.memory.set_xattr(who, node, name, value, mode).await
    }

    async fn list_xattrs(&self, who: &Identity, node: &Node) -> Result<Vec<Bytes>> {
        self.trigger.check("list_xattrs")?;
        self.memory.list_xattrs(who, node).await
    }

    async fn remove_xattr(&self, who: &Identity, node: &Node, name: XattrName<'_>) -> Result<()> {
        self.trigger.check("remove_xattr")?;
        self.memory.remove_xattr(who, node, name).await
    }

    async fn stat_fs(&self, node: &Node) -> Result<StatFs> {
        self.trigger.check("stat_fs")?;
        self.memory.stat_fs(node).await
    }

    fn limits(&self) -> Limits {
        Limits { xattrs: !self.trigger.is_without_xattrs(), ..self.memory.limits() }
    }
}

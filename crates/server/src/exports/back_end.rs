//! A back end of an export: a file system of its own, or the directories that lead to the others.

use bytes::Bytes;
use vfs::{
    Access, Attributes, Capabilities, Committed, Content, CreateMode, Created, DirEntry, DirPage, Error,
    FileSystem, Handle, Limits, Name, NodeKind, ObjectId, ReadDone, RemoveKind, Request, Result, Seen,
    SetAttributes, Settling, Span, Stability, StatFs, Tell, Watch, Written, XattrMode, XattrName,
};

use super::pseudo::{PseudoNode, PseudoTree};

/// A file system of its own, or the way to others. Whatever the first can do is passed on to it.
#[derive(Debug)]
pub enum BackEnd<F> {
    /// Files.
    Own(F),
    /// Directories that lead to exports. Nothing in them changes.
    Way(PseudoTree),
}

/// An object of a [`BackEnd`].
#[derive(Debug, Clone)]
pub enum BackEndNode<N> {
    /// Of a file system of its own.
    Own(N),
    /// On the way to one.
    Way(PseudoNode),
}

use BackEndNode as Node;

impl<F> BackEnd<F> {
    /// The tree and a directory in it, for what changes nothing. Nodes come from the back end that they are
    /// given to.
    fn way<N>(&self, node: &Node<N>) -> Result<(&PseudoTree, PseudoNode)> {
        match (self, node) {
            (Self::Way(tree), Node::Way(node)) => Ok((tree, *node)),
            _ => Err(Error::Stale),
        }
    }
}

impl<F: FileSystem> BackEnd<F> {
    /// The file system of its own, for what directories cannot have done to them.
    fn file<'a>(&'a self, node: &'a Node<F::Node>) -> Result<(&'a F, &'a F::Node)> {
        self.own(node).map_err(|_| Error::IsDirectory)
    }

    /// The file system of its own, for what the way to one does not have.
    fn own<'a>(&'a self, node: &'a Node<F::Node>) -> Result<(&'a F, &'a F::Node)> {
        match (self, node) {
            (Self::Own(fs), Node::Own(node)) => Ok((fs, node)),
            _ => Err(Error::NotSupported),
        }
    }
}

fn own<T, N>(found: Result<(N, T)>) -> Result<(Node<N>, T)> {
    found.map(|(node, other)| (Node::Own(node), other))
}

fn own_entry<N>(entry: DirEntry<N>) -> DirEntry<Node<N>> {
    let object = entry.object.map(|(node, attributes)| (Node::Own(node), attributes));
    DirEntry { name: entry.name, fileid: entry.fileid, cookie: entry.cookie, object }
}

fn way_entry<N>(entry: DirEntry<PseudoNode>) -> DirEntry<Node<N>> {
    let object = entry.object.map(|(node, attributes)| (Node::Way(node), attributes));
    DirEntry { name: entry.name, fileid: entry.fileid, cookie: entry.cookie, object }
}

impl<F: FileSystem> FileSystem for BackEnd<F> {
    type Node = Node<F::Node>;

    fn root(&self) -> Self::Node {
        match self {
            Self::Own(fs) => Node::Own(fs.root()),
            Self::Way(tree) => Node::Way(tree.root()),
        }
    }

    async fn resolve(&self, request: Request<'_>, handle: &[u8]) -> Result<Self::Node> {
        match self {
            Self::Own(fs) => fs.resolve(request, handle).await.map(Node::Own),
            Self::Way(tree) => tree.resolve(handle).map(Node::Way),
        }
    }

    fn handle(&self, node: &Self::Node) -> Handle {
        match (self, node) {
            (Self::Own(fs), Node::Own(node)) => fs.handle(node),
            (Self::Way(tree), Node::Way(node)) => tree.handle(*node),
            _ => unreachable!("a node comes from the back end that it is given to"),
        }
    }

    fn object_id(&self, node: &Self::Node) -> ObjectId {
        match (self, node) {
            (Self::Own(fs), Node::Own(node)) => fs.object_id(node),
            (Self::Way(tree), Node::Way(node)) => tree.object_id(*node),
            _ => unreachable!("a node comes from the back end that it is given to"),
        }
    }

    async fn attributes(&self, request: Request<'_>, node: &Self::Node) -> Result<Attributes> {
        match (self, node) {
            (Self::Own(fs), Node::Own(node)) => fs.attributes(request, node).await,
            _ => self.way(node).map(|(tree, node)| tree.attributes(node)),
        }
    }

    async fn settled_attributes(
        &self,
        request: Request<'_>,
        node: &Self::Node,
    ) -> Result<Option<Attributes>> {
        match (self, node) {
            (Self::Own(fs), Node::Own(node)) => fs.settled_attributes(request, node).await,
            _ => self.attributes(request, node).await.map(Some),
        }
    }

    async fn set_attributes(
        &self,
        request: Request<'_>,
        node: &Self::Node,
        set: &SetAttributes,
    ) -> Result<Attributes> {
        match (self, node) {
            (Self::Own(fs), Node::Own(node)) => fs.set_attributes(request, node, set).await,
            _ => Err(Error::ReadOnly),
        }
    }

    async fn access(&self, request: Request<'_>, node: &Self::Node, wanted: Access) -> Result<Access> {
        match (self, node) {
            (Self::Own(fs), Node::Own(node)) => fs.access(request, node, wanted).await,
            _ => Ok(PseudoTree::access(wanted)),
        }
    }

    async fn lookup(
        &self,
        request: Request<'_>,
        dir: &Self::Node,
        name: Name<'_>,
    ) -> Result<(Self::Node, Attributes)> {
        match (self, dir) {
            (Self::Own(fs), Node::Own(dir)) => own(fs.lookup(request, dir, name).await),
            _ => {
                let (tree, dir) = self.way(dir)?;
                let found = tree.lookup(dir, name)?;
                Ok((Node::Way(found), tree.attributes(found)))
            }
        }
    }

    async fn lookup_parent(&self, request: Request<'_>, dir: &Self::Node) -> Result<Self::Node> {
        match (self, dir) {
            (Self::Own(fs), Node::Own(dir)) => fs.lookup_parent(request, dir).await.map(Node::Own),
            _ => {
                let (tree, dir) = self.way(dir)?;
                tree.parent(dir).map(Node::Way)
            }
        }
    }

    async fn read_link(&self, request: Request<'_>, node: &Self::Node) -> Result<Bytes> {
        match (self, node) {
            (Self::Own(fs), Node::Own(node)) => fs.read_link(request, node).await,
            _ => Err(Error::Invalid),
        }
    }

    async fn read(
        &self,
        request: Request<'_>,
        node: &Self::Node,
        offset: u64,
        count: usize,
        out: &mut Vec<u8>,
    ) -> Result<ReadDone> {
        match (self, node) {
            (Self::Own(fs), Node::Own(node)) => fs.read(request, node, offset, count, out).await,
            _ => Err(Error::IsDirectory),
        }
    }

    async fn write(
        &self,
        request: Request<'_>,
        node: &Self::Node,
        offset: u64,
        data: Bytes,
        stability: Stability,
    ) -> Result<Written> {
        match (self, node) {
            (Self::Own(fs), Node::Own(node)) => fs.write(request, node, offset, data, stability).await,
            _ => Err(Error::IsDirectory),
        }
    }

    async fn commit(
        &self,
        request: Request<'_>,
        node: &Self::Node,
        offset: u64,
        count: u64,
    ) -> Result<Committed> {
        match (self, node) {
            (Self::Own(fs), Node::Own(node)) => fs.commit(request, node, offset, count).await,
            _ => Err(Error::IsDirectory),
        }
    }

    fn write_verifier(&self) -> [u8; 8] {
        match self {
            Self::Own(fs) => fs.write_verifier(),
            Self::Way(_) => [0; 8],
        }
    }

    async fn create(
        &self,
        request: Request<'_>,
        dir: &Self::Node,
        name: Name<'_>,
        mode: &CreateMode,
    ) -> Result<Created<Self::Node>> {
        let (Self::Own(fs), Node::Own(dir)) = (self, dir) else { return Err(Error::ReadOnly) };
        let Created { node, attributes, created } = fs.create(request, dir, name, mode).await?;
        Ok(Created { node: Node::Own(node), attributes, created })
    }

    async fn begin_create(
        &self,
        request: Request<'_>,
        dir: &Self::Node,
        name: Name<'_>,
        mode: &CreateMode,
    ) -> Result<(Created<Self::Node>, Settling)> {
        let (Self::Own(fs), Node::Own(dir)) = (self, dir) else { return Err(Error::ReadOnly) };
        let (made, settling) = fs.begin_create(request, dir, name, mode).await?;
        let Created { node, attributes, created } = made;
        Ok((Created { node: Node::Own(node), attributes, created }, settling))
    }

    async fn make_dir(
        &self,
        request: Request<'_>,
        dir: &Self::Node,
        name: Name<'_>,
        set: &SetAttributes,
    ) -> Result<(Self::Node, Attributes)> {
        match (self, dir) {
            (Self::Own(fs), Node::Own(dir)) => own(fs.make_dir(request, dir, name, set).await),
            _ => Err(Error::ReadOnly),
        }
    }

    async fn make_symlink(
        &self,
        request: Request<'_>,
        dir: &Self::Node,
        name: Name<'_>,
        target: &[u8],
        set: &SetAttributes,
    ) -> Result<(Self::Node, Attributes)> {
        match (self, dir) {
            (Self::Own(fs), Node::Own(dir)) => own(fs.make_symlink(request, dir, name, target, set).await),
            _ => Err(Error::ReadOnly),
        }
    }

    async fn make_node(
        &self,
        request: Request<'_>,
        dir: &Self::Node,
        name: Name<'_>,
        kind: NodeKind,
        set: &SetAttributes,
    ) -> Result<(Self::Node, Attributes)> {
        match (self, dir) {
            (Self::Own(fs), Node::Own(dir)) => own(fs.make_node(request, dir, name, kind, set).await),
            _ => Err(Error::ReadOnly),
        }
    }

    async fn link(
        &self,
        request: Request<'_>,
        node: &Self::Node,
        dir: &Self::Node,
        name: Name<'_>,
    ) -> Result<()> {
        match (self, node, dir) {
            (Self::Own(fs), Node::Own(node), Node::Own(dir)) => fs.link(request, node, dir, name).await,
            _ => Err(Error::ReadOnly),
        }
    }

    async fn remove(
        &self,
        request: Request<'_>,
        dir: &Self::Node,
        name: Name<'_>,
        kind: RemoveKind,
    ) -> Result<()> {
        match (self, dir) {
            (Self::Own(fs), Node::Own(dir)) => fs.remove(request, dir, name, kind).await,
            _ => Err(Error::ReadOnly),
        }
    }

    async fn rename(
        &self,
        request: Request<'_>,
        from_dir: &Self::Node,
        from: Name<'_>,
        to_dir: &Self::Node,
        to: Name<'_>,
    ) -> Result<()> {
        match (self, from_dir, to_dir) {
            (Self::Own(fs), Node::Own(from_dir), Node::Own(to_dir)) => {
                fs.rename(request, from_dir, from, to_dir, to).await
            }
            _ => Err(Error::ReadOnly),
        }
    }

    async fn read_dir(
        &self,
        request: Request<'_>,
        dir: &Self::Node,
        cookie: u64,
        entries_max: usize,
        objects: bool,
    ) -> Result<DirPage<Self::Node>> {
        if let (Self::Own(fs), Node::Own(dir)) = (self, dir) {
            let page = fs.read_dir(request, dir, cookie, entries_max, objects).await?;
            // Collected in place: the entries are not moved when the layouts agree.
            return Ok(DirPage { entries: page.entries.into_iter().map(own_entry).collect(), eof: page.eof });
        }
        let (tree, dir) = self.way(dir)?;
        let page = tree.read_dir(dir, cookie, entries_max);
        Ok(DirPage { entries: page.entries.into_iter().map(way_entry).collect(), eof: page.eof })
    }

    async fn seek(
        &self,
        request: Request<'_>,
        node: &Self::Node,
        offset: u64,
        what: Content,
    ) -> Result<Option<u64>> {
        let (fs, node) = self.file(node)?;
        fs.seek(request, node, offset, what).await
    }

    async fn allocate(
        &self,
        request: Request<'_>,
        node: &Self::Node,
        offset: u64,
        length: u64,
    ) -> Result<()> {
        let (fs, node) = self.file(node)?;
        fs.allocate(request, node, offset, length).await
    }

    async fn deallocate(
        &self,
        request: Request<'_>,
        node: &Self::Node,
        offset: u64,
        length: u64,
    ) -> Result<()> {
        let (fs, node) = self.file(node)?;
        fs.deallocate(request, node, offset, length).await
    }

    async fn copy(
        &self,
        request: Request<'_>,
        source: &Self::Node,
        target: &Self::Node,
        span: Span,
    ) -> Result<Written> {
        let ((fs, source), (_, target)) = (self.file(source)?, self.file(target)?);
        fs.copy(request, source, target, span).await
    }

    async fn clone_range(
        &self,
        request: Request<'_>,
        source: &Self::Node,
        target: &Self::Node,
        span: Span,
    ) -> Result<()> {
        let ((fs, source), (_, target)) = (self.file(source)?, self.file(target)?);
        fs.clone_range(request, source, target, span).await
    }

    async fn get_xattr(&self, request: Request<'_>, node: &Self::Node, name: XattrName<'_>) -> Result<Bytes> {
        let (fs, node) = self.own(node)?;
        fs.get_xattr(request, node, name).await
    }

    async fn set_xattr(
        &self,
        request: Request<'_>,
        node: &Self::Node,
        name: XattrName<'_>,
        value: &[u8],
        mode: XattrMode,
    ) -> Result<()> {
        let (fs, node) = self.own(node)?;
        fs.set_xattr(request, node, name, value, mode).await
    }

    async fn list_xattrs(&self, request: Request<'_>, node: &Self::Node) -> Result<Vec<Bytes>> {
        let (fs, node) = self.own(node)?;
        fs.list_xattrs(request, node).await
    }

    async fn remove_xattr(&self, request: Request<'_>, node: &Self::Node, name: XattrName<'_>) -> Result<()> {
        let (fs, node) = self.own(node)?;
        fs.remove_xattr(request, node, name).await
    }

    async fn stat_fs(&self, request: Request<'_>, node: &Self::Node) -> Result<StatFs> {
        match (self, node) {
            (Self::Own(fs), Node::Own(node)) => fs.stat_fs(request, node).await,
            _ => Ok(StatFs::default()),
        }
    }

    fn watch(&self, node: &Self::Node, least: Seen, tell: &Tell) -> Result<Option<Watch>> {
        match (self, node) {
            (Self::Own(fs), Node::Own(node)) => fs.watch(node, least, tell),
            _ => Ok(None),
        }
    }

    fn limits(&self) -> Limits {
        match self {
            Self::Own(fs) => fs.limits(),
            Self::Way(_) => PseudoTree::limits(),
        }
    }

    fn capabilities(&self) -> Capabilities {
        match self {
            Self::Own(fs) => fs.capabilities(),
            Self::Way(_) => Capabilities::default(),
        }
    }

    fn nameless_max(&self) -> usize {
        match self {
            Self::Own(fs) => fs.nameless_max(),
            Self::Way(_) => 0,
        }
    }

    fn sweep(&self) {
        if let Self::Own(fs) = self {
            fs.sweep();
        }
    }

    fn set_descriptors_max(&self, max: usize) {
        if let Self::Own(fs) = self {
            fs.set_descriptors_max(max);
        }
    }
}

#[cfg(test)]
mod tests {
    /// A method with a default that is not passed on would silently be that default for every export.
    #[test]
    fn every_method_of_a_file_system_is_passed_on() {
        let methods = |text: &'static str| {
            let lines = text.lines().map(|line| line.trim().trim_start_matches("async "));
            lines.filter_map(|line| line.strip_prefix("fn ")?.split(['(', '<']).next())
        };
        let wrapper: Vec<_> = methods(include_str!("back_end.rs")).collect();
        let text = include_str!("../../../vfs/src/file_system.rs");
        let (_, definition) = text.split_once("pub trait FileSystem").unwrap();
        let all: Vec<_> = methods(definition).collect();
        assert!(all.len() > 20, "{all:?}");
        for method in all {
            assert!(wrapper.contains(&method), "BackEnd does not pass on `{method}`");
        }
    }
}

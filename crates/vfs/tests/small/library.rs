//! A fixed tree of files: the smallest back end that a server can export.

use bytes::Bytes;
use vfs::{
    Attributes, DirEntry, DirPage, Error, FileKind, FileSystem, Handle, Limits, Name, ObjectId, ReadDone,
    Request, Result, Seal, Timestamp,
};

/// The index of an object in the tree.
pub(crate) type Node = usize;

struct Object {
    name: &'static str,
    parent: Node,
    /// `None` for a directory.
    content: Option<&'static [u8]>,
}

/// A library of books, each of which everyone may read.
pub(crate) struct Library {
    objects: Vec<Object>,
    seal: Seal,
}

const ROOT: Node = 0;

impl Library {
    pub(crate) fn new() -> Self {
        let object = |name, parent, content| Object { name, parent, content };
        let objects = vec![
            object("", ROOT, None),
            object("README", ROOT, Some(&b"Take one, and bring it back.\n"[..])),
            object("poems", ROOT, None),
            object("autumn", 2, Some(&b"Lord: it is time. The summer was immense.\n"[..])),
            object("empty", 2, Some(&b""[..])),
            object("shelf", 2, None),
        ];
        Self { objects, seal: Seal::new([7; 16], 1) }
    }

    fn content(&self, node: Node) -> Result<&'static [u8]> {
        self.objects[node].content.ok_or(Error::IsDirectory)
    }

    fn children(&self, dir: Node) -> Result<impl Iterator<Item = (Node, &Object)>> {
        let all = self.objects.iter().enumerate().skip(1);
        match self.objects[dir].content {
            Some(_) => Err(Error::NotDirectory),
            None => Ok(all.filter(move |(_, object)| object.parent == dir)),
        }
    }

    fn found(&self, node: Node) -> Attributes {
        let content = self.objects[node].content;
        let (kind, mode) = match content {
            Some(_) => (FileKind::Regular, 0o444),
            None => (FileKind::Directory, 0o555),
        };
        let size = content.unwrap_or_default().len() as u64;
        let time = Timestamp { seconds: 1_000_000_000, nanoseconds: 0 };
        Attributes {
            kind,
            mode,
            links: 1,
            uid: 0,
            gid: 0,
            size,
            used: size,
            device: vfs::DeviceNumber::default(),
            fsid: self.seal.derive(b"file system"),
            fileid: node as u64 + 1,
            accessed: time,
            modified: time,
            changed: time,
            created: None,
            change: 1,
        }
    }
}

impl FileSystem for Library {
    type Node = Node;

    fn root(&self) -> Node {
        ROOT
    }

    async fn resolve(&self, _request: Request<'_>, handle: &[u8]) -> Result<Node> {
        let payload = self.seal.open(handle)?.try_into().map_err(|_| Error::BadHandle)?;
        let node = u64::from_le_bytes(payload) as Node;
        if node < self.objects.len() { Ok(node) } else { Err(Error::Stale) }
    }

    fn handle(&self, node: &Node) -> Handle {
        self.seal.seal(&(*node as u64).to_le_bytes())
    }

    fn object_id(&self, node: &Node) -> ObjectId {
        ObjectId { fileid: *node as u64 + 1, generation: self.seal.derive(b"file system") }
    }

    async fn attributes(&self, _request: Request<'_>, node: &Node) -> Result<Attributes> {
        Ok(self.found(*node))
    }

    async fn lookup(&self, _request: Request<'_>, dir: &Node, name: Name<'_>) -> Result<(Node, Attributes)> {
        let mut children = self.children(*dir)?;
        let found = children.find(|(_, object)| object.name.as_bytes() == name.as_bytes());
        let (node, _) = found.ok_or(Error::NotFound)?;
        Ok((node, self.found(node)))
    }

    async fn lookup_parent(&self, _request: Request<'_>, dir: &Node) -> Result<Node> {
        match (self.objects[*dir].content, *dir) {
            (Some(_), _) => Err(Error::NotDirectory),
            (None, ROOT) => Err(Error::NotFound),
            (None, dir) => Ok(self.objects[dir].parent),
        }
    }

    async fn read(
        &self,
        _request: Request<'_>,
        node: &Node,
        offset: u64,
        count: usize,
        out: &mut Vec<u8>,
    ) -> Result<ReadDone> {
        Ok(ReadDone::from_slice(self.content(*node)?, offset, count, out))
    }

    async fn read_dir(
        &self,
        _request: Request<'_>,
        dir: &Node,
        cookie: u64,
        entries_max: usize,
        objects: bool,
    ) -> Result<DirPage<Node>> {
        let mut following = self.children(*dir)?.filter(|(node, _)| *node as u64 > cookie);
        let entries = following.by_ref().take(entries_max.max(1)).map(|(node, object)| DirEntry {
            name: Bytes::from_static(object.name.as_bytes()),
            fileid: node as u64 + 1,
            cookie: node as u64,
            object: objects.then(|| (node, self.found(node))),
        });
        let entries = entries.collect();
        Ok(DirPage { entries, eof: following.next().is_none() })
    }

    fn limits(&self) -> Limits {
        Limits {
            name_bytes_max: Name::MAX as u32,
            links_max: 1,
            file_bytes_max: i64::MAX as u64,
            time_granularity_ns: 1,
            chown_restricted: true,
        }
    }
}

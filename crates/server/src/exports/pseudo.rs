//! The directories that lead to exports where no export has them: NFSv4 clients see one tree from the root
//! (RFC 7530 §7.3, RFC 8881 §7.3).
//!
//! Only names, made from the paths of the exports. A directory's handle and numbers follow from its path
//! alone, so they are the same after a restart and whatever else is exported.

use std::collections::BTreeMap;
use std::hash::Hasher;

use bytes::Bytes;
use siphasher::sip::SipHasher24;
use vfs::{
    Access, Attributes, CreateMode, Created, DirEntry, DirPage, Error, FileKind, FileSystem, Handle, Limits,
    Name, ObjectId, ReadDone, Request, Result, Stability, Timestamp, Written,
};

use super::ExportPath;

/// Begins every handle; with the file id it is shorter than any that a back end seals.
const MARK: &[u8; 8] = b"pt-tree\x01";
const HANDLE_BYTES: usize = MARK.len() + 8;
/// Everybody may list and search.
const MODE: u32 = 0o555;
/// Cookies below are reserved or those of `.` and `..`.
const COOKIE_MIN: u64 = 3;
/// File ids and cookies leave the highest bit to those who count with signs.
const NUMBERS: u64 = u64::MAX >> 1;

/// A directory of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PseudoNode(usize);

/// The tree. The root is the first directory.
#[derive(Debug)]
pub struct PseudoTree {
    directories: Vec<Directory>,
    /// When it became what it is.
    changed: Timestamp,
}

#[derive(Debug)]
struct Directory {
    fileid: u64,
    parent: usize,
    /// By cookie, which is the child's file id.
    children: BTreeMap<u64, (Bytes, usize)>,
}

impl PseudoTree {
    /// The directories on the way to `paths`, and those themselves. `now` is when clients are told that they
    /// changed.
    pub fn new<'p>(paths: impl Iterator<Item = &'p ExportPath>, now: Timestamp) -> Self {
        let root = Directory { fileid: fileid(b"/"), parent: 0, children: BTreeMap::new() };
        let mut tree = Self { directories: vec![root], changed: now };
        for path in paths {
            let mut at = PseudoNode(0);
            let mut end = 0;
            for name in path.components() {
                end += 1 + name.as_bytes().len();
                at = tree.child(at, name, &path.as_bytes()[..end]);
            }
        }
        tree
    }

    /// The directory called `name`, which is made if there is none.
    fn child(&mut self, dir: PseudoNode, name: Name<'_>, path: &[u8]) -> PseudoNode {
        if let Ok(found) = self.find(dir, name) {
            return found;
        }
        let new = self.directories.len();
        let fileid = fileid(path);
        self.directories.push(Directory { fileid, parent: dir.0, children: BTreeMap::new() });
        let name = Bytes::copy_from_slice(name.as_bytes());
        self.directories[dir.0].children.insert(fileid, (name, new));
        PseudoNode(new)
    }

    fn found(&self, PseudoNode(index): PseudoNode) -> Attributes {
        let directory = &self.directories[index];
        let links = 2 + directory.children.len();
        let nanoseconds = self.changed.seconds as u64 * 1_000_000_000 + u64::from(self.changed.nanoseconds);
        Attributes {
            kind: FileKind::Directory,
            mode: MODE,
            links: links as u32,
            uid: 0,
            gid: 0,
            size: 4096,
            used: 0,
            device: vfs::DeviceNumber::default(),
            fsid: 0,
            fileid: directory.fileid,
            accessed: self.changed,
            modified: self.changed,
            changed: self.changed,
            created: None,
            change: nanoseconds,
        }
    }

    fn find(&self, dir: PseudoNode, name: Name<'_>) -> Result<PseudoNode> {
        let mut children = self.directories[dir.0].children.values();
        let found = children.find(|(child, _)| child == name.as_bytes());
        found.map(|(_, index)| PseudoNode(*index)).ok_or(Error::NotFound)
    }
}

/// All callers may list and search. The directories never change.
impl FileSystem for PseudoTree {
    type Node = PseudoNode;

    fn root(&self) -> PseudoNode {
        PseudoNode(0)
    }

    async fn resolve(&self, _: Request<'_>, handle: &[u8]) -> Result<PseudoNode> {
        let fileid = handle.strip_prefix(MARK).ok_or(Error::BadHandle)?;
        let fileid = u64::from_be_bytes(fileid.try_into().map_err(|_| Error::BadHandle)?);
        let found = self.directories.iter().position(|directory| directory.fileid == fileid);
        // A path that led to an export before.
        found.map(PseudoNode).ok_or(Error::Stale)
    }

    fn handle(&self, node: &PseudoNode) -> Handle {
        let mut bytes = [0; HANDLE_BYTES];
        bytes[..MARK.len()].copy_from_slice(MARK);
        bytes[MARK.len()..].copy_from_slice(&self.directories[node.0].fileid.to_be_bytes());
        Handle::new(&bytes).expect("16 bytes fit a handle")
    }

    fn object_id(&self, node: &PseudoNode) -> ObjectId {
        ObjectId { fileid: self.directories[node.0].fileid, generation: 0 }
    }

    async fn attributes(&self, _: Request<'_>, node: &PseudoNode) -> Result<Attributes> {
        Ok(self.found(*node))
    }

    async fn access(&self, _: Request<'_>, _: &PseudoNode, wanted: Access) -> Result<Access> {
        Ok(Access(wanted.0 & (Access::READ.0 | Access::LOOKUP.0)))
    }

    async fn lookup(
        &self,
        _: Request<'_>,
        dir: &PseudoNode,
        name: Name<'_>,
    ) -> Result<(PseudoNode, Attributes)> {
        let node = self.find(*dir, name)?;
        Ok((node, self.found(node)))
    }

    async fn lookup_parent(&self, _: Request<'_>, dir: &PseudoNode) -> Result<PseudoNode> {
        if dir.0 == 0 { Err(Error::NotFound) } else { Ok(PseudoNode(self.directories[dir.0].parent)) }
    }

    async fn read(
        &self,
        _: Request<'_>,
        _: &PseudoNode,
        _: u64,
        _: usize,
        _: &mut Vec<u8>,
    ) -> Result<ReadDone> {
        Err(Error::IsDirectory)
    }

    async fn write(&self, _: Request<'_>, _: &PseudoNode, _: u64, _: Bytes, _: Stability) -> Result<Written> {
        Err(Error::IsDirectory)
    }

    /// Creates no file, also when the name exists.
    async fn create(
        &self,
        _: Request<'_>,
        _: &PseudoNode,
        _: Name<'_>,
        _: &CreateMode,
    ) -> Result<Created<PseudoNode>> {
        Err(Error::ReadOnly)
    }

    async fn read_dir(
        &self,
        _: Request<'_>,
        dir: &PseudoNode,
        cookie: u64,
        entries_max: usize,
        _: bool,
    ) -> Result<DirPage<PseudoNode>> {
        let mut children = self.directories[dir.0].children.range(cookie.saturating_add(1)..);
        let entries = children.by_ref().take(entries_max.max(1)).map(|(cookie, (name, index))| {
            let node = PseudoNode(*index);
            let object = Some((node, self.found(node)));
            DirEntry { name: name.clone(), fileid: *cookie, cookie: *cookie, object }
        });
        let entries = entries.collect();
        Ok(DirPage { entries, eof: children.next().is_none() })
    }

    fn limits(&self) -> Limits {
        Limits { links_max: u32::MAX, file_bytes_max: 0, ..Limits::default() }
    }
}

/// The number of the directory at a path.
fn fileid(path: &[u8]) -> u64 {
    let mut hasher = SipHasher24::new_with_key(b"names of the way");
    hasher.write(path);
    (hasher.finish() & NUMBERS).max(COOKIE_MIN)
}

#[cfg(test)]
mod tests {
    use pollster::block_on;

    use super::*;

    const NOW: Timestamp = Timestamp { seconds: 7, nanoseconds: 5 };

    fn tree(paths: &[&str]) -> PseudoTree {
        let paths: Vec<_> = paths.iter().map(|path| ExportPath::new(path.as_bytes()).unwrap()).collect();
        PseudoTree::new(paths.iter(), NOW)
    }

    fn walk(tree: &PseudoTree, path: &str) -> Result<PseudoNode> {
        let path = ExportPath::new(path.as_bytes()).unwrap();
        path.components().try_fold(tree.root(), |at, name| tree.find(at, name))
    }

    fn parent(tree: &PseudoTree, dir: PseudoNode) -> Result<PseudoNode> {
        block_on(tree.lookup_parent(Request::of_server(), &dir))
    }

    fn resolve(tree: &PseudoTree, handle: &[u8]) -> Result<PseudoNode> {
        block_on(tree.resolve(Request::of_server(), handle))
    }

    /// Seven entries of the root.
    fn list(tree: &PseudoTree, cookie: u64) -> DirPage<PseudoNode> {
        block_on(tree.read_dir(Request::of_server(), &tree.root(), cookie, 7, false)).unwrap()
    }

    #[test]
    fn every_directory_on_the_way_is_there_once() {
        let tree = tree(&["/a/b", "/a/c", "/d"]);
        assert_eq!(tree.directories.len(), 5);
        let b = walk(&tree, "/a/b").unwrap();
        assert_eq!(parent(&tree, b).unwrap(), walk(&tree, "/a").unwrap());
        assert!(matches!(walk(&tree, "/a/d"), Err(Error::NotFound)));
        assert!(matches!(parent(&tree, tree.root()), Err(Error::NotFound)));
        assert_eq!(tree.found(tree.root()).change, 7_000_000_005);
    }

    #[test]
    fn handles_depend_on_the_path_alone() {
        let (one, other) = (tree(&["/a/b", "/d"]), tree(&["/x", "/a/c"]));
        let a = one.handle(&walk(&one, "/a").unwrap());
        assert_eq!(resolve(&other, a.as_bytes()).unwrap(), walk(&other, "/a").unwrap());
        let d = one.handle(&walk(&one, "/d").unwrap());
        assert!(matches!(resolve(&other, d.as_bytes()), Err(Error::Stale)));
        for bad in [&b"pt-tree\x01"[..], b"", &[7; 16], &[b"pt-tree\x01".as_slice(), &[0; 9]].concat()] {
            assert!(matches!(resolve(&one, bad), Err(Error::BadHandle)));
        }
    }

    #[test]
    fn a_listing_goes_on_after_any_entry() {
        let paths: Vec<_> = (0..100).map(|index| format!("/{index}")).collect();
        let tree = tree(&paths.iter().map(String::as_str).collect::<Vec<_>>());
        let (mut cookie, mut names) = (0, Vec::new());
        loop {
            let page = list(&tree, cookie);
            names.extend(page.entries.iter().map(|entry| String::from_utf8(entry.name.to_vec()).unwrap()));
            if page.eof {
                break;
            }
            cookie = page.entries.last().unwrap().cookie;
        }
        names.sort_by_key(|name| name.parse::<u32>().unwrap());
        assert_eq!(names, (0..100).map(|index| index.to_string()).collect::<Vec<_>>());
        assert!(list(&tree, u64::MAX).entries.is_empty());
    }
}

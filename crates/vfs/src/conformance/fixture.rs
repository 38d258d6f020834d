//! A file system under test, with shorthands for what most checks do.

use bytes::Bytes;

use super::Options;
use crate::{
    Attributes, Capabilities, CreateMode, DirEntry, FileKind, FileSystem, Identity, Name, NodeKind, ReadDone,
    RemoveKind, Request, Result, SetAttributes, Stability,
};

/// A new file system, and a request of the superuser.
pub(super) struct Fixture<F: FileSystem> {
    pub(super) fs: F,
    pub(super) root: F::Node,
    pub(super) request: Request<'static>,
    pub(super) can: Capabilities,
    pub(super) options: Options,
}

/// The name, which must be valid.
pub(super) fn name(bytes: &(impl AsRef<[u8]> + ?Sized)) -> Name<'_> {
    Name::new(bytes.as_ref()).expect("checks use valid names")
}

/// Sets only the mode.
pub(super) fn mode(mode: u32) -> SetAttributes {
    SetAttributes { mode: Some(mode), ..Default::default() }
}

/// Sets only the length.
pub(super) fn size(size: u64) -> SetAttributes {
    SetAttributes { size: Some(size), ..Default::default() }
}

impl<F: FileSystem> Fixture<F> {
    pub(super) fn new(fs: F, options: Options) -> Self {
        Self {
            root: fs.root(),
            can: fs.capabilities(),
            fs,
            request: options.line.request_of_server(),
            options,
        }
    }

    /// The kinds of objects that can be made, and the names that [`one_of_each`](Self::one_of_each) gives.
    pub(super) fn kinds(&self) -> Vec<(&'static str, FileKind)> {
        let mut kinds = vec![("file", FileKind::Regular), ("dir", FileKind::Directory)];
        if self.can.symlinks {
            kinds.push(("symlink", FileKind::Symlink));
        }
        if self.can.special_files {
            kinds.extend([("fifo", FileKind::Fifo), ("socket", FileKind::Socket)]);
        }
        kinds
    }

    /// Makes a file that must not exist yet.
    pub(super) async fn file(&self, dir: &F::Node, file: &str) -> Result<F::Node> {
        self.file_as(self.request.identity, dir, file, 0o644).await
    }

    pub(super) async fn file_as(
        &self,
        caller: &Identity,
        dir: &F::Node,
        file: &str,
        bits: u32,
    ) -> Result<F::Node> {
        let created = self
            .fs
            .create(self.request.made_by(caller), dir, name(file), &CreateMode::Guarded(mode(bits)))
            .await?;
        Ok(created.node)
    }

    /// Makes a file in the root with content.
    pub(super) async fn file_with(&self, file: &str, content: &[u8]) -> Result<F::Node> {
        let node = self.file(&self.root, file).await?;
        self.write(&node, 0, content).await?;
        Ok(node)
    }

    pub(super) async fn dir(&self, dir: &F::Node, child: &str) -> Result<F::Node> {
        self.dir_as(self.request.identity, dir, child, 0o755).await
    }

    pub(super) async fn dir_as(
        &self,
        caller: &Identity,
        dir: &F::Node,
        child: &str,
        bits: u32,
    ) -> Result<F::Node> {
        Ok(self.fs.make_dir(self.request.made_by(caller), dir, name(child), &mode(bits)).await?.0)
    }

    /// One object of every kind in the root: file, directory, and as the back end has them symbolic link,
    /// pipe, socket.
    pub(super) async fn one_of_each(&self) -> Result<Vec<F::Node>> {
        let (root, set) = (&self.root, mode(0o644));
        let mut all = Vec::new();
        for (child, kind) in self.kinds() {
            let child = name(child);
            all.push(match kind {
                FileKind::Directory => self.fs.make_dir(self.request, root, child, &mode(0o755)).await?.0,
                FileKind::Symlink => {
                    let none = SetAttributes::default();
                    self.fs.make_symlink(self.request, root, child, b"target", &none).await?.0
                }
                FileKind::Fifo => self.fs.make_node(self.request, root, child, NodeKind::Fifo, &set).await?.0,
                FileKind::Socket => {
                    self.fs.make_node(self.request, root, child, NodeKind::Socket, &set).await?.0
                }
                _ => self.fs.create(self.request, root, child, &CreateMode::Guarded(set)).await?.node,
            });
        }
        Ok(all)
    }

    pub(super) async fn lookup(&self, dir: &F::Node, child: &str) -> Result<(F::Node, Attributes)> {
        self.fs.lookup(self.request, dir, name(child)).await
    }

    pub(super) async fn remove(&self, dir: &F::Node, child: &str) -> Result<()> {
        self.fs.remove(self.request, dir, name(child), RemoveKind::Any).await
    }

    pub(super) async fn rename(
        &self,
        from_dir: &F::Node,
        from: &str,
        to_dir: &F::Node,
        to: &str,
    ) -> Result<()> {
        self.fs.rename(self.request, from_dir, name(from), to_dir, name(to)).await
    }

    pub(super) async fn write(&self, node: &F::Node, offset: u64, data: &[u8]) -> Result<usize> {
        self.write_as(self.request.identity, node, offset, data).await
    }

    pub(super) async fn write_as(
        &self,
        caller: &Identity,
        node: &F::Node,
        offset: u64,
        data: &[u8],
    ) -> Result<usize> {
        let data = Bytes::copy_from_slice(data);
        Ok(self.fs.write(self.request.made_by(caller), node, offset, data, Stability::Unstable).await?.count)
    }

    pub(super) async fn read(
        &self,
        node: &F::Node,
        offset: u64,
        count: usize,
    ) -> Result<(Vec<u8>, ReadDone)> {
        self.read_as(self.request.identity, node, offset, count).await
    }

    pub(super) async fn read_as(
        &self,
        caller: &Identity,
        node: &F::Node,
        offset: u64,
        count: usize,
    ) -> Result<(Vec<u8>, ReadDone)> {
        let mut out = Vec::new();
        let done = self.fs.read(self.request.made_by(caller), node, offset, count, &mut out).await?;
        Ok((out, done))
    }

    pub(super) async fn set(&self, node: &F::Node, set: &SetAttributes) -> Result<Attributes> {
        self.fs.set_attributes(self.request, node, set).await
    }

    /// All entries, read `page` at a time.
    pub(super) async fn list(&self, dir: &F::Node, page: usize) -> Result<Vec<DirEntry<F::Node>>> {
        let mut all: Vec<DirEntry<F::Node>> = Vec::new();
        loop {
            let cookie = all.last().map_or(0, |entry| entry.cookie);
            let next = self.fs.read_dir(self.request, dir, cookie, page, false).await?;
            let stuck = next.entries.is_empty();
            all.extend(next.entries);
            if next.eof || stuck {
                return Ok(all);
            }
        }
    }

    /// The names in `dir` without `.` and `..`, sorted.
    pub(super) async fn names(&self, dir: &F::Node) -> Result<Vec<String>> {
        let entries = self.list(dir, 64).await?.into_iter();
        let names = entries.map(|entry| String::from_utf8_lossy(&entry.name).into_owned());
        let mut names: Vec<String> = names.filter(|name| name != "." && name != "..").collect();
        names.sort();
        Ok(names)
    }
}

//! What the workloads need of a client, and nothing else: one set of calls over the client library, a mount
//! of it, a kernel's mount and a directory of this machine.
//!
//! Owns the choice among them. It knows nothing of experiments.

mod access;
mod address;
mod counters;
mod directory;
mod file;
mod fuse;
mod kernel;
mod kind;
mod library;
mod namespace;
pub(crate) mod unmount;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use bytes::Bytes;
use client::ProgramPorts;

use super::Error;

pub(crate) use access::{Access, Habits};
pub(crate) use address::Address;
pub(crate) use counters::Counters;
pub(crate) use file::File;
pub(crate) use kernel::keeps_locks_local;
pub use kind::ClientKind;
pub(crate) use namespace::NetworkNamespace;

use directory::Directory;
use fuse::FuseMount;
use kernel::KernelMount;
use library::Library;

/// A client that is connected to its tree.
pub(crate) struct Mount {
    tree: Tree,
    version: String,
}

/// What answers the workloads' calls.
enum Tree {
    Library(Library),
    Directory(Directory, Behind),
}

/// What makes a directory of this machine show its tree.
enum Behind {
    /// Nothing: it is one.
    Disk,
    Fuse(FuseMount),
    Kernel(KernelMount),
}

impl Mount {
    /// Connects the client library to the server, with a client of its own that shares nothing with others.
    /// For a directory of this machine, that directory.
    pub(crate) async fn connect(address: &Address, version: &str, habits: Habits) -> Result<Self, Error> {
        let tree = match address {
            Address::Server { .. } => {
                let url = address.url(version).expect("a server has an address");
                Tree::Library(Library::connect(&url, version, habits).await?)
            }
            Address::Directory(root) => Tree::Directory(Directory::new(root, habits), Behind::Disk),
        };
        Ok(Self { tree, version: version.to_owned() })
    }

    /// The same with a mount of this process on `point`, an empty directory, whose connections are in
    /// `namespace` where one is given.
    pub(crate) async fn connect_fuse(
        address: &Address,
        version: &str,
        habits: Habits,
        (namespace, point): (Option<&NetworkNamespace>, &Path),
    ) -> Result<Self, Error> {
        let Some(url) = address.url(version) else { return Self::connect(address, version, habits).await };
        let fuse = Box::pin(FuseMount::start((&url, version, habits), (namespace, point))).await?;
        let tree = Tree::Directory(Directory::new(point, habits), Behind::Fuse(fuse));
        Ok(Self { tree, version: version.to_owned() })
    }

    /// The same with a mount of the kernel on `point`, an empty directory, by its client in `namespace` where
    /// one is given.
    pub(crate) async fn connect_kernel(
        address: &Address,
        version: &str,
        habits: Habits,
        options: &[String],
        (namespace, point): (Option<&NetworkNamespace>, &Path),
    ) -> Result<Self, Error> {
        let Some(url) = address.url(version) else { return Self::connect(address, version, habits).await };
        let kernel = KernelMount::start(&url, version, options, (namespace, point)).await?;
        let tree = Tree::Directory(Directory::new(point, habits), Behind::Kernel(kernel));
        Ok(Self { tree, version: version.to_owned() })
    }

    /// The version that it speaks.
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// Whether its calls block the thread that makes them.
    pub(crate) fn blocks(&self) -> bool {
        matches!(self.tree, Tree::Directory(..))
    }

    /// What was agreed with the server, by name.
    pub(crate) fn negotiated(&self) -> BTreeMap<String, String> {
        match &self.tree {
            Tree::Library(library) => library.negotiated(),
            Tree::Directory(_, Behind::Fuse(fuse)) => fuse.library.negotiated(),
            Tree::Directory(_, Behind::Kernel(kernel)) => kernel.negotiated(),
            Tree::Directory(_, Behind::Disk) => BTreeMap::new(),
        }
    }

    /// Everything that was sent and received up to now.
    pub(crate) fn counters(&self) -> Counters {
        match &self.tree {
            Tree::Library(library) => library.counters(),
            Tree::Directory(_, Behind::Fuse(fuse)) => fuse.library.counters(),
            Tree::Directory(_, Behind::Kernel(kernel)) => kernel.counters(),
            Tree::Directory(_, Behind::Disk) => Counters::default(),
        }
    }

    /// A request that asks nothing.
    pub(crate) async fn null(&self) -> Result<(), Error> {
        match &self.tree {
            Tree::Library(library) => library.null().await,
            Tree::Directory(..) => Ok(()),
        }
    }

    /// The file id of the directory that the address names; 0 for a directory of this machine.
    pub(crate) async fn root_id(&self) -> Result<u64, Error> {
        match &self.tree {
            Tree::Library(library) => library.root_id().await,
            Tree::Directory(..) => Ok(0),
        }
    }

    /// Where the server has the programs beside NFS.
    pub(crate) async fn program_ports(&self) -> Result<ProgramPorts, Error> {
        match &self.tree {
            Tree::Library(library) => library.program_ports().await,
            Tree::Directory(..) => Ok(ProgramPorts::default()),
        }
    }

    /// Gives everything back to the server, and unmounts what was mounted. That it is gone meanwhile is no
    /// loss here.
    pub(crate) async fn shut_down(&self) {
        match &self.tree {
            Tree::Library(library) => library.shut_down().await,
            Tree::Directory(directory, behind) => {
                directory.close();
                match behind {
                    Behind::Disk => {}
                    Behind::Fuse(fuse) => fuse.shut_down().await,
                    Behind::Kernel(kernel) => kernel.shut_down().await,
                }
            }
        }
    }

    /// Opens a file.
    pub(crate) async fn open(&self, path: &str, access: Access) -> Result<File, Error> {
        match &self.tree {
            Tree::Library(library) => library.open(path, access).await.map(File::Library),
            Tree::Directory(directory, _) => directory.open(path, access).map(File::Directory),
        }
    }

    /// Makes an empty file and does not keep it open.
    pub(crate) async fn create(&self, path: &str) -> Result<(), Error> {
        match &self.tree {
            Tree::Library(library) => library.create(path).await,
            Tree::Directory(directory, _) => directory.create(path),
        }
    }

    /// Makes a file with this content, or gives it to the one that is there.
    pub(crate) async fn write_file(&self, path: &str, data: Bytes) -> Result<(), Error> {
        match &self.tree {
            Tree::Library(library) => library.write_file(path, data).await,
            Tree::Directory(directory, _) => directory.write_file(path, &data),
        }
    }

    /// Asks for the attributes of a file.
    pub(crate) async fn stat(&self, path: &str) -> Result<(), Error> {
        match &self.tree {
            Tree::Library(library) => library.stat(path).await,
            Tree::Directory(directory, _) => directory.look_at("look at", path),
        }
    }

    /// Removes a file, which must be there.
    pub(crate) async fn delete(&self, path: &str) -> Result<(), Error> {
        match &self.tree {
            Tree::Library(library) => library.delete(path).await,
            Tree::Directory(directory, _) => directory.delete(path),
        }
    }

    /// Gives a file another name.
    pub(crate) async fn rename(&self, from: &str, to: &str) -> Result<(), Error> {
        match &self.tree {
            Tree::Library(library) => library.rename(from, to).await,
            Tree::Directory(directory, _) => directory.rename(from, to),
        }
    }

    /// Walks to a directory, so that the way there is known.
    pub(crate) async fn visit(&self, path: &str) -> Result<(), Error> {
        match &self.tree {
            Tree::Library(library) => library.visit(path).await,
            Tree::Directory(directory, _) => directory.look_at("walk to", &format!("{path}/.")),
        }
    }

    /// Drops what the client keeps of a file, so that reading it again asks the server.
    pub(crate) async fn forget(&self, path: &str) -> Result<(), Error> {
        match &self.tree {
            Tree::Library(library) => library.forget(path).await,
            Tree::Directory(directory, behind) => {
                directory.forget(path)?;
                behind.forget(path).await
            }
        }
    }

    /// Closes a file and opens it again to read it, with nothing of it kept meanwhile.
    pub(crate) async fn reopen_cold(&self, file: File) -> Result<File, Error> {
        let path = file.path().to_owned();
        match (&self.tree, &file) {
            (Tree::Directory(_, behind), File::Directory(open)) => {
                open.forget()?;
                behind.forget(&path).await?;
                file.close().await?;
            }
            _ => {
                file.close().await?;
                self.forget(&path).await?;
            }
        }
        self.open(&path, Access::Read).await
    }

    /// Makes a directory that must not be there yet.
    pub(crate) async fn make_directory(&self, path: &str) -> Result<(), Error> {
        match &self.tree {
            Tree::Library(library) => library.make_directory(path).await,
            Tree::Directory(directory, _) => directory.make_directory(path),
        }
    }

    /// Bytes that this user may still write to the file system that is served.
    pub(crate) async fn free_bytes(&self) -> Result<u64, Error> {
        match &self.tree {
            Tree::Library(library) => library.free_bytes().await,
            Tree::Directory(directory, _) => directory.free_bytes(),
        }
    }

    /// Removes an empty directory; that it is gone is as good.
    pub(crate) async fn remove_directory(&self, path: &str) -> Result<(), Error> {
        match &self.tree {
            Tree::Library(library) => library.remove_directory(path).await,
            Tree::Directory(directory, _) => directory.remove_directory(path),
        }
    }

    /// Unpacks an archive into a directory; gives how many objects that made.
    pub(crate) async fn extract_tar(
        &self,
        archive: impl Read + Send + 'static,
        path: &str,
    ) -> Result<u64, Error> {
        self.library()?.extract_tar(archive, path).await
    }

    /// Lists a directory and everything in it; gives how many objects that are.
    pub(crate) async fn list_tree(&self, path: &str) -> Result<u64, Error> {
        self.library()?.list_tree(path).await
    }

    /// Removes a directory and everything in it; gives how many objects those were.
    pub(crate) async fn remove_tree(&self, path: &str) -> Result<u64, Error> {
        self.library()?.remove_tree(path).await
    }

    /// Removes a directory and everything in it, and a file `last` of the directory when everything else is
    /// gone. What is gone already is as good.
    pub(crate) async fn remove_all(&self, path: &str, last: Option<&str>) -> Result<(), Error> {
        match &self.tree {
            Tree::Library(library) => library.remove_all(path, last).await,
            Tree::Directory(directory, _) => directory.remove_all(path, last),
        }
    }

    /// The names in a directory and which of them are directories; none when it is not there.
    pub(crate) async fn list(&self, path: &str) -> Result<Option<Vec<(String, bool)>>, Error> {
        self.list_named(path, "").await
    }

    /// As [`Mount::list`], of names that begin with `prefix`.
    pub(crate) async fn list_named(
        &self,
        path: &str,
        prefix: &str,
    ) -> Result<Option<Vec<(String, bool)>>, Error> {
        match &self.tree {
            Tree::Library(library) => library.list(path, prefix).await,
            Tree::Directory(directory, _) => directory.list(path, prefix),
        }
    }

    /// The operations on whole trees are the client library's alone.
    fn library(&self) -> Result<&Library, Error> {
        match &self.tree {
            Tree::Library(library) => Ok(library),
            Tree::Directory(..) => Err(Error::NoBatches),
        }
    }
}

impl Behind {
    async fn forget(&self, path: &str) -> Result<(), Error> {
        match self {
            Self::Fuse(fuse) => fuse.forget(path).await,
            Self::Disk | Self::Kernel(_) => Ok(()),
        }
    }
}

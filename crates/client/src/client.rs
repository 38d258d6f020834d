//! The client as its users see it: operations on paths.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::sync::Arc;

use bytes::Bytes;

use crate::attributes::{Access, Attributes, FsStat, SetAttributes};
use crate::batch::Batch;
use crate::directory::Directory;
use crate::error::{Error, Result};
use crate::file::File;
use crate::items::Output;
use crate::listing::ReadDir;
use crate::name::RefusedNames;
use crate::object::Object;
use crate::open::OpenOptions;
use crate::options::{Options, ProgramPorts, Version};
use crate::server::Server;
use crate::shared::Shared;
use crate::tap::Tap;
use crate::tree::{Descend, Location, TreeEntry, TreeOptions, TreeReport};
use crate::url::Url;
use crate::watcher::Watcher;
use crate::xattr::XattrMode;

/// A tree on a server. Clones share everything. See the [crate] for an example.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

impl Client {
    /// Reaches the server and the path that `url` names. What the address says of options comes on top of
    /// `options`.
    ///
    /// # Errors
    /// When the server cannot be reached, offers none of the versions ([`Error::NotOffered`]), or does not
    /// have the path.
    pub async fn connect(url: &Url, mut options: Options) -> Result<Self> {
        url.apply(&mut options);
        let address =
            url.resolve().await.map_err(|error| Error::Transport(format!("{}: {error}", url.host())))?;
        Ok(Self { shared: Shared::connect(Server::new(url.host(), address), url.path(), options).await? })
    }

    /// The paths that a server exports over NFSv3, as MOUNT tells them; the path of the address is of no
    /// matter.
    ///
    /// # Errors
    /// When the server cannot be reached, does not offer MOUNT, or keeps its exports to itself.
    pub async fn exports(url: &Url, mut options: Options) -> Result<Vec<Bytes>> {
        url.apply(&mut options);
        let address =
            url.resolve().await.map_err(|error| Error::Transport(format!("{}: {error}", url.host())))?;
        crate::nfs3::exports(&Server::new(url.host(), address), &options).await
    }

    #[cfg(test)]
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The version that is spoken.
    pub fn version(&self) -> Version {
        self.shared.version
    }

    /// The counts of all requests.
    pub fn tap(&self) -> &Tap {
        &self.shared.tap
    }

    /// What was agreed with the server: transfer sizes in bytes, slots, and the like, by name.
    pub fn negotiated(&self) -> BTreeMap<&'static str, String> {
        self.shared.negotiated()
    }

    /// The tree's root.
    pub fn root(&self) -> Directory {
        Directory::new(Arc::clone(&self.shared), Arc::clone(&self.shared.root))
    }

    /// The tree's root, for users who keep objects rather than paths.
    pub fn root_object(&self) -> Object {
        Object::new(&self.shared, Arc::clone(&self.shared.root))
    }

    /// Tells `watcher` from now on what becomes void. There is one for each client; later ones are passed
    /// over.
    pub fn watch(&self, watcher: Arc<dyn Watcher>) {
        let _ = self.shared.watcher.set(watcher);
    }

    /// A directory, to name things in it without walking its path again.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn directory(&self, path: impl AsRef<[u8]>) -> Result<Directory> {
        self.root().directory(path).await
    }

    /// Opens a file.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn open(&self, path: impl AsRef<[u8]>, options: OpenOptions) -> Result<File> {
        self.root().open(path, options).await
    }

    /// Everything that is in a file: one request where it is small (NFSv4), none where it is cached under a
    /// delegation.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn read(&self, path: impl AsRef<[u8]>) -> Result<Bytes> {
        self.root().read(path).await
    }

    /// Makes `data` the whole content of a file, which is made if there is none. They are on the server's
    /// stable storage when it returns; while it runs, others may see the file empty. One request where one
    /// WRITE takes it all (NFSv4).
    ///
    /// # Errors
    /// See [`Error`]. The file may be empty then.
    pub async fn write(&self, path: impl AsRef<[u8]>, data: impl Into<Bytes>) -> Result<()> {
        self.root().write(path, data).await
    }

    /// Makes a file, which must not exist, without opening it: one request in both versions. NFSv4.1 is asked
    /// for no attributes, so that the first look at the file is a request.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn create_file(&self, path: impl AsRef<[u8]>, mode: u32) -> Result<()> {
        self.root().create_file(path, mode).await
    }

    /// Makes a directory.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn create_dir(&self, path: impl AsRef<[u8]>, mode: u32) -> Result<()> {
        self.root().create_dir(path, mode).await
    }

    /// Makes a directory and those above it that are not there; one that is there is good.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn create_dir_all(&self, path: impl AsRef<[u8]>, mode: u32) -> Result<()> {
        self.root().create_dir_all(path, mode).await
    }

    /// True when the path leads to an object; a symbolic link that leads nowhere does not.
    ///
    /// # Errors
    /// When it cannot be told: see [`Error`].
    pub async fn exists(&self, path: impl AsRef<[u8]>) -> Result<bool> {
        self.root().exists(path).await
    }

    /// Makes a symbolic link to `target`.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn symlink(&self, target: impl AsRef<[u8]>, path: impl AsRef<[u8]>) -> Result<()> {
        self.root().symlink(target, path).await
    }

    /// The target of a symbolic link.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn read_link(&self, path: impl AsRef<[u8]>) -> Result<Bytes> {
        self.root().read_link(path).await
    }

    /// Gives a file one more name.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn hard_link(&self, existing: impl AsRef<[u8]>, path: impl AsRef<[u8]>) -> Result<()> {
        self.root().hard_link(existing, path).await
    }

    /// Removes a name that is not a directory's.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn remove_file(&self, path: impl AsRef<[u8]>) -> Result<()> {
        self.root().remove_file(path).await
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn remove_dir(&self, path: impl AsRef<[u8]>) -> Result<()> {
        self.root().remove_dir(path).await
    }

    /// Gives an object another name; what had that name before is gone. NFS has none of the flags of
    /// renameat2(2): to leave what is there alone, or to exchange two names, cannot be asked for in one step,
    /// and is not offered.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn rename(&self, from: impl AsRef<[u8]>, to: impl AsRef<[u8]>) -> Result<()> {
        self.root().rename(from, to).await
    }

    /// The entries of a directory, with attributes: see [`ReadDir`].
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn read_dir(&self, path: impl AsRef<[u8]>) -> Result<ReadDir> {
        self.root().read_dir(path).await
    }

    /// The entries that were left out of lists because the server sent names for them that no file can
    /// have; `None` if there were none. Lists are complete apart from these.
    pub fn refused_names(&self) -> Option<RefusedNames> {
        self.shared.refusals.report()
    }

    /// Carries out many operations in few round trips. The results are in the order of the items.
    pub async fn run(&self, batch: Batch) -> Vec<Result<Output>> {
        self.shared.run_batch(&self.shared.root, batch).await
    }

    /// Hands every object below the directory `path` to `visit`: a directory before what is in it, the
    /// entries of one directory together, in no other order. Symbolic links below `path` are not followed.
    ///
    /// # Errors
    /// When `path` cannot be reached; what cannot be listed is told in the report.
    pub async fn list_tree(
        &self,
        path: impl AsRef<[u8]>,
        options: &TreeOptions,
        visit: impl FnMut(TreeEntry) -> Descend,
    ) -> Result<TreeReport> {
        self.shared.list_tree(path.as_ref(), options, visit).await
    }

    /// Copies what is in one directory to another, of which at least one is at the server: regular files with
    /// their data, directories, symbolic links as such, and hard links within the tree. The target is made if
    /// it is not there. What is written at the server is on stable storage when this returns.
    ///
    /// # Errors
    /// When one of the directories cannot be reached; what cannot be copied is told in the report.
    pub async fn copy_tree(
        &self,
        from: &Location,
        to: &Location,
        options: &TreeOptions,
    ) -> Result<TreeReport> {
        self.shared.copy_tree(from, to, options).await
    }

    /// As [`Client::copy_tree`], from the directory `from` of this client to the directory `to` of another
    /// one.
    ///
    /// # Errors
    /// As [`Client::copy_tree`].
    pub async fn copy_tree_to(
        &self,
        from: impl AsRef<[u8]>,
        target: &Self,
        to: impl AsRef<[u8]>,
        options: &TreeOptions,
    ) -> Result<TreeReport> {
        self.shared.replicate(from.as_ref(), &target.shared, to.as_ref(), options).await
    }

    /// Removes the directory `path` and everything in it; of the root, everything in it. Symbolic links are
    /// removed, not followed.
    ///
    /// # Errors
    /// When `path` cannot be reached; what cannot be removed is told in the report.
    pub async fn remove_tree(&self, path: impl AsRef<[u8]>, options: &TreeOptions) -> Result<TreeReport> {
        self.shared.remove_tree(path.as_ref(), options).await
    }

    /// Unpacks an archive into the directory `path`, which is made if it is not there. Nothing is written
    /// outside of it: paths with `..` are refused, leading slashes dropped, symbolic links not followed.
    /// Directories that the archive does not name are made. What is written is on stable storage when this
    /// returns. `archive` is read in a thread of its own.
    ///
    /// # Errors
    /// When `path` cannot be reached or the archive cannot be read to its end; what cannot be written is told
    /// in the report.
    pub async fn extract_tar(
        &self,
        archive: impl Read + Send + 'static,
        path: impl AsRef<[u8]>,
        options: &TreeOptions,
    ) -> Result<TreeReport> {
        self.shared.extract_tar(archive, path.as_ref(), options).await
    }

    /// The attributes of an object; of a symbolic link, those of what it leads to.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn metadata(&self, path: impl AsRef<[u8]>) -> Result<Attributes> {
        self.root().metadata(path).await
    }

    /// The attributes of an object; of a symbolic link, its own.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn symlink_metadata(&self, path: impl AsRef<[u8]>) -> Result<Attributes> {
        self.root().symlink_metadata(path).await
    }

    /// Sets attributes of an object.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn set_metadata(&self, path: impl AsRef<[u8]>, set: SetAttributes) -> Result<()> {
        self.root().set_metadata(path, set).await
    }

    /// Which of the `wanted` permissions the caller has.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn access(&self, path: impl AsRef<[u8]>, wanted: Access) -> Result<Access> {
        self.root().access(path, wanted).await
    }

    /// The space of the file system that an object is on.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn statfs(&self, path: impl AsRef<[u8]>) -> Result<FsStat> {
        self.root().statfs(path).await
    }

    /// An extended attribute of an object; `None` when it has none of that name. Names are without a
    /// namespace: what Linux calls `user.mime` is `mime` here. NFSv4.2.
    ///
    /// # Errors
    /// [`Error::Unsupported`] over an older version; see [`Error`].
    pub async fn xattr(&self, path: impl AsRef<[u8]>, name: impl AsRef<[u8]>) -> Result<Option<Bytes>> {
        self.root().xattr(path, name).await
    }

    /// Sets an extended attribute, of at most 64 KiB. NFSv4.2.
    ///
    /// # Errors
    /// [`Error::Unsupported`] over an older version; see [`Error`].
    pub async fn set_xattr(
        &self,
        path: impl AsRef<[u8]>,
        name: impl AsRef<[u8]>,
        value: Bytes,
        mode: XattrMode,
    ) -> Result<()> {
        self.root().set_xattr(path, name, value, mode).await
    }

    /// The names of the extended attributes of an object, in the server's order. NFSv4.2.
    ///
    /// # Errors
    /// [`Error::Unsupported`] over an older version; see [`Error`].
    pub async fn list_xattrs(&self, path: impl AsRef<[u8]>) -> Result<Vec<Bytes>> {
        self.root().list_xattrs(path).await
    }

    /// Removes an extended attribute, which must be there. NFSv4.2.
    ///
    /// # Errors
    /// [`Error::Unsupported`] over an older version; see [`Error`].
    pub async fn remove_xattr(&self, path: impl AsRef<[u8]>, name: impl AsRef<[u8]>) -> Result<()> {
        self.root().remove_xattr(path, name).await
    }

    /// Forgets the cached data and attributes of an object, so that the next read asks the server.
    ///
    /// # Errors
    /// When the path cannot be walked.
    pub async fn forget(&self, path: impl AsRef<[u8]>) -> Result<()> {
        self.root().forget(path).await
    }

    /// Where the server has the programs that NFSv3 needs beside NFS: what somebody must know who stands
    /// between it and its clients. Nothing for NFSv4, which needs none.
    ///
    /// # Errors
    /// When MOUNT is not to be found.
    pub async fn program_ports(&self) -> Result<ProgramPorts> {
        self.shared.protocol().program_ports().await
    }

    /// A call that does nothing, to measure the round trip.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn null(&self) -> Result<()> {
        self.shared.protocol().null().await
    }

    /// True when data were written that are not on the server's stable storage yet.
    pub fn has_unstable_data(&self) -> bool {
        self.shared.has_unstable_data()
    }

    /// Sends what is not written yet and gives opens, delegations and the session back. Files that are still
    /// open cannot be used any more.
    ///
    /// # Errors
    /// See [`Error`]; the client is of no more use in any case.
    pub async fn shutdown(&self) -> Result<()> {
        self.shared.shutdown().await
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("version", &self.version()).finish_non_exhaustive()
    }
}

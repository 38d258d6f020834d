//! A directory as the client's users see it: the same operations as on the tree, relative to it.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;

use crate::attributes::{Access, Attributes, FsStat, SetAttributes};
use crate::error::Result;
use crate::file::File;
use crate::listing::ReadDir;
use crate::node::Node;
use crate::open::OpenOptions;
use crate::protocol::NewObject;
use crate::shared::Shared;
use crate::xattr::XattrMode;

/// A directory. Paths are relative to it; a single name costs no walk. Clones share everything.
#[derive(Clone)]
pub struct Directory {
    shared: Arc<Shared>,
    node: Arc<Node>,
}

impl Directory {
    pub(crate) fn new(shared: Arc<Shared>, node: Arc<Node>) -> Self {
        Self { shared, node }
    }

    /// A directory below this one.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn directory(&self, path: impl AsRef<[u8]>) -> Result<Self> {
        let node = self.shared.resolve_directory(&self.node, path.as_ref()).await?;
        Ok(Self::new(Arc::clone(&self.shared), node))
    }

    /// As [`crate::Client::open`].
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn open(&self, path: impl AsRef<[u8]>, options: OpenOptions) -> Result<File> {
        self.shared.open(&self.node, path.as_ref(), &options).await
    }

    /// As [`crate::Client::read`].
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn read(&self, path: impl AsRef<[u8]>) -> Result<Bytes> {
        self.shared.read_file(&self.node, path.as_ref()).await
    }

    /// As [`crate::Client::write`].
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn write(&self, path: impl AsRef<[u8]>, data: impl Into<Bytes>) -> Result<()> {
        self.shared.write_file(&self.node, path.as_ref(), data.into(), 0o644).await
    }

    /// As [`crate::Client::create_file`].
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn create_file(&self, path: impl AsRef<[u8]>, mode: u32) -> Result<()> {
        self.shared.create_file(&self.node, path.as_ref(), mode).await
    }

    /// As [`crate::Client::create_dir`].
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn create_dir(&self, path: impl AsRef<[u8]>, mode: u32) -> Result<()> {
        self.shared.make(&self.node, path.as_ref(), &NewObject::Directory, mode).await
    }

    /// As [`crate::Client::create_dir_all`].
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn create_dir_all(&self, path: impl AsRef<[u8]>, mode: u32) -> Result<()> {
        self.shared.make_directories(&self.node, path.as_ref(), mode).await
    }

    /// As [`crate::Client::exists`].
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn exists(&self, path: impl AsRef<[u8]>) -> Result<bool> {
        match self.shared.resolve(&self.node, path.as_ref(), true).await {
            Ok(_) => Ok(true),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// As [`crate::Client::symlink`].
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn symlink(&self, target: impl AsRef<[u8]>, path: impl AsRef<[u8]>) -> Result<()> {
        let target = NewObject::Symlink(Bytes::copy_from_slice(target.as_ref()));
        self.shared.make(&self.node, path.as_ref(), &target, 0o777).await
    }

    /// As [`crate::Client::read_link`].
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn read_link(&self, path: impl AsRef<[u8]>) -> Result<Bytes> {
        let node = self.shared.resolve(&self.node, path.as_ref(), false).await?;
        self.shared.protocol().read_link(&node.handle).await
    }

    /// As [`crate::Client::hard_link`].
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn hard_link(&self, existing: impl AsRef<[u8]>, path: impl AsRef<[u8]>) -> Result<()> {
        self.shared.link(&self.node, existing.as_ref(), path.as_ref()).await
    }

    /// As [`crate::Client::remove_file`].
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn remove_file(&self, path: impl AsRef<[u8]>) -> Result<()> {
        self.shared.remove(&self.node, path.as_ref(), false).await
    }

    /// As [`crate::Client::remove_dir`].
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn remove_dir(&self, path: impl AsRef<[u8]>) -> Result<()> {
        self.shared.remove(&self.node, path.as_ref(), true).await
    }

    /// As [`crate::Client::rename`].
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn rename(&self, from: impl AsRef<[u8]>, to: impl AsRef<[u8]>) -> Result<()> {
        self.shared.rename(&self.node, from.as_ref(), to.as_ref()).await
    }

    /// As [`crate::Client::read_dir`]; an empty path is the directory itself.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn read_dir(&self, path: impl AsRef<[u8]>) -> Result<ReadDir> {
        let node = self.shared.resolve_directory(&self.node, path.as_ref()).await?;
        self.shared.read_dir(&node).await
    }

    /// As [`crate::Client::metadata`].
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn metadata(&self, path: impl AsRef<[u8]>) -> Result<Attributes> {
        let node = self.shared.resolve(&self.node, path.as_ref(), true).await?;
        self.shared.attributes(&node).await
    }

    /// As [`crate::Client::symlink_metadata`].
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn symlink_metadata(&self, path: impl AsRef<[u8]>) -> Result<Attributes> {
        let node = self.shared.resolve(&self.node, path.as_ref(), false).await?;
        self.shared.attributes(&node).await
    }

    /// As [`crate::Client::set_metadata`].
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn set_metadata(&self, path: impl AsRef<[u8]>, set: SetAttributes) -> Result<()> {
        let node = self.shared.resolve(&self.node, path.as_ref(), true).await?;
        self.shared.set_attributes(&node, &set, None).await
    }

    /// As [`crate::Client::access`].
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn access(&self, path: impl AsRef<[u8]>, wanted: Access) -> Result<Access> {
        let node = self.shared.resolve(&self.node, path.as_ref(), true).await?;
        self.shared.access(&node, wanted).await
    }

    /// As [`crate::Client::statfs`].
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn statfs(&self, path: impl AsRef<[u8]>) -> Result<FsStat> {
        let node = self.shared.resolve(&self.node, path.as_ref(), true).await?;
        self.shared.protocol().fs_stat(&node.handle).await
    }

    /// As [`crate::Client::xattr`].
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn xattr(&self, path: impl AsRef<[u8]>, name: impl AsRef<[u8]>) -> Result<Option<Bytes>> {
        let node = self.shared.resolve(&self.node, path.as_ref(), true).await?;
        self.shared.get_xattr(&node, name.as_ref()).await
    }

    /// As [`crate::Client::set_xattr`].
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn set_xattr(
        &self,
        path: impl AsRef<[u8]>,
        name: impl AsRef<[u8]>,
        value: Bytes,
        mode: XattrMode,
    ) -> Result<()> {
        let node = self.shared.resolve(&self.node, path.as_ref(), true).await?;
        self.shared.set_xattr(&node, name.as_ref(), value, mode).await
    }

    /// As [`crate::Client::list_xattrs`].
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn list_xattrs(&self, path: impl AsRef<[u8]>) -> Result<Vec<Bytes>> {
        let node = self.shared.resolve(&self.node, path.as_ref(), true).await?;
        self.shared.list_xattrs(&node).await
    }

    /// As [`crate::Client::remove_xattr`].
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn remove_xattr(&self, path: impl AsRef<[u8]>, name: impl AsRef<[u8]>) -> Result<()> {
        let node = self.shared.resolve(&self.node, path.as_ref(), true).await?;
        self.shared.remove_xattr(&node, name.as_ref()).await
    }

    /// As [`crate::Client::forget`].
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub async fn forget(&self, path: impl AsRef<[u8]>) -> Result<()> {
        let node = self.shared.resolve(&self.node, path.as_ref(), true).await?;
        let mut state = node.state.lock();
        state.known.forget_content();
        state.known.doubt(Instant::now());
        Ok(())
    }
}

impl fmt::Debug for Directory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Directory").field("handle", &self.node.handle).finish_non_exhaustive()
    }
}

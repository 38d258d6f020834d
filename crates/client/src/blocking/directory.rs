//! A directory for plain threads: the same operations as on the tree, relative to it.

use bytes::Bytes;

use super::driver::Driver;
use super::{File, ReadDir, waiting};
use crate::attributes::{Access, Attributes, FsStat, SetAttributes};
use crate::error::Result;
use crate::open::OpenOptions;
use crate::xattr::XattrMode;

/// A directory. Paths are relative to it. Clones share everything.
#[derive(Debug, Clone)]
pub struct Directory {
    inner: crate::Directory,
    driver: Driver,
}

impl Directory {
    pub(super) fn new(inner: crate::Directory, driver: Driver) -> Self {
        Self { inner, driver }
    }

    /// A directory below this one.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub fn directory(&self, path: impl AsRef<[u8]>) -> Result<Self> {
        let inner = self.driver.wait(self.inner.directory(path))?;
        Ok(Self::new(inner, self.driver.clone()))
    }

    /// As [`crate::blocking::Client::open`].
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub fn open(&self, path: impl AsRef<[u8]>) -> Result<File> {
        self.open_with(path, OpenOptions::new().read(true))
    }

    /// As [`crate::blocking::Client::create`].
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub fn create(&self, path: impl AsRef<[u8]>) -> Result<File> {
        self.open_with(path, OpenOptions::new().write(true).create(true).truncate(true))
    }

    /// As [`crate::blocking::Client::open_with`].
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub fn open_with(&self, path: impl AsRef<[u8]>, options: OpenOptions) -> Result<File> {
        let inner = self.driver.wait(self.inner.open(path, options))?;
        Ok(File::new(inner, self.driver.clone(), options.append))
    }

    /// As [`crate::Client::read_dir`]; an empty path is the directory itself.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub fn read_dir(&self, path: impl AsRef<[u8]>) -> Result<ReadDir> {
        let inner = self.driver.wait(self.inner.read_dir(path))?;
        Ok(ReadDir::new(inner, self.driver.clone()))
    }

    waiting! {
        "crate::Directory"
        fn create_file(path: impl AsRef<[u8]>, mode: u32) -> ();
        fn create_dir(path: impl AsRef<[u8]>, mode: u32) -> ();
        fn create_dir_all(path: impl AsRef<[u8]>, mode: u32) -> ();
        fn exists(path: impl AsRef<[u8]>) -> bool;
        fn symlink(target: impl AsRef<[u8]>, path: impl AsRef<[u8]>) -> ();
        fn read_link(path: impl AsRef<[u8]>) -> Bytes;
        fn hard_link(existing: impl AsRef<[u8]>, path: impl AsRef<[u8]>) -> ();
        fn remove_file(path: impl AsRef<[u8]>) -> ();
        fn remove_dir(path: impl AsRef<[u8]>) -> ();
        fn rename(from: impl AsRef<[u8]>, to: impl AsRef<[u8]>) -> ();
        fn metadata(path: impl AsRef<[u8]>) -> Attributes;
        fn symlink_metadata(path: impl AsRef<[u8]>) -> Attributes;
        fn set_metadata(path: impl AsRef<[u8]>, set: SetAttributes) -> ();
        fn access(path: impl AsRef<[u8]>, wanted: Access) -> Access;
        fn statfs(path: impl AsRef<[u8]>) -> FsStat;
        fn xattr(path: impl AsRef<[u8]>, name: impl AsRef<[u8]>) -> Option<Bytes>;
        fn set_xattr(path: impl AsRef<[u8]>, name: impl AsRef<[u8]>, value: Bytes, mode: XattrMode) -> ();
        fn list_xattrs(path: impl AsRef<[u8]>) -> Vec<Bytes>;
        fn remove_xattr(path: impl AsRef<[u8]>, name: impl AsRef<[u8]>) -> ();
        fn forget(path: impl AsRef<[u8]>) -> ();
    }
}

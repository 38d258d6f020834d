//! A directory for plain threads: the same operations as on the tree, relative to it.

use bytes::Bytes;

use super::driver::Driver;
use super::{File, ReadDir, waiting_on_paths};
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

    waiting_on_paths! { "crate::Directory" }
}

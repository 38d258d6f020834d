//! The client for plain threads: operations on paths.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::driver::Driver;
use super::{Directory, File, ReadDir, waiting, waiting_on_paths};
use crate::attributes::{Access, Attributes, FsStat, SetAttributes};
use crate::error::Result;
use crate::open::OpenOptions;
use crate::options::{Options, Version};
use crate::tap::Tap;
use crate::url::Url;
use crate::xattr::XattrMode;

/// A tree on a server. Clones share everything. See [`crate::blocking`].
#[derive(Debug, Clone)]
pub struct Client {
    inner: crate::Client,
    driver: Driver,
}

impl Client {
    /// Reaches the tree at an address, with the options that it names.
    ///
    /// # Errors
    /// [`crate::Error::Address`] when it is no address; as [`crate::Client::connect`].
    pub fn connect(address: &str) -> Result<Self> {
        let url: Url = address.parse()?;
        Self::connect_with(&url, Options::default())
    }

    /// As [`crate::Client::connect`].
    ///
    /// # Errors
    /// As [`crate::Client::connect`].
    pub fn connect_with(url: &Url, options: Options) -> Result<Self> {
        let driver = Driver::new()?;
        let inner = driver.wait(crate::Client::connect(url, options))?;
        Ok(Self { inner, driver })
    }

    /// As [`crate::Client::version`].
    pub fn version(&self) -> Version {
        self.inner.version()
    }

    /// As [`crate::Client::tap`].
    pub fn tap(&self) -> &Tap {
        self.inner.tap()
    }

    /// As [`crate::Client::negotiated`].
    pub fn negotiated(&self) -> BTreeMap<&'static str, String> {
        self.inner.negotiated()
    }

    /// The tree's root.
    pub fn root(&self) -> Directory {
        Directory::new(self.inner.root(), self.driver.clone())
    }

    /// As [`crate::Client::directory`].
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub fn directory(&self, path: impl AsRef<[u8]>) -> Result<Directory> {
        self.root().directory(path)
    }

    /// Opens a file for reading.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub fn open(&self, path: impl AsRef<[u8]>) -> Result<File> {
        self.root().open(path)
    }

    /// Opens a file for writing, made when it is absent and empty in any case.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub fn create(&self, path: impl AsRef<[u8]>) -> Result<File> {
        self.root().create(path)
    }

    /// Opens a file in any way.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub fn open_with(&self, path: impl AsRef<[u8]>, options: OpenOptions) -> Result<File> {
        self.root().open_with(path, options)
    }

    /// As [`crate::Client::read_dir`].
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub fn read_dir(&self, path: impl AsRef<[u8]>) -> Result<ReadDir> {
        self.root().read_dir(path)
    }

    waiting_on_paths! { "crate::Client" }

    waiting! {
        "crate::Client"
        fn null() -> ();
        fn shutdown() -> ();
    }
}

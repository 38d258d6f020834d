//! An open file, whichever client has it.

use bytes::Bytes;

use super::directory::DirectoryFile;
use super::library::LibraryFile;
use crate::workload::Error;

/// An open file.
#[derive(Clone)]
pub(crate) enum File {
    /// Of the client library.
    Library(LibraryFile),
    /// Of a directory of this machine.
    Directory(DirectoryFile),
}

impl File {
    /// Its path.
    pub(crate) fn path(&self) -> &str {
        match self {
            Self::Library(file) => file.path(),
            Self::Directory(file) => file.path(),
        }
    }

    /// Reads up to `length` bytes, fewer only at the file's end.
    pub(crate) async fn read(&self, offset: u64, length: usize) -> Result<Bytes, Error> {
        match self {
            Self::Library(file) => file.read(offset, length).await,
            Self::Directory(file) => file.read(offset, length),
        }
    }

    /// Writes all of `data`.
    pub(crate) async fn write(&self, offset: u64, data: Bytes) -> Result<(), Error> {
        match self {
            Self::Library(file) => file.write(offset, data).await,
            Self::Directory(file) => file.write(offset, &data),
        }
    }

    /// Locks the whole file, for reading or for itself alone, waiting for it.
    pub(crate) async fn lock(&self, exclusive: bool) -> Result<(), Error> {
        match self {
            Self::Library(file) => file.lock(exclusive).await,
            Self::Directory(file) => file.lock(exclusive),
        }
    }

    /// Gives the lock back.
    pub(crate) async fn unlock(&self) -> Result<(), Error> {
        match self {
            Self::Library(file) => file.unlock().await,
            Self::Directory(file) => file.unlock(),
        }
    }

    /// Everything written is on stable storage after this.
    pub(crate) async fn sync(&self) -> Result<(), Error> {
        match self {
            Self::Library(file) => file.sync().await,
            Self::Directory(file) => file.sync(),
        }
    }

    /// Closes the file; tells of writes that failed meanwhile.
    pub(crate) async fn close(self) -> Result<(), Error> {
        match self {
            Self::Library(file) => file.close().await,
            Self::Directory(file) => file.close(),
        }
    }
}

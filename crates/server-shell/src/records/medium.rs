//! The medium of the store: the state directory, or in tests a disk that fails.

use std::fmt::Debug;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use redb::{Builder, Database};

use super::fault::Fault;
use super::reserve::{Reserve, ReservedFile};
use crate::state_files::StateFiles;

/// The file in the state directory.
pub(super) const FILE: &str = "clients.redb";
/// The name to which a damaged store is moved, so that an administrator can look for the reason.
const DAMAGED: &str = "clients.redb.damaged";
/// Memory for pages of the store that were read: the thread that writes has its own copy of the records.
const CACHE_BYTES: usize = 4 << 20;

/// Keeps a store.
pub(super) trait Medium: Debug + Send + 'static {
    /// Opens the store; an empty one where there is none.
    ///
    /// # Errors
    /// See [`Fault`].
    fn open(&mut self) -> Result<Database, Fault>;

    /// Checks that the store that is open is still the one that the next server would open.
    ///
    /// # Errors
    /// When it is not.
    fn check(&mut self) -> Result<(), Fault>;

    /// Moves a damaged store away, so that the next one that is opened is empty.
    ///
    /// # Errors
    /// As the file system has it.
    fn set_aside(&mut self) -> io::Result<()>;
}

/// Opens a store, see [`Builder`].
pub(super) fn builder() -> Builder {
    let mut builder = Database::builder();
    builder.set_cache_size(CACHE_BYTES);
    builder
}

/// The state directory.
#[derive(Debug)]
pub(super) struct StateDirectory {
    path: PathBuf,
    files: Arc<StateFiles>,
    /// The device of the directory when the store was opened first.
    device: Option<u64>,
    /// Device and inode of the store that is open, and its reserve.
    opened: Option<((u64, u64), Arc<Reserve>)>,
}

impl StateDirectory {
    /// The directory of `files`, which are written again when they were removed.
    pub(super) fn new(files: Arc<StateFiles>) -> Self {
        Self { path: files.directory().to_owned(), files, device: None, opened: None }
    }

    /// Makes a directory that was removed again, with its files. Its file system must be the same as
    /// before: keys do not belong on another one, which shows when the directory's was unmounted.
    fn restore(&self) -> Result<(), Fault> {
        let Some(device) = self.device else { return Ok(()) };
        let is_there = self.path.join(FILE).try_exists()?;
        if !is_there && device_of_existing(&self.path)? != device {
            let cause = format!("the file system of {} is not mounted", self.path.display());
            return Err(Fault::new(cause, "mount it again, or restart the server"));
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&self.path)?;
        self.files.restore()?;
        Ok(())
    }
}

impl Medium for StateDirectory {
    fn open(&mut self) -> Result<Database, Fault> {
        self.opened = None;
        self.restore()?;
        let path = self.path.join(FILE);
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).mode(0o600).open(&path)?;
        let inode = inode(&file.metadata()?);
        let is_new = file.metadata()?.len() == 0;
        let file = ReservedFile::new(file)?;
        let reserve = file.reserve();
        let database = builder().create_with_backend(file).map_err(redb::Error::from)?;
        if is_new {
            File::open(&self.path)?.sync_all()?;
        }
        reserve.refill();
        self.device.get_or_insert(fs::metadata(&self.path)?.dev());
        self.opened = Some((inode, reserve));
        Ok(database)
    }

    fn check(&mut self) -> Result<(), Fault> {
        let Some((opened, reserve)) = &self.opened else { return Ok(()) };
        match fs::symlink_metadata(self.path.join(FILE)) {
            Ok(metadata) if inode(&metadata) == *opened => {
                reserve.refill();
                Ok(())
            }
            Ok(_) => Err(removed(&self.path)),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(removed(&self.path)),
            Err(error) => Err(error.into()),
        }
    }

    fn set_aside(&mut self) -> io::Result<()> {
        fs::rename(self.path.join(FILE), self.path.join(DAMAGED))
    }
}

fn removed(path: &Path) -> Fault {
    Fault::new(format!("{FILE} was removed from {} or replaced", path.display()), "leave it to the server")
}

fn inode(metadata: &fs::Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

/// The device of a path, or of the nearest directory above it that is there.
fn device_of_existing(path: &Path) -> io::Result<u64> {
    let absolute = std::path::absolute(path)?;
    let existing = absolute.ancestors().find_map(|ancestor| fs::metadata(ancestor).ok());
    existing.map(|metadata| metadata.dev()).ok_or_else(|| ErrorKind::NotFound.into())
}

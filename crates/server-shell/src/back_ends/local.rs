//! Directories of this host.

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;
use vfs::AnyFileSystem;
use vfs::local::{Durability, Local, LocalOptions};

use super::{OpenBackEnd, Opening};

/// Delegated files and directories of an export that are watched; beyond, none is delegated. Each takes about
/// a kilobyte of the kernel's memory.
const WATCHES_MAX: usize = 1 << 16;

/// See the module.
pub(super) struct LocalDirectories;

impl OpenBackEnd for LocalDirectories {
    fn opens_directories(&self) -> bool {
        true
    }

    fn open(&self, opening: &Opening<'_>) -> vfs::Result<AnyFileSystem> {
        let options = LocalOptions {
            state_dir: opening.state_directory.map(ToOwned::to_owned),
            watches_max: if opening.watches { WATCHES_MAX } else { 0 },
            durability: if opening.is_asynchronous { Durability::Async } else { Durability::Sync },
            read_only: opening.is_read_only,
            name_space: opening.name_space,
            wait_in_place: Some(wait_in_place),
            ..LocalOptions::default()
        };
        let local = Local::open(opening.location, &options)?;
        if let Some(why) = local.unwatched() {
            tracing::warn!(
                directory = %opening.location.display(), %why,
                "changes by other processes cannot be seen here, and recall no delegations"
            );
        }
        Ok(local.into())
    }
}

/// Runs `job`, which waits for the disk, while another thread takes over the other work of this one. Returns
/// false where there is no other thread.
fn wait_in_place(job: &mut dyn FnMut()) -> bool {
    let is_of_several =
        Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
    if is_of_several {
        block_in_place(job);
    }
    is_of_several
}

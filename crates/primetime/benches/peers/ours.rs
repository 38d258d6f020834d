//! Our server: a process with a durable export, as is the default, and one with an asynchronous one.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::TempDir;

use crate::target::Target;
use served::Served;
pub use served::ready;

#[path = "../../tests/support/served.rs"]
mod served;

pub struct Ours {
    synced: Served,
    asynchronous: Served,
    folder: TempDir,
}

impl Ours {
    pub fn start() -> Self {
        // Where the others' directories are, too.
        let folder = tempfile::tempdir_in("/var/tmp").expect("temporary directory");
        let synced = serve(&folder.path().join("synced"), "");
        let asynchronous = serve(&folder.path().join("asynchronous"), "async = true\n");
        Self { synced, asynchronous, folder }
    }

    /// The one that is durable.
    pub fn target(&self) -> Target {
        target(&self.synced)
    }

    pub fn asynchronous(&self) -> Target {
        target(&self.asynchronous)
    }

    /// A directory of the same file system.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// Serves a directory in `folder` that everybody may write.
fn serve(folder: &Path, configuration: &str) -> Served {
    let export = folder.join("export");
    fs::create_dir_all(&export).expect("export");
    fs::set_permissions(&export, fs::Permissions::from_mode(0o777)).expect("export");
    Served::start(&export, folder, configuration)
}

fn target(served: &Served) -> Target {
    Target::ours(served.address, &served.process)
}

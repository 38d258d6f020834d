//! Our server, or an older one of ours: a process with a durable export, as is the default, and one with an
//! asynchronous one.

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
    name: &'static str,
    synced: Served,
    asynchronous: Served,
    folder: TempDir,
}

impl Ours {
    /// Starts the processes of this build.
    pub fn start() -> Self {
        Self::start_by("primetime", None)
    }

    /// Starts those of an older `executable`.
    pub fn start_older(executable: &Path) -> Self {
        Self::start_by("older primetime", Some(executable))
    }

    fn start_by(name: &'static str, executable: Option<&Path>) -> Self {
        // Where the others' directories are, too.
        let folder = tempfile::tempdir_in("/var/tmp").expect("temporary directory");
        let synced = serve(executable, &folder.path().join("synced"), "");
        let asynchronous = serve(executable, &folder.path().join("asynchronous"), "async = true\n");
        Self { name, synced, asynchronous, folder }
    }

    /// The durable process, with the asynchronous one for rows that ask for it.
    pub fn target(&self) -> Target {
        let target = |served: &Served| Target::ours(self.name, served.address, &served.process);
        Target { asynchronous: Some(Box::new(target(&self.asynchronous))), ..target(&self.synced) }
    }

    /// A directory of the same file system.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// Serves a directory in `folder` that everybody may write.
fn serve(executable: Option<&Path>, folder: &Path, configuration: &str) -> Served {
    let export = folder.join("export");
    fs::create_dir_all(&export).expect("export");
    fs::set_permissions(&export, fs::Permissions::from_mode(0o777)).expect("export");
    Served::start(executable, &export, folder, configuration)
}

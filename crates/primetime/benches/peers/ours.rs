//! Our server: a process with a durable export, as is the default, and one with an asynchronous one.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command};

use tempfile::TempDir;

use crate::target::Target;

#[path = "../../tests/support/ready.rs"]
pub mod ready;

pub struct Ours {
    synced: Process,
    asynchronous: Process,
    folder: TempDir,
}

impl Ours {
    pub fn start() -> Self {
        // Where the others' directories are, too.
        let folder = tempfile::tempdir_in("/var/tmp").expect("temporary directory");
        let synced = Process::start(&folder.path().join("synced"), "");
        let asynchronous = Process::start(&folder.path().join("asynchronous"), "async = true\n");
        Self { synced, asynchronous, folder }
    }

    /// The one that is durable.
    pub fn target(&self) -> Target {
        self.synced.target()
    }

    pub fn asynchronous(&self) -> Target {
        self.asynchronous.target()
    }

    /// A directory of the same file system.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

struct Process {
    child: Child,
    address: SocketAddr,
}

impl Process {
    fn start(folder: &Path, configuration: &str) -> Self {
        let (export, config) = (folder.join("export"), folder.join("primetime.toml"));
        fs::create_dir_all(&export).expect("export");
        fs::set_permissions(&export, fs::Permissions::from_mode(0o777)).expect("export");
        let configuration = format!("{configuration}no_root_squash = true\nlisten = \"127.0.0.1:0\"\n");
        fs::write(&config, configuration).expect("configuration");
        let mut command = Command::new(env!("CARGO_BIN_EXE_primetime"));
        command.arg("serve").arg(export).arg("--config").arg(config);
        command.arg("--state-dir").arg(folder.join("state"));
        let (child, address) = ready::start(&mut command);
        Self { child, address }
    }

    fn target(&self) -> Target {
        Target::ours(self.address, &self.child)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

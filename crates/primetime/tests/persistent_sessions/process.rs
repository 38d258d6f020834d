//! A server process, its directory and its state.

use std::fs::{self, Permissions};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

#[path = "../support/ready.rs"]
mod ready;

pub struct Place(tempfile::TempDir);

impl Place {
    pub fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir(place.export()).unwrap();
        fs::set_permissions(place.export(), Permissions::from_mode(0o777)).unwrap();
        place
    }

    pub fn export(&self) -> PathBuf {
        self.0.path().join("export")
    }

    /// Starts a server, and waits until it is ready.
    pub fn start(&self, persistent: bool) -> Process {
        let mut command = Command::new(env!("CARGO_BIN_EXE_primetime"));
        command.arg("serve").arg(self.export()).args(["--listen", "127.0.0.1:0", "--no-root-squash"]);
        command.arg("--state-dir").arg(self.0.path().join("state"));
        if persistent {
            command.arg("--persistent-sessions");
        }
        let (child, address) = ready::start(&mut command);
        Process { address, child }
    }

    /// Every name below the export, in order.
    pub fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        walk(&self.export(), &mut names);
        let root = self.export();
        let mut names: Vec<_> =
            names.iter().map(|path| path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned()).collect();
        names.sort();
        names
    }
}

fn walk(directory: &Path, names: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        names.push(entry.path());
        if entry.file_type().unwrap().is_dir() {
            walk(&entry.path(), names);
        }
    }
}

pub struct Process {
    address: SocketAddr,
    child: Child,
}

impl Process {
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// SIGKILL: nothing is written any more.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may be dead already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

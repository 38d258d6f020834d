//! Our server, with a durable export as is the default.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command};

use tempfile::TempDir;

use crate::listing::Place;
use crate::process::Process;

#[path = "../../tests/support/ready.rs"]
mod ready;

/// Ended when dropped.
pub struct Server {
    child: Child,
    address: SocketAddr,
    _folder: TempDir,
}

impl Server {
    pub fn start(export: &Path) -> Self {
        let folder = tempfile::tempdir().expect("temporary directory");
        let config = folder.path().join("primetime.toml");
        fs::write(&config, "no_root_squash = true\nlisten = \"127.0.0.1:0\"\n").expect("configuration");
        let mut command = Command::new(env!("CARGO_BIN_EXE_primetime"));
        command.arg("serve").arg(export).arg("--config").arg(config);
        command.arg("--state-dir").arg(folder.path().join("state"));
        let (child, address) = ready::start(&mut command);
        Self { child, address, _folder: folder }
    }

    pub fn place(&self) -> Place {
        Place {
            address: self.address,
            mount_address: self.address,
            paths: ["/", "/"],
            process: Process(self.child.id()),
        }
    }

    pub fn open_descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.child.id())).expect("a running process").count()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

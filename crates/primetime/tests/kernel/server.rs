//! The server under test: a process of its own in the lab.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Stdio};

use netlab::guest::Lab;
use tempfile::TempDir;

pub(crate) const PORT: u16 = 2049;

/// Killed when dropped.
pub(crate) struct Server {
    process: Child,
    export: TempDir,
    _state: TempDir,
}

impl Server {
    /// Serves an empty directory.
    pub(crate) fn start(lab: &Lab) -> Self {
        let (export, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let process = spawn(lab, export.path(), state.path());
        Self { process, export, _state: state }
    }

    pub(crate) fn address(lab: &Lab) -> SocketAddr {
        SocketAddr::new(lab.host_address(), PORT)
    }

    /// The directory that is exported.
    pub(crate) fn directory(&self) -> &Path {
        self.export.path()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns when the server listens.
fn spawn(lab: &Lab, export: &Path, state: &Path) -> Child {
    let address = Server::address(lab);
    let mut process = lab
        .command(env!("CARGO_BIN_EXE_primetime"))
        .arg("serve")
        .arg(export)
        .args(["--no-root-squash", "--listen", &address.to_string()])
        .args(["--async", "--state-dir"])
        .arg(state)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    assert_eq!(ready, format!("ready nfs://{address}/\n"));
    process
}

//! A server process with directories of its own.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command};

#[path = "../../tests/support/ready.rs"]
mod ready;

pub struct Server {
    process: Child,
    pub address: SocketAddr,
    export: tempfile::TempDir,
    state: tempfile::TempDir,
}

impl Server {
    pub fn start() -> Self {
        let (export, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (process, address) = spawn(export.path(), state.path(), "127.0.0.1:0");
        Self { process, address, export, state }
    }

    pub fn directory(&self) -> &Path {
        self.export.path()
    }

    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Starts it again where it was; returns when it is ready.
    pub fn start_again(&mut self) {
        let listen = self.address.to_string();
        (self.process, self.address) = spawn(self.export.path(), self.state.path(), &listen);
    }

    pub fn resident_bytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn spawn(export: &Path, state: &Path, listen: &str) -> (Child, SocketAddr) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_primetime"));
    command
        .arg("serve")
        .arg(export)
        .args(["--no-root-squash", "--async", "--listen", listen, "--state-dir"])
        .arg(state);
    ready::start(&mut command)
}

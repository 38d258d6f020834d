//! A server process on a directory of its own.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command};

#[path = "../../tests/support/ready.rs"]
mod ready;

pub struct Server {
    process: Child,
    pub address: SocketAddr,
    directory: tempfile::TempDir,
}

/// The name of the file that is read, and its size in bytes.
pub const FILE: &str = "file";
const FILE_BYTES: usize = 64 << 20;

impl Server {
    pub fn start() -> Self {
        let directory = tempfile::tempdir().expect("temporary directory");
        fs::write(directory.path().join(FILE), vec![1u8; FILE_BYTES]).expect("file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_primetime"));
        command.arg("serve").arg(directory.path()).args(["--listen", "127.0.0.1:0", "--forget"]);
        let (process, address) = ready::start(&mut command);
        Self { process, address, directory }
    }

    /// The file that is read, on this side.
    pub fn file(&self) -> PathBuf {
        self.directory.path().join(FILE)
    }

    pub fn resident_bytes(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).expect("status");
        let line = status.lines().find(|l| l.starts_with("VmRSS:")).expect("VmRSS");
        line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).expect("number") * 1024
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

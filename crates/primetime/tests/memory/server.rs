//! A server process, and how much memory it holds.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::thread;
use std::time::Duration;

#[path = "../support/ready.rs"]
mod ready;

/// Tables that are full of what was last need not grow; here they are full soon.
const CONFIGURATION: &str =
    "async = true\nno_root_squash = true\nlisten = \"127.0.0.1:0\"\n[limits]\nv3_replies_max = 100\n";

pub struct Server {
    child: Child,
    address: SocketAddr,
    place: tempfile::TempDir,
}

impl Server {
    pub fn start() -> Self {
        let place = tempfile::tempdir().unwrap();
        let (export, config) = (place.path().join("export"), place.path().join("primetime.toml"));
        fs::create_dir(&export).unwrap();
        fs::set_permissions(&export, fs::Permissions::from_mode(0o777)).unwrap();
        fs::write(&config, CONFIGURATION).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_primetime"));
        command
            .arg("serve")
            .arg(export)
            .arg("--config")
            .arg(config)
            .arg("--state-dir")
            .arg(place.path().join("state"));
        let (child, address) = ready::start(&mut command);
        Self { address, child, place }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The directory that is exported.
    pub fn export(&self) -> PathBuf {
        self.place.path().join("export")
    }

    /// Anonymous memory in bytes, when it does not change any more: what clients have left is cleared away a
    /// little later.
    pub fn settled_bytes(&self) -> i64 {
        let mut bytes = self.anonymous_bytes();
        loop {
            thread::sleep(Duration::from_millis(100));
            let now = self.anonymous_bytes();
            if now == bytes {
                return now;
            }
            bytes = now;
        }
    }

    pub fn anonymous_bytes(&self) -> i64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<i64>().unwrap() * 1024
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be dead already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

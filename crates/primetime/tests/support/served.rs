//! `primetime serve` as a process of its own, for benches: root is root, and the port a free one.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command};

#[path = "ready.rs"]
pub mod ready;

/// Ended when dropped.
pub struct Served {
    pub process: Child,
    pub address: SocketAddr,
}

impl Served {
    /// Serves `export` by `executable`, or by that of this build, with its configuration, to which `more` is
    /// added, and its state in `folder`.
    pub fn start(executable: Option<&Path>, export: &Path, folder: &Path, more: &str) -> Self {
        let executable = executable.unwrap_or(Path::new(env!("CARGO_BIN_EXE_primetime")));
        let config = folder.join("primetime.toml");
        let configuration = format!("{more}no_root_squash = true\nlisten = \"127.0.0.1:0\"\n");
        fs::write(&config, configuration).expect("configuration");
        let mut command = Command::new(executable);
        command.arg("serve").arg(export).arg("--config").arg(config);
        command.arg("--state-dir").arg(folder.join("state"));
        let (process, address) = ready::start(&mut command);
        Self { process, address }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended before.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

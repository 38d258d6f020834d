//! The server under test: a process of its own in the lab.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use netlab::guest::Lab;
use serde_json::Value;
use tempfile::TempDir;

pub(crate) const PORT: u16 = 2049;
const METRICS_PORT: u16 = 9049;

/// Killed when dropped.
pub(crate) struct Server {
    process: Child,
    export: TempDir,
    state: TempDir,
    options: Vec<String>,
}

impl Server {
    /// Serves an empty directory, fast: nothing waits for the disk.
    pub(crate) fn start(lab: &Lab) -> Self {
        Self::with_options(lab, &["--async"])
    }

    /// Serves an empty directory and forgets silent clients after `seconds`.
    pub(crate) fn with_lease(lab: &Lab, seconds: u32) -> Self {
        Self::with_options(lab, &["--lease", &seconds.to_string()])
    }

    /// As [`Server::with_lease`], with sessions that outlive the server.
    pub(crate) fn with_persistent_sessions(lab: &Lab, lease_seconds: u32) -> Self {
        Self::with_options(lab, &["--lease", &lease_seconds.to_string(), "--persistent-sessions"])
    }

    /// As [`Server::start`], and the port mapper of its host.
    pub(crate) fn mapping_ports(lab: &Lab) -> Self {
        Self::with_options(lab, &["--async", "--portmap", "builtin"])
    }

    /// As [`Server::start`], with its counters told at [`Server::metrics`].
    pub(crate) fn counting(lab: &Lab) -> Self {
        Self::with_options(lab, &["--async", "--metrics", &Self::metrics(lab).to_string()])
    }

    pub(crate) fn with_options(lab: &Lab, options: &[&str]) -> Self {
        let (export, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let options: Vec<_> = options.iter().map(|&option| option.to_owned()).collect();
        let process = spawn(lab, export.path(), state.path(), &options);
        Self { process, export, state, options }
    }

    /// Kills the server in the middle of whatever it does, and starts it again when it has been away for so
    /// long.
    pub(crate) fn kill_and_restart(&mut self, lab: &Lab, away: Duration) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        thread::sleep(away);
        self.process = spawn(lab, self.export.path(), self.state.path(), &self.options);
    }

    pub(crate) fn address(lab: &Lab) -> SocketAddr {
        SocketAddr::new(lab.host_address(), PORT)
    }

    /// Where a server tells its counters that does.
    pub(crate) fn metrics(lab: &Lab) -> SocketAddr {
        SocketAddr::new(lab.host_address(), METRICS_PORT)
    }

    /// Where the server takes commands.
    pub(crate) fn socket(&self) -> PathBuf {
        self.state.path().join("control.sock")
    }

    /// What `primetime ctl` says, line by line.
    pub(crate) fn ctl(&self, arguments: &[&str]) -> Vec<Value> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_primetime"));
        command.arg("ctl").args(arguments).arg("--json").arg("--socket").arg(self.socket());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
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
fn spawn(lab: &Lab, export: &Path, state: &Path, options: &[String]) -> Child {
    let address = Server::address(lab);
    let mut process = lab
        .command(env!("CARGO_BIN_EXE_primetime"))
        .arg("serve")
        .arg(export)
        .args(["--no-root-squash", "--listen", &address.to_string()])
        .args(options)
        .arg("--state-dir")
        .arg(state)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map(Result::unwrap);
    let ready = lines.find(|line| !line.starts_with("metrics "));
    assert_eq!(ready, Some(format!("ready nfs://{address}/")));
    process
}

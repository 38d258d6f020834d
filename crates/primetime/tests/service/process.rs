//! A server process, its directory and its state.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};

pub struct Place(tempfile::TempDir);

impl Place {
    pub fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir(place.path("export")).unwrap();
        fs::set_permissions(place.path("export"), Permissions::from_mode(0o777)).unwrap();
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// `primetime serve` on a free port, with its state in `state`.
    pub fn command(&self, arguments: &[&str]) -> Command {
        self.command_of(&[&["--state-dir", "state"], arguments].concat())
    }

    /// `primetime serve` on a free port.
    pub fn command_of(&self, arguments: &[&str]) -> Command {
        let always = ["export", "--listen", "127.0.0.1:0", "--no-root-squash"];
        self.command_alone(&[&always, arguments].concat())
    }

    /// `primetime serve` with these arguments only.
    pub fn command_alone(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_primetime"));
        command.arg("serve").args(arguments).current_dir(self.0.path());
        command
    }

    /// Starts a server, and waits until it is ready.
    pub fn start(&self, arguments: &[&str]) -> Process {
        Process::start(&mut self.command(arguments))
    }
}

pub struct Process {
    pub address: SocketAddr,
    /// What it has printed before it was ready.
    pub metrics: Option<SocketAddr>,
    child: Child,
    /// Kept open: a server may print more.
    _stdout: BufReader<ChildStdout>,
}

impl Process {
    pub fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut metrics = None;
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        if let Some(rest) = line.strip_prefix("metrics http://") {
            metrics = Some(rest.trim().strip_suffix("/metrics").unwrap().parse().unwrap());
            line.clear();
            stdout.read_line(&mut line).unwrap();
        }
        let address = line.trim().strip_prefix("ready nfs://").unwrap().trim_end_matches('/');
        Self { address: address.parse().unwrap(), metrics, child, _stdout: stdout }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// What it reports, where that was asked for.
    pub fn stderr(&mut self) -> ChildStderr {
        self.child.stderr.take().unwrap()
    }

    /// Waits for its end.
    pub fn ended(mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may be dead already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

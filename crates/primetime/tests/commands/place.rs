//! A server process with its export, and commands that are run at it.

use std::ffi::OsStr;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

#[path = "../support/ready.rs"]
mod ready;

const PRIMETIME: &str = env!("CARGO_BIN_EXE_primetime");

pub(crate) struct Place {
    directory: tempfile::TempDir,
    server: Child,
    address: SocketAddr,
    version: &'static str,
}

impl Place {
    /// A server whose addresses name a version; none if it is empty.
    pub(crate) fn new(version: &'static str) -> Self {
        Self::with(version, &[])
    }

    pub(crate) fn with(version: &'static str, options: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("export")).unwrap();
        let mut command = Command::new(PRIMETIME);
        command
            .arg("serve")
            .arg(directory.path().join("export"))
            .args(["--listen", "127.0.0.1:0", "--forget", "--no-root-squash", "--async"])
            .args(options);
        let (server, address) = ready::start(&mut command);
        Self { directory, server, address, version }
    }

    /// Where the server listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Addresses lead to something in front of the server.
    pub(crate) fn through(self, address: SocketAddr) -> Self {
        let mut place = self;
        place.address = address;
        place
    }

    /// Below the export.
    pub(crate) fn exported(&self, name: impl AsRef<OsStr>) -> PathBuf {
        self.directory.path().join("export").join(name.as_ref())
    }

    /// Beside the export.
    pub(crate) fn beside(&self, name: impl AsRef<OsStr>) -> PathBuf {
        self.directory.path().join(name.as_ref())
    }

    /// The address of a path that needs no escapes, or has them.
    pub(crate) fn url(&self, path: &str) -> String {
        match self.version {
            "" => format!("nfs://{}/{path}", self.address),
            version => format!("nfs://{}/{path}?version={version}", self.address),
        }
    }

    /// Without an option: as lists name what is below.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PRIMETIME);
        command.args(arguments).current_dir(self.directory.path()).stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// What a command that must succeed writes to standard output; it says nothing else.
    pub(crate) fn bytes(&self, arguments: &[&str]) -> Vec<u8> {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        assert!(output.stderr.is_empty(), "{arguments:?}: {output:?}");
        output.stdout
    }

    pub(crate) fn text(&self, arguments: &[&str]) -> String {
        String::from_utf8(self.bytes(arguments)).unwrap()
    }

    /// The sentences of a command that must fail with an exit code.
    pub(crate) fn refusals(&self, code: i32, arguments: &[&str]) -> Vec<String> {
        let output = self.run(arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        said.lines().map(|line| line.strip_prefix("primetime: ").unwrap_or(line).to_owned()).collect()
    }

    /// The only sentence of it.
    pub(crate) fn refusal(&self, code: i32, arguments: &[&str]) -> String {
        let mut said = self.refusals(code, arguments);
        assert_eq!(said.len(), 1, "{arguments:?}: {said:?}");
        said.remove(0)
    }

    /// How many requests a command takes that must succeed, by `-v`.
    pub(crate) fn requests(&self, arguments: &[&str]) -> u64 {
        let output = self.run(&[arguments, &["-v"]].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{arguments:?}: {said}");
        let cost = said.lines().last().unwrap().strip_prefix("primetime: ").unwrap();
        let requests = cost.split_once(" requests over NFSv").unwrap().0.parse().unwrap();
        let round_trips = cost.split_once(") in ").unwrap().1.split_once(" round trips, ").unwrap().0;
        assert!((1..=requests).contains(&round_trips.parse().unwrap()), "{cost}");
        requests
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // It may be dead already.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

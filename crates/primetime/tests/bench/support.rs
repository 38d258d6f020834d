//! Running the command in a directory of its own.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use bench::results::{Cell, PHASE, Results};
use rustix::process::Pid;
use tempfile::TempDir;

/// A place to run the command in: its temporary files, its results, its experiments.
pub(crate) struct Place {
    directory: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        for name in ["temporary", "export"] {
            fs::create_dir(directory.path().join(name)).unwrap();
        }
        Self { directory }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// An experiment with the sizes given as TOML, in a file; gives its path.
    pub(crate) fn experiment(&self, name: &str, unit: &str, sizes: &str) -> String {
        let path = self.path(&format!("{name}.toml"));
        let head = format!(
            "name = \"{name}\"\nquestion = \"How many?\"\nstudy = \"none\"\n[metric]\nname = \"throughput\"\n\
             unit = \"{unit}\"\nbetter = \"higher\"\n"
        );
        fs::write(&path, format!("{head}{sizes}")).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// `primetime` with `arguments`, with its temporary files in `temporary`.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_primetime"));
        command.args(arguments).env("TMPDIR", self.path("temporary")).current_dir(self.directory.path());
        command
    }

    /// Runs `primetime bench` to its end.
    pub(crate) fn bench(&self, arguments: &[&str]) -> Output {
        self.command(&[&["bench"], arguments].concat()).output().unwrap()
    }

    /// Measures one experiment once over both versions, and 4.1 also without delegations, and gives what it
    /// found.
    pub(crate) fn measure(&self, experiment: &str, more: &[&str]) -> Results {
        let arguments = [
            &[
                "--experiment",
                experiment,
                "--runs",
                "1",
                "--rtt-ms",
                "0",
                "--without-delegations",
                "--out",
                "out",
            ],
            more,
        ];
        let output = self.bench(&arguments.concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Results::load(&self.path("out").join("results.json")).unwrap()
    }

    /// Starts `primetime serve` on `export` and gives it with its address.
    pub(crate) fn serve(&self) -> Server {
        let export = self.path("export");
        self.serve_with(&[export.to_str().unwrap(), "--no-root-squash"])
    }

    /// Starts `primetime serve` with `arguments` and gives it with its address.
    pub(crate) fn serve_with(&self, arguments: &[&str]) -> Server {
        let arguments = [&["serve", "--listen", "127.0.0.1:0", "--forget"], arguments].concat();
        Server::start(self.command(&arguments))
    }
}

/// A server that ends with its test.
pub(crate) struct Server {
    child: Child,
    pub(crate) url: String,
}

impl Server {
    /// Starts it by `command`, and waits until it is ready.
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("ready ").unwrap_or_else(|| panic!("{line}")).to_owned();
        Self { child, url }
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed()).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The cell of a version.
pub(crate) fn cell<'a>(results: &'a Results, version: &str, delegations: bool) -> &'a Cell {
    let wanted = |cell: &&Cell| cell.setting.version == version && cell.setting.delegations == delegations;
    results.cells.iter().find(wanted).unwrap()
}

/// The cell of a phase of a composed workload.
pub(crate) fn phase<'a>(results: &'a Results, name: &str, version: &str, delegations: bool) -> &'a Cell {
    let wanted = |cell: &&Cell| {
        let setting = &cell.setting;
        setting.levels.get(PHASE).is_some_and(|phase| phase == name)
            && (setting.version.as_str(), setting.delegations) == (version, delegations)
    };
    results.cells.iter().find(wanted).unwrap()
}

/// Requests of the cell under any of `names`.
pub(crate) fn requests(cell: &Cell, names: &[&str]) -> u64 {
    names.iter().filter_map(|name| cell.rpcs.get(*name)).sum()
}

pub(crate) fn is_empty(directory: &Path) -> bool {
    fs::read_dir(directory).unwrap().next().is_none()
}

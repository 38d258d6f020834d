//! Every experiment against three servers, in one report, unattended: `cargo bench -p primetime --bench
//! servers -- OUT [options of primetime bench]`. Without options `--all --quick`; the report of all is in
//! OUT, those of each server below it. A machine that is busy with something else may make no link with a
//! delay that is exact enough: then it takes `--all --quick --rtt-ms 0`.
//!
//! primetime and NFS-Ganesha serve fresh directories of one file system, the kernel's server ext4 on a disk
//! of its guest, which is a file of the host. All of a lab is on one core, as a guest must be, so a figure is
//! of the server and the clients together. Needs root and the packages of the tests with guests; what is not
//! installed is left out and said. Nothing is asserted, and it ends with 1 when a server could not be
//! measured.

#![allow(missing_docs, clippy::print_stderr, clippy::unwrap_used)]

#[allow(dead_code, reason = "a part is for the tests")]
#[path = "../../tests/support/foreign/mod.rs"]
mod foreign;
#[path = "../../tests/support/ready.rs"]
mod ready;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode};
use std::time::{Duration, Instant};

use foreign::Place;
use foreign::ganesha::Ganesha;
use foreign::knfsd::{Knfsd, KnfsdOptions};
use netlab::guest::Lab;
use tempfile::TempDir;

/// Every experiment, in its smallest size, once, at 0 and 10 ms.
const DEFAULT: [&str; 2] = ["--all", "--quick"];
/// A server that is still there then has been forgotten.
const TIME_LIMIT: Duration = Duration::from_secs(3 * 3600);
/// Of the kernel's server. It is a file that grows.
const DISK_MB: u32 = 16 << 10;
const PRIMETIME: &str = env!("CARGO_BIN_EXE_primetime");

/// A server that runs, until it is dropped.
enum Server {
    Ours(Ours),
    Knfsd(Knfsd),
    Ganesha(Ganesha),
}

struct Ours {
    child: Child,
    url: String,
    _directory: TempDir,
}

impl Server {
    /// The one called `name`; none where it is not installed.
    fn start(name: &str, lab: &Lab) -> Option<Self> {
        match name {
            "knfsd" => Some(Self::Knfsd(Knfsd::start(lab, TIME_LIMIT, &on_disk()))),
            "ganesha" => Ganesha::start(lab, TIME_LIMIT).map(Self::Ganesha),
            _ => Some(Self::Ours(Ours::start(lab))),
        }
    }

    fn url(&self) -> String {
        match self {
            Self::Ours(ours) => ours.url.clone(),
            Self::Knfsd(knfsd) => url(&knfsd.place()),
            Self::Ganesha(ganesha) => url(&ganesha.place()),
        }
    }
}

/// As the others, of which what is acknowledged lies on a disk.
fn on_disk() -> KnfsdOptions {
    KnfsdOptions { disk_mb: Some(DISK_MB), ..KnfsdOptions::default() }
}

fn url(place: &Place) -> String {
    let Place { host, port, mount_port, path } = place;
    format!("nfs://{host}:{port}{path}?mountport={mount_port}")
}

impl Ours {
    fn start(lab: &Lab) -> Self {
        // Where Ganesha has its own: what is acknowledged must lie on a disk.
        let directory = tempfile::tempdir_in("/var/tmp").unwrap();
        let export = directory.path().join("export");
        std::fs::create_dir(&export).unwrap();
        let mut command = lab.command(PRIMETIME);
        command.arg("serve").arg(export).args(["--no-root-squash", "--listen"]);
        command
            .arg(format!("{}:0", lab.host_address()))
            .arg("--state-dir")
            .arg(directory.path().join("state"));
        let (child, address) = ready::start(&mut command);
        Self { child, url: format!("nfs://{address}/"), _directory: directory }
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        // Both fail only if it has ended before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Measures the server called `name` into `out`; false when it could not be.
fn measure(name: &str, out: &Path, options: &[String]) -> bool {
    let lab = match Lab::new() {
        Ok(lab) => lab,
        Err(reason) => {
            eprintln!("{name}: {reason}");
            return false;
        }
    };
    let Some(server) = Server::start(name, &lab) else { return false };
    let begun = Instant::now();
    eprintln!("{name}: {}", server.url());
    let mut command = lab.command(PRIMETIME);
    command.args(["bench", "--server", &server.url(), "--out"]).arg(out).args(options);
    let ended = command.status();
    eprintln!("{name}: {:.1} minutes", begun.elapsed().as_secs_f64() / 60.0);
    ended.is_ok_and(|ended| ended.success())
}

fn main() -> ExitCode {
    // Cargo tells every benchmark that it is one.
    let mut arguments = std::env::args().skip(1).filter(|word| word != "--bench");
    let Some(out) = arguments.next().filter(|out| !out.starts_with('-')).map(PathBuf::from) else {
        eprintln!(
            "name a directory for the report: cargo bench -p primetime --bench servers -- OUT [options of \
             primetime bench]"
        );
        return ExitCode::from(3);
    };
    let given: Vec<String> = arguments.collect();
    let options = if given.is_empty() { DEFAULT.map(str::to_owned).to_vec() } else { given };
    let mut parts = Vec::new();
    let mut complete = true;
    for name in ["primetime", "knfsd", "ganesha"] {
        let own = out.join(name);
        match measure(name, &own, &options) {
            true => parts.push(format!("{name}={}", own.display())),
            false => complete = false,
        }
    }
    let merged = Command::new(PRIMETIME).args(["bench", "merge"]).arg(&out).args(parts).status();
    let merged = merged.is_ok_and(|ended| ended.success());
    if complete && merged { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

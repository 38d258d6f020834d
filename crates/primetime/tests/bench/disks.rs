//! The work of the disk under the export, on a file system that nothing else uses: ext4 on a loop device.
//! Needs root.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bench::results::{Disk, Results, Run};

use crate::agents::{Agent, place_with_secret};
use crate::support::{Place, cell};

const IO_BYTES: u64 = 4096;
const CREATE: &str =
    "[default]\nclients = 1\n[default.workload.create]\nthreads = 1\nfile_bytes = 0\nfiles = 20\n";
const WRITE: &str = "[default]\nclients = 1\n[default.workload.random-write]\nfile_bytes = \"1 MiB\"\n\
                     io_bytes = \"4 KiB\"\nthreads = 1\nsync = true\nseconds = 0.3\n";

/// An ext4 with a journal, mounted until it is dropped.
struct Ext4(PathBuf);

impl Ext4 {
    /// `None`, with a word on standard error, where it cannot be made or mounted.
    fn mount(image: &Path, at: &Path) -> Option<Self> {
        fs::File::create(image).unwrap().set_len(64 << 20).unwrap();
        let made = Command::new("mkfs.ext4").args(["-q", "-F", "-J", "size=4"]).arg(image).status();
        let mounted = || Command::new("mount").args(["-o", "loop"]).args([image, at]).status();
        if !made.is_ok_and(|ended| ended.success()) || !mounted().is_ok_and(|ended| ended.success()) {
            eprintln!("skipped: only root makes and mounts an ext4 in a file");
            return None;
        }
        Some(Self(at.to_owned()))
    }
}

impl Drop for Ext4 {
    fn drop(&mut self) {
        // A test that failed may still have a file open there.
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

fn disk(run: &Run) -> Disk {
    run.resources.unwrap().disk.unwrap()
}

/// Whether the kernel has statistics of the journals of loop devices.
fn has_journal_statistics() -> bool {
    let entries = fs::read_dir("/proc/fs/jbd2").into_iter().flatten().flatten();
    entries.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with("loop"))
}

#[test]
fn own_server_is_counted_with_the_disk_under_its_export() {
    let place = Place::new();
    let Some(_ext4) = Ext4::mount(&place.path("image"), &place.path("temporary")) else { return };
    let results = place.measure(&place.experiment("write", "op/s", WRITE), &[]);
    for cell in &results.cells {
        let (disk, name) = (disk(&cell.run_details[0]), cell.version_name());
        assert!(disk.is_of_export, "{name}: {disk:?}");
        // Each write is on the disk before the next one begins.
        let bytes = cell.operations * IO_BYTES;
        assert!(cell.operations > 0 && disk.written_bytes >= bytes, "{name}: {disk:?} for {bytes} bytes");
        assert!(disk.writes >= cell.operations, "{name}: {disk:?} for {} operations", cell.operations);
        let waited = cell.resources.unwrap().io_wait.unwrap();
        assert!((0.0..=1.0).contains(&waited), "{name}: {waited}");
    }
    let columns = fs::read_to_string(place.path("out").join("cells.csv")).unwrap();
    let mut lines = columns.lines();
    assert!(lines.next().unwrap().contains(",disk_writes_per_op,disk_bytes_per_op,disk_flushes_per_op,"));
    assert!(lines.all(|line| line.ends_with(",true")), "{columns}");
    let page = fs::read_to_string(place.path("out").join("report.html")).unwrap();
    assert!(page.contains("journal commits"));
}

#[test]
fn journal_commits_of_durable_creates_are_counted() {
    let place = Place::new();
    let Some(_ext4) = Ext4::mount(&place.path("image"), &place.path("temporary")) else { return };
    let counts_journals = has_journal_statistics();
    let results = place.measure(&place.experiment("create-few", "op/s", CREATE), &[]);
    for version in ["3", "4.1"] {
        let cell = cell(&results, version, version != "3");
        let disk = disk(&cell.run_details[0]);
        // One thread waits for each of them.
        assert_eq!(disk.journal_commits.is_some(), counts_journals);
        assert!(disk.journal_commits.is_none_or(|commits| commits >= cell.operations), "{version}: {disk:?}");
    }
}

#[test]
fn agent_finds_the_disk_under_an_export_by_the_directory_of_the_benchmark() {
    let place = place_with_secret();
    let Some(_ext4) = Ext4::mount(&place.path("image"), &place.path("export")) else { return };
    let (server, agent) = (place.serve(), Agent::start(&place));
    let experiment = place.experiment("write", "op/s", WRITE);
    let url = format!("{}?uid=0&gid=0", server.url);
    let asked = ["--server", &url, "--server-host", &agent.address, "--agent-secret-file", "secret"];
    let results: Results = place.measure(&experiment, &asked);
    for run in results.cells.iter().flat_map(|cell| &cell.run_details) {
        let used = run.resources.unwrap();
        let disk = used.server_disk.unwrap();
        assert!(disk.is_of_export && disk.writes >= run.operations, "{disk:?} for {}", run.operations);
        assert_eq!(used.disk, None, "a server that was named may be anywhere");
        assert!(used.server_io_wait.is_some());
    }
}

//! The same work with other clients: through a mount of our own, and in a directory without NFS.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bench::results::{Cell, Results};
use rustix::mount::{UnmountFlags, unmount};
use rustix::process::Pid;

use crate::leftovers::{SCAN, has_ended, measuring};
use crate::support::{Place, cell, is_empty, requests};

const CREATE: &str =
    "[default]\nclients = 2\n[default.workload.create]\nthreads = 3\nfile_bytes = 0\nfiles = 30\n";
const LOCKED: &str = "[default]\nclients = 1\n[default.workload.locked-read]\nfiles = 20\nrounds = 5\n\
                      file_bytes = 4096\nthreads = 2\nreopen = false\n";
const TREE: &str = "[default]\nclients = 1\n[default.workload.source-tree]\ndirectories = 3\nfiles = 9\n\
                    file_bytes = 4096\nway = \"calls\"\n";
const STEPS: &str = "[default]\nclients = 2\n[default.workload.composed]\nthreads = 2\nsets.a = { entries = \
                     20, size = \"3 KiB\", preallocated = 0.8 \
                     }\n[[default.workload.composed.phases]]\nname = \"work\"\n\
                     passes = 3\nloop = [\"create a\", \"write-whole\", \"close\", \"open \
                     a\", \"read-whole\", \"close\", \"stat a\", \"delete a\"]\n";

/// Measures once and gives what was found.
fn measured(place: &Place, more: &[&str]) -> Results {
    let output = place.bench(&[&["--runs", "1", "--out", "out"], more].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("\nClient "), "the client is not named");
    Results::load(&place.path("out").join("results.json")).unwrap()
}

/// True where this machine has FUSE; says why not otherwise.
pub(crate) fn can_mount() -> bool {
    let opened = fs::File::options().read(true).write(true).open("/dev/fuse");
    if let Err(error) = &opened {
        eprintln!("skipped: /dev/fuse cannot be opened: {error}");
    }
    opened.is_ok()
}

fn is_of(cells: &[Cell], client: &str) -> bool {
    cells.iter().all(|cell| cell.setting.client == client)
}

#[test]
fn a_directory_does_all_of_the_work_and_sends_nothing() {
    let place = Place::new();
    let export = place.path("export");
    fs::write(export.join("mine"), "mine").unwrap();
    let client = format!("path={}", export.display());
    for (name, unit, sizes, operations) in [
        ("create-some", "op/s", CREATE, 60),
        ("locked", "op/s", LOCKED, 100),
        ("tree", "op/s", TREE, 12),
        ("steps", "op/s", STEPS, 2 * 3 * 8),
    ] {
        let results =
            measured(&place, &["--experiment", &place.experiment(name, unit, sizes), "--client", &client]);
        assert!(is_of(&results.cells, "path") && results.comparisons.is_empty());
        let first = &results.cells[0];
        assert_eq!((first.setting.version.as_str(), first.rpcs_total), ("local", 0), "{name}");
        assert_eq!(first.operations, operations, "{name}");
        assert_eq!(fs::read_dir(&export).unwrap().count(), 1, "{name} left something");
    }
}

#[test]
fn a_directory_of_its_own_is_gone_at_the_end() {
    let place = Place::new();
    let results =
        measured(&place, &["--experiment", &place.experiment("scan", "MB/s", SCAN), "--client", "path"]);
    assert!(results.cells[0].application_bytes > 0);
    assert!(is_empty(&place.path("temporary")));
}

#[test]
fn a_mount_of_our_own_does_the_same_work_with_the_same_requests() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    let fuse = ["--client", "fuse", "--rtt-ms", "0"];
    let create = place.experiment("create-some", "op/s", CREATE);
    let results = measured(&place, &[&["--experiment", &create], &fuse[..]].concat());
    assert!(is_of(&results.cells, "fuse"));
    assert_eq!(results.cells.iter().map(|cell| cell.operations).collect::<Vec<_>>(), [60, 60]);
    assert_eq!(requests(cell(&results, "3", false), &["CREATE"]), 60);
    assert_eq!(requests(cell(&results, "4.1", true), &["OPEN"]), 60);

    let locked = place.experiment("locked", "op/s", LOCKED);
    let results =
        measured(&place, &[&["--experiment", &locked, "--without-delegations"], &fuse[..]].concat());
    for cell in &results.cells {
        assert_eq!((cell.operations, cell.application_bytes), (100, 100 * 4096), "{}", cell.version_name());
    }
    assert_eq!(requests(cell(&results, "3", false), &["LOCK"]), 100);
    let opens = requests(cell(&results, "4.1", false), &["OPEN"]);
    assert_eq!(opens, 40, "each file is opened, and once more for the owner that flock(2) has");
    assert_eq!(requests(cell(&results, "4.1", false), &["LOCK"]), 100);
    assert!(cell(&results, "4.1", true).rpcs_total <= 60, "with delegations locks are kept here");
    assert!(is_empty(&place.path("temporary")), "something is still mounted");
}

#[test]
fn operations_on_whole_trees_are_left_out_where_there_are_calls_only() {
    let place = Place::new();
    let both = format!("{TREE}[default.factors]\nway = [\"calls\", \"batch\"]\n");
    let results =
        measured(&place, &["--experiment", &place.experiment("tree", "op/s", &both), "--client", "path"]);
    assert_eq!(results.cells.len(), 3, "extract, find and remove, by calls");
    assert!(
        results.environment.doubts.iter().any(|doubt| doubt.contains("whole trees were left out of tree"))
    );
}

#[test]
fn results_of_several_clients_are_one_report() {
    let place = Place::new();
    let create = place.experiment("create-some", "op/s", CREATE);
    let mut words = vec!["merge".to_owned(), "all".to_owned()];
    for client in ["builtin", "path"] {
        let rtt = if client == "path" { &[][..] } else { &["--rtt-ms", "0"] };
        measured(&place, &[&["--experiment", &create, "--client", client], rtt].concat());
        fs::rename(place.path("out"), place.path(client)).unwrap();
        words.push(format!("{client}={client}"));
    }
    let output = place.bench(&words.iter().map(String::as_str).collect::<Vec<_>>());
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("Client builtin: ") && said.contains("Client path: "), "{said}");
    let results = Results::load(&place.path("all").join("results.json")).unwrap();
    let names: Vec<String> = results.cells.iter().map(Cell::version_name).collect();
    assert_eq!(names, ["v3 · builtin", "v4.1 · builtin", "local · path"]);
    assert!(place.path("all").join("report.html").is_file());
    let output = place.bench(&["merge", "all", "a=builtin", "a=path"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("`a` does not tell"));
}

fn until(what: &str, mut happens: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !happens() {
        assert!(Instant::now() < deadline, "in vain: until {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What a killed benchmark has mounted below a directory. Where the test fails it is taken off: nobody
/// answers for it, and whoever removed the directory would wait for good.
struct Left(PathBuf);

impl Left {
    fn mounted(&self) -> Vec<PathBuf> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let points = mounts.lines().filter_map(|line| line.split(' ').nth(4)).map(PathBuf::from);
        points.filter(|point| point.starts_with(&self.0)).collect()
    }
}

impl Drop for Left {
    fn drop(&mut self) {
        for point in self.mounted() {
            let _ = unmount(&point, UnmountFlags::FORCE | UnmountFlags::DETACH);
        }
    }
}

#[test]
fn mounts_of_a_killed_benchmark_are_taken_off_by_the_next() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    let server = place.serve();
    let fuse = ["--client", "fuse", "--server", &server.url];
    let left = Left(place.path("temporary"));
    let (mut child, _lines) = measuring(&place, "killed", &fuse);
    let mounted = || left.mounted().len();
    until("it has mounted", || mounted() == 2);
    child.kill().unwrap();
    // Not waited for: it cannot end before its mounts are taken off, as its own threads wait in them.
    let pid = Pid::from_raw(child.id().cast_signed()).unwrap();
    until("it is being ended", || has_ended(pid));
    assert_eq!(mounted(), 2, "one for each client");
    let scan = place.experiment("scan", "MB/s", SCAN);
    measured(&place, &[&["--experiment", &scan, "--rtt-ms", "0"], &fuse[..]].concat());
    assert_eq!(mounted(), 0);
    until("a killed benchmark ends", || child.try_wait().unwrap().is_some());
    assert!(is_empty(&place.path("temporary")) && is_empty(&place.path("export")));
}

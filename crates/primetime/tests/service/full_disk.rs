//! Export and state directory on one file system that fills up and is freed again.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use proto::nfs3::{
    CreateArgs, CreateHow, DirOpArgs, FileHandle, RemoveArgs, Reply, SetAttributes, StableHow, Status,
    WriteArgs,
};
use proto::nfs4;
use xdr::Bytes;

use crate::ctl::rows;
use crate::metrics::scrape;
use crate::peer::{Line, Session};
use crate::process::{Place, Process};

/// Longer than the longest pause between two tries of the server.
const BOUND: Duration = Duration::from_secs(30);

/// A file system of its own, until it is dropped.
struct Mounted<'a>(&'a Path);

impl<'a> Mounted<'a> {
    fn new(at: &'a Path, arguments: &[&str]) -> Option<Self> {
        fs::create_dir(at).unwrap();
        let mounted = Command::new("mount").args(arguments).arg(at).status();
        if mounted.is_ok_and(|ended| ended.success()) {
            return Some(Self(at));
        }
        eprintln!("skipped: file systems are mounted by root only");
        None
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        // A test that failed may still have a file open there.
        let _ = Command::new("umount").arg("--lazy").arg(self.0).status();
    }
}

/// A server whose export and state share a file system.
struct Shared<'a> {
    place: &'a Place,
    process: Process,
    line: Line,
}

impl<'a> Shared<'a> {
    fn start(place: &'a Place) -> Self {
        fs::create_dir_all(place.path("shared/export")).unwrap();
        let arguments = ["shared/export", "--listen", "127.0.0.1:0", "--no-root-squash"];
        let more = ["--state-dir", "shared/state", "--metrics", "127.0.0.1:0"];
        let process = Process::start(&mut place.command_alone(&[&arguments[..], &more].concat()));
        let line = Line::new(process.address);
        Self { place, process, line }
    }

    /// Kills the server and starts another.
    fn restart(self) -> Self {
        let place = self.place;
        drop(self);
        Self::start(place)
    }

    fn state(&self, name: &str) -> PathBuf {
        self.place.path("shared/state").join(name)
    }

    fn status(&self) -> serde_json::Value {
        rows(&self.state("control.sock"), &["status"]).remove(0)
    }

    fn filler(&mut self) -> DirOpArgs {
        DirOpArgs { dir: self.line.mount("/"), name: "filler".into() }
    }

    /// Writes until the file system is full.
    fn fill(&mut self) {
        let how = CreateHow::Unchecked(SetAttributes::default());
        let create = CreateArgs { place: self.filler(), how };
        let Reply::Ok(created) = self.line.nfs3(&create) else { panic!("CREATE fails") };
        let file = created.object.unwrap();
        let mut offset = 0;
        for piece in [64 << 10, 4096] {
            while self.write(&file, offset, piece) {
                offset += piece as u64;
                assert!(offset < 1 << 30);
            }
        }
    }

    fn write(&mut self, file: &FileHandle, offset: u64, piece: usize) -> bool {
        let (file, count, data) = (*file, piece as u32, Bytes::from(vec![7; piece]));
        match self.line.nfs3(&WriteArgs { file, offset, count, stable: StableHow::FileSync, data }) {
            Reply::Ok(written) => written.count == count,
            Reply::Err(Status::NoSpace, _) => false,
            Reply::Err(status, _) => panic!("WRITE: {status}"),
        }
    }

    fn free(&mut self) {
        let object = self.filler();
        assert!(matches!(self.line.nfs3(&RemoveArgs { object }), Reply::Ok(_)));
    }

    /// A client that is new to the server opens a file that is there.
    fn open_as(&mut self, client: &str) -> (Session, nfs4::Status) {
        let mut session = self.line.session(client);
        let opened = session.try_open(&mut self.line, "file", "opener");
        (session, opened.map_or_else(|status| status, |_| nfs4::Status::Ok))
    }
}

#[test]
fn new_clients_open_files_on_a_full_disk_within_the_reserve() {
    let place = Place::new();
    let (shared, image) = (place.path("shared"), place.path("image"));
    fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
    let made = Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&image).status();
    if !made.is_ok_and(|ended| ended.success()) {
        eprintln!("skipped: there is no mkfs.ext4 here");
        return;
    }
    let Some(_mounted) = Mounted::new(&shared, &["-o", "loop", image.to_str().unwrap()]) else { return };
    let mut server = Shared::start(&place);
    assert_eq!(server.open_as("first").1, nfs4::Status::Ok);
    server.fill();
    for client in 0..50 {
        assert_eq!(server.open_as(&format!("client {client}")).1, nfs4::Status::Ok);
    }
    assert!(server.status()["records_fault"].is_null());
    let server = server.restart();
    assert_eq!(server.status()["grace_clients"], 51, "a server starts on a full disk");
}

#[test]
fn a_disk_without_room_for_records_recovers_without_a_restart() {
    let place = Place::new();
    let shared = place.path("shared");
    let Some(_mounted) = Mounted::new(&shared, &["-t", "tmpfs", "-o", "size=32m", "tmpfs"]) else { return };
    let mut server = Shared::start(&place);
    let (mut old, opened) = server.open_as("old");
    assert_eq!(opened, nfs4::Status::Ok);
    // Cuts off what is reserved beyond the end: the server notices when it needs it.
    let records = OpenOptions::new().write(true).open(server.state("clients.redb")).unwrap();
    records.set_len(records.metadata().unwrap().len()).unwrap();
    server.fill();
    let mut recorded = 1;
    loop {
        let (_, opened) = server.open_as(&format!("{recorded:01000}"));
        if opened != nfs4::Status::Ok {
            assert_eq!(opened, nfs4::Status::Delay);
            break;
        }
        recorded += 1;
        assert!(recorded < 4000, "the reserve is never used up");
    }
    let fault = server.status()["records_fault"].to_string();
    assert!(fault.contains("free space on the file system of the state directory"), "{fault}");
    let metrics = server.process.metrics.unwrap();
    assert_eq!(scrape(metrics)["primetime_records_writable"], 0.0);
    let opened = old.try_open(&mut server.line, "file", "another");
    assert!(opened.is_ok(), "a client that is recorded is given more: {opened:?}");
    server.free();
    let deadline = Instant::now() + BOUND;
    for attempt in 0.. {
        if server.open_as(&format!("new {attempt}")).1 == nfs4::Status::Ok {
            break;
        }
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(server.status()["records_fault"].is_null());
    let values = scrape(metrics);
    let names = ["primetime_records_writable", "primetime_records_failures_total"];
    assert_eq!(names.map(|name| values[name]), [1.0, 1.0]);
    let server = server.restart();
    assert_eq!(server.status()["grace_clients"], recorded + 1);
}

#[test]
fn a_state_directory_that_was_removed_is_made_again() {
    let place = Place::new();
    let mut server = Shared::start(&place);
    assert_eq!(server.open_as("first").1, nfs4::Status::Ok);
    let kept = ["handle.key", "server-identity", "export-ids"];
    let before = kept.map(|name| fs::read(server.state(name)).unwrap());
    fs::remove_dir_all(place.path("shared/state")).unwrap();
    assert_eq!(server.open_as("second").1, nfs4::Status::Ok);
    assert_eq!(kept.map(|name| fs::read(server.state(name)).unwrap()), before);
    let deadline = Instant::now() + BOUND;
    while !server.state("control.sock").exists() {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(server.status()["records_fault"].is_null());
    let server = server.restart();
    assert_eq!(server.status()["grace_clients"], 2);
}

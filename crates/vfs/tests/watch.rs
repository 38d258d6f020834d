//! What other processes do in an exported directory is told, what comes through the file system is not, and
//! what is watched costs nothing once nobody wants it.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it tests real files")]
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails, or says why it does not begin"
)]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use bytes::Bytes;
use pollster::block_on;
use vfs::local::{Durability, HandleMode, Local, LocalOptions, Node};
use vfs::{
    CreateMode, Error, FileSystem, Identity, Name, ObjectId, ObservedChange, RemoveKind, Request,
    SetAttributes, Stability, Tell, Watch,
};

/// Longer than anything takes here.
const LONG: Duration = Duration::from_secs(20);

struct Lab {
    directory: tempfile::TempDir,
    local: Local,
    tell: Tell,
    told: Receiver<(ObjectId, ObservedChange)>,
}

impl Lab {
    /// `None` where the kernel tells nothing.
    fn new(handles: HandleMode, watches_max: usize) -> Option<Self> {
        let directory = tempfile::tempdir().expect("a temporary directory");
        fs::write(directory.path().join("f"), "before").expect("a file");
        fs::write(directory.path().join("sentinel"), "").expect("a file");
        fs::create_dir(directory.path().join("d")).expect("a directory");
        let options = LocalOptions {
            durability: Durability::Async,
            handles,
            watches_max,
            descriptors_max: Some(1),
            ..LocalOptions::default()
        };
        let local = Local::open(directory.path(), &options).expect("opens the export");
        if let Some(why) = local.unwatched() {
            println!("not tested: {why}");
            return None;
        }
        let (sender, told) = channel();
        let tell: Tell = Arc::new(move |object, seen| sender.send((object, seen)).unwrap_or_default());
        Some(Self { directory, local, tell, told })
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn node(&self, name: &str) -> Node {
        let name = Name::new(name.as_bytes()).expect("tests use valid names");
        block_on(self.local.lookup(Request::new(&me()), &self.local.root(), name)).expect("exists").0
    }

    fn watch(&self, name: &str, least: ObservedChange) -> Watch {
        self.local.watch(&self.node(name), least, &self.tell).expect("is watched").expect("the kernel tells")
    }

    /// Another process does this in the directory.
    fn shell(&self, command: &str) {
        let done = Command::new("sh")
            .args(["-c", command])
            .stdout(Stdio::null())
            .current_dir(self.path())
            .status()
            .unwrap();
        assert!(done.success(), "{command}");
    }

    fn next(&self) -> (ObjectId, ObservedChange) {
        self.told.recv_timeout(LONG).expect("told")
    }

    /// Everything that is told until the sentinel is touched.
    fn until_sentinel(&self) -> Vec<(ObjectId, ObservedChange)> {
        let sentinel = self.local.object_id(&self.node("sentinel"));
        let watch = self.watch("sentinel", ObservedChange::Changed);
        // One event, where writing would be two.
        self.shell("chmod 600 sentinel");
        let mut told = Vec::new();
        loop {
            match self.next() {
                (object, _) if object == sentinel => break,
                other => told.push(other),
            }
        }
        drop(watch);
        told
    }
}

fn me() -> Identity {
    Identity::root()
}

fn both() -> Vec<HandleMode> {
    vec![HandleMode::Auto, HandleMode::Index]
}

/// Marks that the process has, on the inodes with these numbers.
fn marks_on(inodes: &[u64]) -> usize {
    let infos = fs::read_dir("/proc/self/fdinfo").expect("descriptors").filter_map(Result::ok);
    let text: String = infos.filter_map(|info| fs::read_to_string(info.path()).ok()).collect();
    let number = |line: &str| {
        let rest = line.strip_prefix("fanotify ino:")?;
        u64::from_str_radix(rest.split_whitespace().next()?, 16).ok()
    };
    text.lines().filter_map(number).filter(|number| inodes.contains(number)).count()
}

#[test]
fn every_change_of_a_file_by_another_process_is_told() {
    for handles in both() {
        let Some(lab) = Lab::new(handles, 16) else { return };
        let file = lab.local.object_id(&lab.node("f"));
        let _watch = lab.watch("f", ObservedChange::Changed);
        let changes =
            ["echo more >> f", ": > f", "chmod 600 f", "touch f", "ln f g", "mv g h", "mv f f2", "rm f2"];
        for change in changes {
            lab.shell(change);
            assert_eq!(lab.next(), (file, ObservedChange::Changed), "{change}");
            // One change may be told more than once.
            let more = lab.until_sentinel();
            assert!(more.iter().all(|told| *told == (file, ObservedChange::Changed)), "{change}");
        }
    }
}

#[test]
fn reading_is_told_to_who_wants_to_know_and_to_nobody_else() {
    let Some(lab) = Lab::new(HandleMode::Auto, 16) else { return };
    let file = lab.local.object_id(&lab.node("f"));
    let changes = lab.watch("f", ObservedChange::Changed);
    lab.shell("cat f; ls -l; stat f");
    assert_eq!(lab.until_sentinel(), []);
    let uses = lab.watch("f", ObservedChange::Used);
    lab.shell("cat f");
    assert_eq!(lab.next(), (file, ObservedChange::Used));
    lab.until_sentinel();
    drop(uses);
    lab.shell("cat f");
    assert_eq!(lab.until_sentinel(), [], "the other one wants changes only");
    drop(changes);
}

#[test]
fn every_change_of_a_directory_by_another_process_is_told() {
    let Some(lab) = Lab::new(HandleMode::Auto, 16) else { return };
    let directory = lab.local.object_id(&lab.node("d"));
    let _watch = lab.watch("d", ObservedChange::Changed);
    for change in
        ["touch d/a", "mkdir d/b", "mv d/a d/c", "mv d/c .", "mv c d/c", "rm d/c", "rmdir d/b", "chmod 700 d"]
    {
        lab.shell(change);
        assert_eq!(lab.next(), (directory, ObservedChange::Changed), "{change}");
        lab.until_sentinel();
    }
    lab.shell("touch d/e");
    lab.until_sentinel();
    lab.shell("echo more >> d/e; ls d");
    assert_eq!(lab.until_sentinel(), [], "its entries are the same");
}

#[test]
fn own_changes_are_not_reported_to_watches() {
    for handles in both() {
        let Some(lab) = Lab::new(handles, 16) else { return };
        let (fs, file, directory) = (&lab.local, lab.node("f"), lab.node("d"));
        let _watches = [lab.watch("f", ObservedChange::Used), lab.watch("d", ObservedChange::Changed)];
        block_on(async {
            let name = Name::new(b"n").unwrap();
            let (who, mode) = (me(), CreateMode::Guarded(SetAttributes::default()));
            fs.create(Request::new(&who), &directory, name, &mode).await.unwrap();
            fs.remove(Request::new(&who), &directory, name, RemoveKind::Any).await.unwrap();
            fs.write(Request::new(&who), &file, 0, Bytes::from_static(b"ours"), Stability::FileSync)
                .await
                .unwrap();
            fs.read(Request::new(&who), &file, 0, 4, &mut Vec::new()).await.unwrap();
            let cut = SetAttributes { size: Some(1), mode: Some(0o600), ..SetAttributes::default() };
            fs.set_attributes(Request::new(&who), &file, &cut).await.unwrap();
            fs.link(Request::new(&who), &file, &directory, name).await.unwrap();
        });
        assert_eq!(lab.until_sentinel(), []);
    }
}

#[test]
fn marks_are_removed_when_unused_and_stay_while_in_use() {
    for handles in both() {
        let Some(lab) = Lab::new(handles, 4) else { return };
        let names = ["f", "d", "a", "b"];
        lab.shell("touch a b");
        let inode = |name: &&str| lab.local.object_id(&lab.node(name)).fileid;
        let inodes: Vec<u64> = names.iter().map(inode).collect();
        let held = lab.watch("f", ObservedChange::Changed);
        let watches: Vec<Watch> = names.iter().map(|name| lab.watch(name, ObservedChange::Changed)).collect();
        assert_eq!(marks_on(&inodes), 4);
        let refused = lab.local.watch(&lab.node("sentinel"), ObservedChange::Changed, &lab.tell);
        assert!(matches!(refused, Err(Error::NoSpace)), "the bound");
        drop(watches);
        let begun = Instant::now();
        while marks_on(&inodes) > 1 {
            assert!(begun.elapsed() < LONG, "{} marks are left", marks_on(&inodes));
            std::thread::yield_now();
        }
        lab.shell("echo more >> f");
        assert_eq!(lab.next().0.fileid, inodes[0], "it is still wanted");
        drop(held);
        drop(lab);
        let begun = Instant::now();
        while marks_on(&inodes) > 0 {
            assert!(begun.elapsed() < LONG, "the group is left");
            std::thread::yield_now();
        }
    }
}

#[test]
fn file_without_a_watch_reports_nothing() {
    let Some(lab) = Lab::new(HandleMode::Auto, 0) else { panic!("nothing was asked for") };
    assert!(lab.local.watch(&lab.node("f"), ObservedChange::Used, &lab.tell).unwrap().is_none());
}

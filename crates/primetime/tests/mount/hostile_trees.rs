//! A mount of a hostile server: directories in themselves, trees and lists without end.

use std::fs::{self, File};
use std::io;
use std::mem::MaybeUninit;
use std::process::Command;
use std::sync::Arc;

use proto::nfs3::{LookupArgs, LookupFail, Procedure, ReadDirPlusFail, Status};
use rustix::fs::{Mode, OFlags, RawDir, SeekFrom, openat, seek};
use rustix::io::Errno;
use tokio::runtime::Runtime;

use crate::mounted::{Mounted, can_mount};
use crate::peer::{Listed, Peer, Tree};

const VERSIONS: [&str; 3] = ["3", "4.1", "4.2"];
/// The most memory of a mount of a small tree, in KiB.
const MEMORY_KIB: u64 = 256 << 10;

/// A scripted server, mounted.
struct Hostile {
    mounted: Mounted,
    peer: Arc<Peer>,
    // Serves until it is dropped.
    _runtime: Runtime,
}

impl Hostile {
    fn new(version: &str, tree: Tree) -> Self {
        let runtime = Runtime::new().unwrap();
        let (peer, url) = runtime.block_on(Peer::listen(7));
        peer.state.lock().tree = Some(tree);
        let mounted = Mounted::start(&url.to_string(), &format!("vers={version}"));
        Self { mounted, peer, _runtime: runtime }
    }

    /// Walks the whole mount and returns what find(1) says; it must say something.
    fn find(&self) -> String {
        let output = Command::new("find").arg(self.mounted.root()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    }

    fn lists(&self) -> usize {
        self.peer.state.lock().tree.as_ref().unwrap().lists
    }

    /// The memory of the mount stayed below a bound.
    fn end(self) {
        let status = fs::read_to_string(format!("/proc/{}/status", self.mounted.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let kib: u64 = line.trim().strip_suffix(" kB").unwrap().parse().unwrap();
        assert!(kib < MEMORY_KIB, "{kib} KiB");
        assert!(self.mounted.unmount());
    }
}

fn listed(name: impl Into<String>, handle: impl Into<String>, cookie: u64) -> Listed {
    (name.into(), handle.into(), cookie)
}

fn errno(result: io::Result<impl Sized>) -> Option<Errno> {
    result.err().and_then(|error| Errno::from_io_error(&error))
}

#[test]
fn directory_in_itself_is_not_entered() {
    if !can_mount() {
        return;
    }
    for version in VERSIONS {
        let next = |dir: &[u8], _| match dir {
            b"root" => (vec![listed("root", "root", 1), listed("da", "da", 2), listed("f", "f", 3)], true),
            b"da" => (vec![listed("da", "da", 1), listed("db", "db", 2)], true),
            _ => (vec![listed("da", "da", 1), listed("root", "root", 2)], true),
        };
        let hostile = Hostile::new(version, Tree::new(next));
        let root = hostile.mounted.root();
        hostile.find();
        for path in ["root", "da/da", "da/db/da", "da/db/root"] {
            let found = errno(fs::metadata(root.join(path)));
            assert_eq!(found, Some(Errno::LOOP), "{version}: {path}");
        }
        assert!(fs::metadata(root.join("f")).unwrap().is_file());
        assert!(fs::metadata(root.join("da/db")).unwrap().is_dir());
        hostile.end();
    }
}

/// The handle of the directory in the directory of a handle.
fn below(dir: &[u8]) -> String {
    let depth = std::str::from_utf8(&dir[1..]).unwrap().parse::<u64>().unwrap_or(0);
    format!("d{}", depth + 1)
}

#[test]
fn tree_without_a_ground_ends_at_4096_directories() {
    if !can_mount() {
        return;
    }
    for version in VERSIONS {
        let mut tree = Tree::new(|dir: &[u8], _| (vec![listed("d", below(dir), 1)], true));
        tree.look_up = Some(Box::new(|dir, _| below(dir)));
        let hostile = Hostile::new(version, tree);
        let mut directory = File::open(hostile.mounted.root()).unwrap();
        let mut depth = 0;
        let end = loop {
            match openat(&directory, "d", OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()) {
                Ok(below) => directory = below.into(),
                Err(error) => break error,
            }
            depth += 1;
            assert!(depth <= 4096);
        };
        assert_eq!((depth, end), (4096, Errno::NAMETOOLONG), "{version}");
        drop(directory);
        if version == VERSIONS[0] {
            let said = hostile.find();
            assert!(said.contains("File name too long"), "{said}");
        }
        hostile.end();
    }
}

#[test]
fn lists_without_end_are_errors() {
    if !can_mount() {
        return;
    }
    let trees = || {
        let repeated = |_: &[u8], cookie: u64| (vec![listed(format!("f{cookie}"), "f", 7)], false);
        let circle = |_: &[u8], cookie: u64| (vec![listed("f", "f", 1 + (cookie + 1) % 3)], false);
        let beginning = |_: &[u8], _| (vec![listed("f", "f", 0)], false);
        let empty = |_: &[u8], _| (Vec::new(), false);
        [Tree::new(repeated), Tree::new(circle), Tree::new(beginning), Tree::new(empty)]
    };
    for version in VERSIONS {
        for tree in trees() {
            let hostile = Hostile::new(version, tree);
            let error = fs::read_dir(hostile.mounted.root()).unwrap().find_map(Result::err).unwrap();
            assert_eq!(error.raw_os_error(), Some(Errno::IO.raw_os_error()), "{version}");
            assert!(hostile.lists() < 16);
            hostile.find();
            hostile.end();
        }
    }
}

/// The names from the present place of a directory on, with the places behind them.
fn names(directory: &File) -> Vec<(String, u64)> {
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut entries = RawDir::new(directory, &mut buffer);
    let mut names = Vec::new();
    while let Some(entry) = entries.next() {
        let entry = entry.unwrap();
        let name = entry.file_name().to_str().unwrap().to_owned();
        names.push((name, entry.next_entry_cookie()));
    }
    names
}

#[test]
fn seek_into_a_part_that_has_become_shorter_goes_on_at_the_next() {
    if !can_mount() {
        return;
    }
    for version in VERSIONS {
        let mut begun = 0;
        let next = move |_: &[u8], cookie: u64| {
            let entries = |range: std::ops::RangeInclusive<u64>| {
                range.map(|number| listed(format!("f{number}"), "f", number)).collect()
            };
            match cookie {
                0 => {
                    begun += 1;
                    (entries(if begun == 1 { 1..=100 } else { 1..=3 }), false)
                }
                cookie => (entries(cookie + 1..=cookie + 100), true),
            }
        };
        let hostile = Hostile::new(version, Tree::new(next));
        let directory = File::open(hostile.mounted.root()).unwrap();
        let before = names(&directory);
        assert_eq!(before.len(), 202, "{version}: with `.` and `..`");
        let (name, place) = &before[51];
        assert_eq!(name, "f50");
        seek(&directory, SeekFrom::Start(*place)).unwrap();
        let after = names(&directory);
        assert_eq!(after, before[102..], "{version}");
        // An open directory keeps the mount.
        drop(directory);
        hostile.end();
    }
}

#[test]
fn entries_without_attributes_are_listed_with_their_types() {
    if !can_mount() {
        return;
    }
    let list = |dir: &[u8], _| match dir {
        b"root" => (
            ["da", "f", "l", "gone"].iter().zip(1..).map(|(name, at)| listed(*name, *name, at)).collect(),
            true,
        ),
        _ => (vec![listed("f", "f", 1)], true),
    };
    let hostile = Hostile::new("3", Tree::new(list));
    hostile.peer.state.lock().answer3 = Some(Box::new(|procedure, from, to| match procedure {
        Procedure::ReadDirPlus => {
            to.put(&Status::NotSupported);
            to.put(&ReadDirPlusFail::default());
            true
        }
        Procedure::Lookup => {
            let args: LookupArgs = from.get().unwrap();
            let is_gone = args.what.name == "gone";
            if is_gone {
                to.put(&Status::NoEntry);
                to.put(&LookupFail::default());
            }
            is_gone
        }
        _ => false,
    }));
    // The second time the kernel asks for names and attributes together.
    for _ in 0..2 {
        let mut kinds: Vec<_> = fs::read_dir(hostile.mounted.root())
            .unwrap()
            .map(Result::unwrap)
            .filter(|entry| entry.file_name() != "gone")
            .map(|entry| (entry.file_name().into_string().unwrap(), entry.file_type().unwrap()))
            .map(|(name, kind)| (name, kind.is_dir(), kind.is_symlink()))
            .collect();
        kinds.sort();
        let expected = [("da", true, false), ("f", false, false), ("l", false, true)];
        assert_eq!(kinds, expected.map(|(name, dir, link)| (name.to_owned(), dir, link)));
        assert!(fs::metadata(hostile.mounted.root().join("da/f")).unwrap().is_file());
    }
    assert!(fs::symlink_metadata(hostile.mounted.root().join("gone")).is_err());
    hostile.end();
}

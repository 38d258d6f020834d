//! `primetime mount` of a server of others: the same calls as on a local directory, and two mounts that see
//! each other.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use client::Version;
use rustix::fs::{XattrFlags, fallocate, setxattr, statvfs};
use rustix::io::Errno;
use tempfile::TempDir;

use crate::Foreign;
use crate::compared::{flocks, names, pattern, processes, random_calls, sparse, xattrs};
use crate::mounted::Mounted;
use crate::steps::Orders;
use crate::walk::Walk;

/// Of what there is, what calls of two names are tried with.
const PAIRED: [&str; 5] = ["second", "full", "dangling", "missing", "full/file"];
const RANDOM_CALLS: usize = 300;
/// Of each thread.
const RANDOM_STEPS: usize = 100;
/// More than a server gives in one READDIR, and the kernel asks for at a time.
const ENTRIES: usize = 2000;
const ROUNDS: usize = 10;
/// How long the kernel may take to let go of a file that was closed.
const RELEASE_LIMIT: Duration = Duration::from_secs(60);

/// What waits for a server that has died does not wait for ever.
fn mount(server: Foreign, version: Version) -> Mounted {
    Mounted::start(&server.place.url("", version), "soft")
}

/// Two mounts of one export, and a local directory.
struct Sides {
    one: Mounted,
    two: Mounted,
    local: TempDir,
    /// Of the version.
    top: String,
}

/// A directory on each of them, the same on both mounts.
struct Room {
    one: PathBuf,
    two: PathBuf,
    local: PathBuf,
}

impl Sides {
    fn room(&self, name: &str) -> Room {
        let at = |root: &Path| root.join(&self.top).join(name);
        let room = Room { one: at(self.one.root()), two: at(self.two.root()), local: at(self.local.path()) };
        fs::create_dir_all(&room.one).unwrap();
        fs::create_dir_all(&room.local).unwrap();
        room
    }
}

impl Room {
    /// What another mount sees of a name.
    fn two(&self, name: &str) -> PathBuf {
        self.two.join(name)
    }

    fn one(&self, name: &str) -> PathBuf {
        self.one.join(name)
    }
}

pub(crate) fn are_as_a_local_directory(server: Foreign, version: Version) {
    let sides = Sides {
        one: mount(server, version),
        two: mount(server, version),
        local: tempfile::tempdir().unwrap(),
        top: format!("mounted-{version}"),
    };
    calls(&sides);
    holes_and_copies(&sides.room("sparse"), version);
    extended_attributes(&sides.room("xattrs"), server.xattrs && version == Version::V4_2);
    two_processes(&sides.room("processes"));
    two_mounts(&sides.room("mounts"));
    random_steps(&sides, version);
    let space = statvfs(sides.one.root()).unwrap();
    assert!(space.f_blocks >= space.f_bfree && space.f_bfree > 0 && space.f_namemax == 255);
    nothing_is_left_of_removed_files(&sides.two.root().join(&sides.top));
    assert!(sides.one.unmount() && sides.two.unmount(), "not everything arrived");
}

fn calls(sides: &Sides) {
    let room = sides.room("calls");
    let (count, differences) = names::differences(&room.one, &room.local, &PAIRED);
    assert_eq!(differences, "", "of {count} calls");
    let room = sides.room("random calls");
    random_calls::end_alike(&room.one, &room.local, RANDOM_CALLS);
}

fn holes_and_copies(room: &Room, version: Version) {
    if version == Version::V4_2 {
        assert_eq!(sparse::told(&room.one), sparse::told(&room.local));
        return;
    }
    let content = pattern(8 * sparse::BLOCK as usize);
    fs::write(room.one("file"), &content).unwrap();
    let file = sparse::open(&room.one("file"));
    assert_eq!(fallocate(&file, sparse::PUNCH, 0, sparse::BLOCK), Err(Errno::OPNOTSUPP));
    let copied = sparse::copies(&room.one, &file, &content);
    assert!(copied.iter().all(|(outcome, same)| outcome.is_ok() && *same), "{copied:?}");
}

fn extended_attributes(room: &Room, there: bool) {
    for side in [&room.one, &room.local] {
        File::create(side.join("file")).unwrap();
        fs::create_dir(side.join("directory")).unwrap();
    }
    for name in ["file", "directory"] {
        let told = xattrs::told(&room.one(name));
        if there {
            assert_eq!(told, xattrs::told(&room.local.join(name)), "of a {name}");
            setxattr(room.one(name), "user.there", b"value", XattrFlags::empty()).unwrap();
            assert_eq!(xattrs::get(&room.two(name), "user.there").unwrap(), b"value");
        } else {
            assert_eq!(xattrs::get(&room.one(name), "user.one"), Err(Errno::OPNOTSUPP));
            assert_eq!(xattrs::names(&room.one(name)), Ok(Vec::new()), "programs that copy files go on");
        }
    }
}

fn two_processes(room: &Room) {
    processes::share_memory(&room.one("memory"), &room.two("memory"));
    processes::lock_each_other_out(&room.one("locks"), &room.one("locks"));
    flocks::exclude_each_other(&room.one("flock"), &room.one("flock"));
    processes::append(&room.one("log"), &room.one("log"), &room.two("log"), false);
}

fn two_mounts(room: &Room) {
    for round in 0..ROUNDS {
        let text = format!("round {round}");
        let (writer, reader) = if round % 2 == 0 { (&room.one, &room.two) } else { (&room.two, &room.one) };
        fs::write(writer.join("file"), &text).unwrap();
        assert_eq!(fs::read_to_string(reader.join("file")).unwrap(), text);
        assert_eq!(fs::metadata(reader.join("file")).unwrap().len(), 7);
    }
    flocks::exclude_each_other(&room.one("flock"), &room.two("flock"));
    flocks::show_what_was_written(&room.one("written"), &room.two("written"));
    processes::lock_each_other_out(&room.one("locks"), &room.two("locks"));
    processes::append(&room.one("log"), &room.two("log"), &room.one("log"), true);
}

/// What one mount has written the other finds whenever it was closed or synchronised. `PRIMETIME_SEEDS=50`
/// takes more of them.
fn random_steps(sides: &Sides, version: Version) {
    let number = |name| std::env::var(name).ok().and_then(|text: String| text.parse().ok());
    let first: u64 = number("PRIMETIME_FIRST_SEED").unwrap_or(1);
    for seed in first..first + number("PRIMETIME_SEEDS").unwrap_or(1) {
        let room = sides.room(&format!("steps {seed}"));
        let sparse = version == Version::V4_2;
        let orders = Orders { mount: room.one, export: room.two, seed, steps: RANDOM_STEPS, sparse };
        let mut walk = Walk::start(&orders);
        walk.until(&sides.one, RANDOM_STEPS - 1);
        walk.end(&sides.one);
    }
}

/// The names that stood for open files have gone with the last close, for which the kernel waits not.
pub(crate) fn nothing_is_left_of_removed_files(top: &Path) {
    let begun = Instant::now();
    let mut hidden = all_hidden(top);
    while let [left, ..] = &hidden[..] {
        assert!(begun.elapsed() < RELEASE_LIMIT, "{} is left", left.display());
        std::thread::sleep(Duration::from_millis(20));
        hidden = all_hidden(top);
    }
}

fn all_hidden(directory: &Path) -> Vec<PathBuf> {
    let mut hidden = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            hidden.extend(all_hidden(&entry.path()));
        } else if entry.file_name().as_encoded_bytes().starts_with(b".nfs") {
            hidden.push(entry.path());
        }
    }
    hidden
}

pub(crate) fn list_large_directories(server: Foreign) {
    let [first, second, third] = Version::ALL.map(|version| mount(server, version));
    let large = |mounted: &Mounted| mounted.root().join("large");
    fs::create_dir(large(&first)).unwrap();
    let expected: BTreeSet<String> = (0..ENTRIES).map(|number| format!("entry {number}")).collect();
    for name in &expected {
        File::create(large(&first).join(name)).unwrap();
    }
    for mounted in [first, second, third] {
        let mut seen = BTreeSet::new();
        for entry in fs::read_dir(large(&mounted)).unwrap() {
            let entry = entry.unwrap();
            assert!(entry.file_type().unwrap().is_file());
            assert!(seen.insert(entry.file_name().into_string().unwrap()), "twice");
        }
        assert_eq!(seen, expected);
        assert!(mounted.unmount());
    }
}

//! Listings of the local back end with objects: nothing stays open for them, and what they say of an entry is
//! of one object.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it tests real files")]
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pollster::block_on;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use vfs::local::{Durability, HandleMode, Local, LocalOptions, Node};
use vfs::{Attributes, DirEntry, FileSystem, Request};

/// Files that were made before are not new any more.
const TICK: Duration = Duration::from_millis(20);

struct Scene {
    server: Local,
    dir: tempfile::TempDir,
}

impl Scene {
    /// Files of 1 to `count` bytes, named by their size.
    fn with_files(count: u64, handles: HandleMode) -> Option<Self> {
        let dir = tempfile::tempdir().expect("a temporary directory");
        for size in 1..=count {
            fs::write(dir.path().join(size.to_string()), vec![0; size as usize]).expect("writes");
        }
        std::thread::sleep(TICK);
        let options = LocalOptions { durability: Durability::Async, handles, ..LocalOptions::default() };
        // Without privileges there are no kernel handles.
        Some(Self { server: Local::open(dir.path(), &options).ok()?, dir })
    }

    fn all(count: u64) -> Vec<Self> {
        let modes = [HandleMode::Kernel, HandleMode::Index];
        modes.into_iter().filter_map(|mode| Self::with_files(count, mode)).collect()
    }

    fn path(&self, name: u64) -> PathBuf {
        self.dir.path().join(name.to_string())
    }

    /// Everything, in pages.
    fn list(&self, page: usize) -> Vec<DirEntry<Node>> {
        let (mut cookie, mut entries) = (0, Vec::new());
        loop {
            let (request, root) = (Request::of_server(), self.server.root());
            let part = block_on(self.server.read_dir(request, &root, cookie, page, true)).expect("lists");
            assert!(part.entries.len() <= page);
            cookie = part.entries.last().map_or(cookie, |entry| entry.cookie);
            entries.extend(part.entries);
            if part.eof {
                entries.retain(|entry| !entry.name.starts_with(b"."));
                return entries;
            }
        }
    }

    /// What the handle of a listed object leads to.
    fn resolved(&self, node: &Node) -> Attributes {
        let handle = self.server.handle(node);
        let found = block_on(self.server.resolve(Request::of_server(), handle.as_bytes()))
            .expect("leads to an object");
        assert_eq!(self.server.object_id(&found), self.server.object_id(node));
        block_on(self.server.attributes(Request::of_server(), &found)).expect("attributes")
    }
}

fn open_below(dir: &Path) -> usize {
    let entries = fs::read_dir("/proc/self/fd").expect("proc is mounted").flatten();
    entries.filter_map(|entry| fs::read_link(entry.path()).ok()).filter(|path| path.starts_with(dir)).count()
}

#[test]
fn a_listing_leaves_nothing_open_and_its_handles_lead_to_what_it_listed() {
    for scene in Scene::all(300) {
        for page in [7, 100, 1000] {
            let before = open_below(scene.dir.path());
            let entries = scene.list(page);
            assert_eq!(entries.len(), 300);
            // The directory itself may be open for reading now.
            assert!(open_below(scene.dir.path()) <= before + 1);
            if page == 1000 {
                for entry in entries {
                    let (node, found) = entry.object.expect("it is there");
                    assert_eq!(found.size.to_string().as_bytes(), &entry.name[..]);
                    assert_eq!((entry.fileid, scene.resolved(&node)), (found.fileid, found));
                }
            }
        }
    }
}

#[test]
fn a_listed_object_can_be_used_as_one_that_was_looked_up() {
    for scene in Scene::all(3) {
        for entry in scene.list(10) {
            let (node, found) = entry.object.expect("it is there");
            assert_eq!(block_on(scene.server.attributes(Request::of_server(), &node)).unwrap(), found);
            let mut data = Vec::new();
            block_on(scene.server.read(Request::of_server(), &node, 0, 10, &mut data)).unwrap();
            assert_eq!(data.len() as u64, found.size);
        }
    }
}

#[test]
fn entry_of_a_replaced_name_describes_one_object() {
    for scene in Scene::all(50) {
        let sizes: BTreeMap<u64, u64> =
            (1..=50).map(|size| (fs::metadata(scene.path(size)).unwrap().ino(), size)).collect();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in (1..50).cycle().take_while(|_| !is_over.load(Ordering::Relaxed)) {
                    let names = [scene.path(round), scene.path(round + 1)];
                    renameat_with(CWD, &names[0], CWD, &names[1], RenameFlags::EXCHANGE).unwrap();
                }
            });
            for _ in 0..100 {
                for entry in scene.list(50) {
                    let Some((node, found)) = entry.object else { continue };
                    assert_eq!(Some(&found.size), sizes.get(&found.fileid));
                    // By hints one that moves all the time may not be found.
                    if scene.server.uses_kernel_handles() {
                        assert_eq!(scene.resolved(&node).fileid, found.fileid);
                    }
                }
            }
            is_over.store(true, Ordering::Relaxed);
        });
    }
}

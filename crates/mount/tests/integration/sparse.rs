//! Holes, reserved space and copies, the same calls on the mounted tree and on a local directory.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

use client::Version;
use rustix::fs::{FallocateFlags, SeekFrom, copy_file_range, fallocate, seek};
use rustix::io::Errno;

use crate::fixture::{Fixture, can_mount, pattern};

const BLOCK: u64 = 64 << 10;
const PUNCH: FallocateFlags = FallocateFlags::PUNCH_HOLE.union(FallocateFlags::KEEP_SIZE);

fn open(path: &Path) -> File {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).unwrap()
}

/// What the calls come to, and what the file is then.
fn told(directory: &Path) -> Vec<String> {
    let mut told = Vec::new();
    let mut note = |outcome: &dyn std::fmt::Debug| told.push(format!("{outcome:?}"));
    let path = directory.join("file");
    let file = open(&path);
    note(&fallocate(&file, FallocateFlags::empty(), 0, BLOCK));
    note(&file.metadata().unwrap().len());
    note(&fallocate(&file, FallocateFlags::empty(), 100, 50));
    note(&file.metadata().unwrap().len());
    note(&fallocate(&file, FallocateFlags::empty(), 0, 0));
    file.write_all_at(&pattern(8 * BLOCK as usize), 0).unwrap();
    note(&fallocate(&file, PUNCH, 2 * BLOCK, 2 * BLOCK));
    note(&fallocate(&file, PUNCH, 7 * BLOCK, 100 * BLOCK));
    note(&file.metadata().unwrap().len());
    let mut expected = pattern(8 * BLOCK as usize);
    expected[2 * BLOCK as usize..4 * BLOCK as usize].fill(0);
    expected[7 * BLOCK as usize..].fill(0);
    note(&(fs::read(&path).unwrap() == expected));
    for place in [0, BLOCK, 2 * BLOCK, 3 * BLOCK, 4 * BLOCK, 7 * BLOCK, 8 * BLOCK - 1, 8 * BLOCK, 9 * BLOCK] {
        note(&seek(&file, SeekFrom::Data(place)));
        note(&seek(&file, SeekFrom::Hole(place)));
    }
    note(&copies(directory, &file, &expected));
    told
}

/// Copies to the beginning, to the middle and behind the end of another file, and what there is not.
fn copies(directory: &Path, file: &File, content: &[u8]) -> Vec<(Result<usize, Errno>, bool)> {
    let path = directory.join("copy");
    let target = open(&path);
    let mut expected = Vec::new();
    [(0, 0, 1000), (5000, 500, 3000), (1, 3 * BLOCK, BLOCK), (8 * BLOCK - 10, 0, 100), (9 * BLOCK, 0, 100)]
        .into_iter()
        .map(|(from, to, length)| {
            let (mut at, mut target_at) = (from, to);
            let copied = copy_file_range(file, Some(&mut at), &target, Some(&mut target_at), length as usize);
            let end = content.len().min((from + length) as usize);
            if let Some(data) = content.get(from as usize..end) {
                let to = to as usize;
                expected.resize(expected.len().max(to + data.len()), 0);
                expected[to..to + data.len()].copy_from_slice(data);
            }
            (copied, fs::read(&path).unwrap() == expected)
        })
        .collect()
}

#[test]
fn over_nfsv4_2_holes_space_and_copies_are_those_of_a_local_file_system() {
    if !can_mount() {
        return;
    }
    let fixture = Fixture::new();
    let mounted = fixture.mount(Version::V4_2);
    let local = tempfile::tempdir().unwrap();
    let (here, there) = (told(mounted.root()), told(local.path()));
    assert_eq!(here, there);
    assert!(here.iter().all(|line| !line.contains("OPNOTSUPP") && !line.contains("false")), "{here:?}");
}

#[test]
fn older_versions_copy_and_have_neither_holes_nor_space() {
    if !can_mount() {
        return;
    }
    let fixture = Fixture::new();
    for version in [Version::V3, Version::V4_1] {
        let mounted = fixture.mount(version);
        let path = mounted.path("file");
        fs::write(&path, pattern(8 * BLOCK as usize)).unwrap();
        let file = open(&path);
        assert_eq!(fallocate(&file, FallocateFlags::empty(), 0, BLOCK), Err(Errno::OPNOTSUPP));
        assert_eq!(fallocate(&file, PUNCH, 0, BLOCK), Err(Errno::OPNOTSUPP));
        assert_eq!(seek(&file, SeekFrom::Data(BLOCK)), Ok(BLOCK), "all of it is data");
        assert_eq!(seek(&file, SeekFrom::Hole(BLOCK)), Ok(8 * BLOCK));
        assert_eq!(seek(&file, SeekFrom::Data(8 * BLOCK)), Err(Errno::NXIO));
        let copied = copies(mounted.root(), &file, &pattern(8 * BLOCK as usize));
        assert!(copied.iter().all(|(outcome, same)| outcome.is_ok() && *same), "{copied:?}");
        fs::remove_file(mounted.path("copy")).unwrap();
    }
}

/// What NFS does not have is refused, and the file is as before.
#[test]
fn space_behind_the_end_and_moved_space_are_refused() {
    if !can_mount() {
        return;
    }
    let fixture = Fixture::new();
    let mounted = fixture.mount(Version::V4_2);
    let path = mounted.path("file");
    fs::write(&path, "content").unwrap();
    let file = open(&path);
    for flags in [FallocateFlags::KEEP_SIZE, FallocateFlags::ZERO_RANGE, FallocateFlags::COLLAPSE_RANGE] {
        assert_eq!(fallocate(&file, flags, 0, 4096), Err(Errno::OPNOTSUPP), "{flags:?}");
    }
    assert_eq!(fs::read(&path).unwrap(), b"content");
}

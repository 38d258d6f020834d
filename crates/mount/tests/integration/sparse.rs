//! Holes, reserved space and copies, the same calls on the mounted tree and on a local directory.

use std::fs;

use client::Version;
use rustix::fs::{FallocateFlags, SeekFrom, fallocate, seek};
use rustix::io::Errno;

use crate::compared::pattern;
use crate::compared::sparse::{BLOCK, PUNCH, copies, open, told};
use crate::fixture::{Fixture, can_mount};

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

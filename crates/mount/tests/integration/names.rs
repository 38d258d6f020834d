//! Names, directories and attributes.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};

use client::Version;
use rustix::fs::{CWD, FileType, Mode, RenameFlags, Timestamps, mknodat, renameat_with, utimensat};
use rustix::io::Errno;
use rustix::time::Timespec;

use crate::fixture::{Fixture, in_both_versions};

in_both_versions! {
    every_type_of_object_can_be_made_and_is_seen_as_such
    names_are_changed_and_removed
    a_name_that_is_taken_is_not_replaced_when_that_is_asked
    attributes_are_set_as_told
    times_before_1970_are_set_and_seen
    a_large_directory_is_listed_whole_and_once
    a_directory_stream_goes_back_to_where_it_is_told
    the_space_of_the_file_system_is_told
}

fn every_type_of_object_can_be_made_and_is_seen_as_such(version: Version) {
    let fixture = Fixture::new();
    let mounted = fixture.mount(version);
    fs::create_dir(mounted.path("directory")).unwrap();
    symlink("directory/target", mounted.path("link")).unwrap();
    for (name, kind, device) in [
        ("fifo", FileType::Fifo, 0),
        ("socket", FileType::Socket, 0),
        ("null", FileType::CharacterDevice, rustix::fs::makedev(1, 3)),
        ("file", FileType::RegularFile, 0),
    ] {
        mknodat(CWD, mounted.path(name), kind, Mode::from_raw_mode(0o640), device).unwrap();
    }
    let kind = |name: &str| fs::symlink_metadata(mounted.path(name)).unwrap().file_type();
    assert!(kind("directory").is_dir() && kind("link").is_symlink() && kind("file").is_file());
    assert!(kind("fifo").is_fifo() && kind("socket").is_socket() && kind("null").is_char_device());
    let null = fs::metadata(mounted.path("null")).unwrap();
    assert_eq!((null.rdev(), null.mode() & 0o777), (rustix::fs::makedev(1, 3), 0o640));
    assert_eq!(fs::read_link(mounted.path("link")).unwrap().to_str(), Some("directory/target"));
    fs::write(mounted.path("directory/target"), "x").unwrap();
    assert_eq!(fs::read(mounted.path("link")).unwrap(), b"x");
}

fn names_are_changed_and_removed(version: Version) {
    let fixture = Fixture::new();
    let mounted = fixture.mount(version);
    fs::create_dir(mounted.path("a")).unwrap();
    fs::create_dir(mounted.path("b")).unwrap();
    fs::write(mounted.path("a/file"), "1").unwrap();
    fs::hard_link(mounted.path("a/file"), mounted.path("b/link")).unwrap();
    assert_eq!(fs::metadata(mounted.path("a/file")).unwrap().nlink(), 2);
    fs::rename(mounted.path("a/file"), mounted.path("b/link")).unwrap();
    assert!(mounted.path("a/file").exists(), "two names of one file: nothing is renamed");
    fs::rename(mounted.path("a/file"), mounted.path("b/file")).unwrap();
    assert!(!mounted.path("a/file").exists());
    assert_eq!(fs::read(mounted.path("b/file")).unwrap(), b"1");
    assert_eq!(fs::remove_dir(mounted.path("b")).unwrap_err().kind(), std::io::ErrorKind::DirectoryNotEmpty);
    fs::rename(mounted.path("b"), mounted.path("a")).unwrap();
    fs::remove_file(mounted.path("a/link")).unwrap();
    assert_eq!(fs::metadata(mounted.path("a/file")).unwrap().nlink(), 1);
    fs::remove_dir_all(mounted.path("a")).unwrap();
    assert_eq!(fs::read_dir(fixture.export()).unwrap().count(), 0);
}

fn a_name_that_is_taken_is_not_replaced_when_that_is_asked(version: Version) {
    let fixture = Fixture::new();
    let mounted = fixture.mount(version);
    let rename =
        |from: &str, to: &str, flags| renameat_with(CWD, mounted.path(from), CWD, mounted.path(to), flags);
    fs::write(mounted.path("a"), "a").unwrap();
    fs::write(mounted.path("b"), "b").unwrap();
    assert_eq!(rename("a", "b", RenameFlags::NOREPLACE), Err(Errno::EXIST));
    // Made behind the kernel's back: the request itself has the condition.
    fs::write(fixture.export().join("c"), "c").unwrap();
    assert_eq!(rename("a", "c", RenameFlags::NOREPLACE), Err(Errno::EXIST));
    assert_eq!(rename("a", "d", RenameFlags::NOREPLACE), Ok(()));
    assert!(!mounted.path("a").exists());
    assert_eq!(fs::metadata(mounted.path("d")).unwrap().nlink(), 1);
    assert_eq!(rename("b", "d", RenameFlags::EXCHANGE), Err(Errno::INVAL));
}

fn attributes_are_set_as_told(version: Version) {
    let fixture = Fixture::new();
    let mounted = fixture.mount(version);
    let path = mounted.path("file");
    fs::write(&path, "1").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o4751)).unwrap();
    std::os::unix::fs::chown(&path, Some(7), Some(8)).unwrap();
    let metadata = fs::metadata(&path).unwrap();
    assert_eq!((metadata.uid(), metadata.gid()), (7, 8));
    // Whoever gives a file away gives no right to run it as its owner.
    let there = fs::metadata(fixture.export().join("file")).unwrap();
    assert_eq!(metadata.mode(), there.mode());
    let times = Timestamps {
        last_access: Timespec { tv_sec: 1_000_000, tv_nsec: 5 },
        last_modification: Timespec { tv_sec: 2_000_000, tv_nsec: 999_999_999 },
    };
    utimensat(CWD, &path, &times, rustix::fs::AtFlags::empty()).unwrap();
    let metadata = fs::metadata(&path).unwrap();
    assert_eq!((metadata.atime(), metadata.atime_nsec()), (1_000_000, 5));
    assert_eq!((metadata.mtime(), metadata.mtime_nsec()), (2_000_000, 999_999_999));
    let now = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW };
    let kept = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT };
    let times = Timestamps { last_access: kept, last_modification: now };
    utimensat(CWD, &path, &times, rustix::fs::AtFlags::empty()).unwrap();
    let metadata = fs::metadata(&path).unwrap();
    assert!(metadata.atime() == 1_000_000 && metadata.mtime() > 1_000_000_000);
}

fn a_large_directory_is_listed_whole_and_once(version: Version) {
    const ENTRIES: usize = 20_000;
    let fixture = Fixture::new();
    let mounted = fixture.mount(version);
    fs::create_dir(fixture.export().join("large")).unwrap();
    let expected: BTreeSet<String> = (0..ENTRIES).map(|number| format!("entry {number}")).collect();
    for name in &expected {
        fs::File::create(fixture.export().join("large").join(name)).unwrap();
    }
    let mut seen = BTreeSet::new();
    for entry in fs::read_dir(mounted.path("large")).unwrap() {
        let entry = entry.unwrap();
        assert!(entry.file_type().unwrap().is_file());
        assert!(seen.insert(entry.file_name().into_string().unwrap()), "twice");
    }
    assert_eq!(seen, expected);
    fs::metadata(mounted.path("large/entry 19999")).unwrap();
}

fn a_directory_stream_goes_back_to_where_it_is_told(version: Version) {
    let fixture = Fixture::new();
    let mounted = fixture.mount(version);
    for number in 0..3000 {
        fs::File::create(fixture.export().join(format!("{number}"))).unwrap();
    }
    let directory = fs::File::open(mounted.root()).unwrap();
    let names = |from: u64| -> Vec<(u64, String)> {
        rustix::fs::seek(&directory, rustix::fs::SeekFrom::Start(from)).unwrap();
        let mut buffer = Vec::with_capacity(4096);
        let mut stream = rustix::fs::RawDir::new(&directory, buffer.spare_capacity_mut());
        let mut names = Vec::new();
        while let Some(entry) = stream.next() {
            let entry = entry.unwrap();
            names.push((entry.next_entry_cookie(), entry.file_name().to_str().unwrap().to_owned()));
        }
        names
    };
    let all = names(0);
    assert_eq!(all.len(), 3002, "with the two dots");
    for place in [0, 1, 2, 10, 1500, 2999, 3001] {
        assert_eq!(names(all[place].0), all[place + 1..], "behind entry {place}");
    }
}

fn the_space_of_the_file_system_is_told(version: Version) {
    let fixture = Fixture::new();
    let mounted = fixture.mount(version);
    let (here, there) =
        (rustix::fs::statvfs(mounted.root()).unwrap(), rustix::fs::statvfs(fixture.export()).unwrap());
    assert_eq!(here.f_blocks * here.f_frsize, there.f_blocks * there.f_frsize);
    assert_eq!((here.f_files, here.f_namemax), (there.f_files, 255));
}

/// NFSv3 has no times before 1970 (RFC 1813 §2.5): the nearest is the beginning of that year.
fn times_before_1970_are_set_and_seen(version: Version) {
    let fixture = Fixture::new();
    let mounted = fixture.mount(version);
    let path = mounted.path("file");
    fs::write(&path, "x").unwrap();
    for (seconds, nanoseconds) in [(-1, 250_000_000), (-86_400, 0), (-2, 999_999_999), (5, 7)] {
        let time = Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
        let times = Timestamps { last_access: time, last_modification: time };
        utimensat(CWD, &path, &times, rustix::fs::AtFlags::empty()).unwrap();
        let expected = match version {
            Version::V3 if seconds < 0 => (0, 0),
            _ => (seconds, nanoseconds),
        };
        for path in [&path, &fixture.export().join("file")] {
            let metadata = fs::metadata(path).unwrap();
            assert_eq!((metadata.mtime(), metadata.mtime_nsec()), expected);
            assert_eq!((metadata.atime(), metadata.atime_nsec()), expected);
        }
    }
}

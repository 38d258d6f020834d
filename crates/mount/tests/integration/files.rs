//! Files and their data.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::process::Command;

use client::Version;

use crate::compared::pattern;
use crate::fixture::{Fixture, in_both_versions};

in_both_versions! {
    written_data_are_read_back_and_reach_the_server
    a_file_can_be_cut_and_extended
    a_file_that_may_only_be_executed_can_be_run
    no_file_grows_beyond_the_size_that_the_server_names
    kernel_forgets_files_beyond_the_bound
    appends_of_many_threads_do_not_overlap
    a_file_that_is_removed_while_open_stays_until_it_is_closed
    a_file_that_is_renamed_over_while_open_stays_until_it_is_closed
    failed_rename_leaves_an_open_target_unchanged
}

fn written_data_are_read_back_and_reach_the_server(version: Version) {
    let fixture = Fixture::new();
    let mounted = fixture.mount(version);
    let data = pattern(3 << 20);
    fs::write(mounted.path("file"), &data).unwrap();
    assert_eq!(fs::read(fixture.export().join("file")).unwrap(), data, "at the server once it is closed");
    assert_eq!(fs::read(mounted.path("file")).unwrap(), data);
    let metadata = fs::metadata(mounted.path("file")).unwrap();
    let there = fs::metadata(fixture.export().join("file")).unwrap();
    assert_eq!((metadata.len(), metadata.ino(), metadata.mode()), (there.len(), there.ino(), there.mode()));
    let file = File::open(mounted.path("file")).unwrap();
    let mut part = [0; 1000];
    file.read_exact_at(&mut part, 1_000_001).unwrap();
    assert_eq!(part[..], data[1_000_001..1_001_001]);
    drop(file);
    mounted.unmount().unwrap();
}

fn a_file_that_may_only_be_executed_can_be_run(version: Version) {
    let fixture = Fixture::new();
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: the server cannot act as another user");
        return;
    }
    for (name, mode) in [("program", 0o711), ("text", 0o744)] {
        fs::copy("/bin/true", fixture.export().join(name)).unwrap();
        fs::set_permissions(fixture.export().join(name), Permissions::from_mode(mode)).unwrap();
    }
    let user = |options: &mut client::Options| (options.uid, options.gid) = (1000, 1000);
    let mounted = fixture.mount_with(version, user, |_| {});
    let run = |name: &str| Command::new(mounted.path(name)).status().map(|status| status.success());
    let read = |name: &str| fs::read(mounted.path(name)).map(|data| data.len());
    for _ in 0..2 {
        assert!(run("program").unwrap());
        assert_eq!(read("program").unwrap_err().kind(), ErrorKind::PermissionDenied);
        assert_eq!(run("text").unwrap_err().kind(), ErrorKind::PermissionDenied);
        assert!(read("text").unwrap() > 0);
    }
    mounted.unmount().unwrap();
}

fn a_file_can_be_cut_and_extended(version: Version) {
    let fixture = Fixture::new();
    let mounted = fixture.mount(version);
    let path = mounted.path("file");
    let mut file = OpenOptions::new().read(true).write(true).create_new(true).open(&path).unwrap();
    file.write_all(&pattern(10_000)).unwrap();
    file.set_len(5_000).unwrap();
    assert_eq!(file.metadata().unwrap().len(), 5_000);
    file.set_len(8_000).unwrap();
    let mut expected = pattern(5_000);
    expected.resize(8_000, 0);
    assert_eq!(fs::read(&path).unwrap(), expected);
    file.sync_all().unwrap();
    assert_eq!(fs::read(fixture.export().join("file")).unwrap(), expected);
    File::create(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), 0);
    let mut rest = Vec::new();
    File::open(&path).unwrap().read_to_end(&mut rest).unwrap();
    assert_eq!(rest, b"");
}

fn no_file_grows_beyond_the_size_that_the_server_names(version: Version) {
    let fixture = Fixture::new();
    let mounted = fixture.mount(version);
    let path = mounted.path("file");
    fs::write(&path, "data").unwrap();
    let most = mounted.client.root_object().file_bytes_max();
    if most >= i64::MAX as u64 {
        eprintln!("skipped: the kernel itself knows this limit");
        return;
    }
    let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let too_large = |outcome: std::io::Result<()>| {
        assert_eq!(outcome.unwrap_err().kind(), std::io::ErrorKind::FileTooLarge);
        assert_eq!(file.metadata().unwrap().len(), 4);
    };
    too_large(file.write_at(b"x", most).map(drop));
    too_large(file.write_at(b"x", most + 4096).map(drop));
    too_large(file.set_len(most + 1));
    // NFSv4.2 alone has it.
    if rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, 1).is_ok() {
        let reserved = rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), most, 1);
        too_large(reserved.map_err(Into::into));
    }
    assert_eq!(file.write_at(b"xyz", most - 2).unwrap(), 2, "what there is room for");
    file.sync_all().unwrap();
    assert_eq!(fs::metadata(fixture.export().join("file")).unwrap().len(), most);
}

fn kernel_forgets_files_beyond_the_bound(version: Version) {
    const BOUND: usize = 100;
    let fixture = Fixture::new();
    let mounted = fixture.mount_with(version, |_| {}, |options| options.inodes_max = BOUND);
    let open = File::create(mounted.path("open")).unwrap();
    fs::create_dir(mounted.path("directory")).unwrap();
    for number in 0..5 * BOUND {
        fs::write(mounted.path(format!("directory/{number}")), "x").unwrap();
    }
    // The kernel sends FORGET later.
    let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while mounted.inodes() > 2 * BOUND {
        assert!(std::time::Instant::now() < end, "{} objects", mounted.inodes());
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(fs::read_dir(mounted.path("directory")).unwrap().count(), 5 * BOUND);
    (&open).write_all(b"still open").unwrap();
    drop(open);
    assert_eq!(fs::read(mounted.path("open")).unwrap(), b"still open");
}

fn appends_of_many_threads_do_not_overlap(version: Version) {
    let fixture = Fixture::new();
    let mounted = fixture.mount(version);
    let path = mounted.path("log");
    File::create(&path).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let path = &path;
            scope.spawn(move || {
                let mut file = OpenOptions::new().append(true).open(path).unwrap();
                for line in 0..50 {
                    file.write_all(format!("{thread} {line}\n").as_bytes()).unwrap();
                }
            });
        }
    });
    let text = fs::read_to_string(fixture.export().join("log")).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    let mut expected: Vec<String> =
        (0..4).flat_map(|thread| (0..50).map(move |line| format!("{thread} {line}"))).collect();
    expected.sort_unstable();
    assert_eq!(lines, expected);
}

fn a_file_that_is_removed_while_open_stays_until_it_is_closed(version: Version) {
    let fixture = Fixture::new();
    let mounted = fixture.mount(version);
    let path = mounted.path("file");
    fs::write(&path, "data").unwrap();
    let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    fs::remove_file(&path).unwrap();
    assert!(!path.exists());
    assert_eq!(file.metadata().unwrap().nlink(), 0);
    file.write_all_at(b"more", 4).unwrap();
    let mut all = [0; 8];
    file.read_exact_at(&mut all, 0).unwrap();
    assert_eq!(&all, b"datamore");
    fs::write(&path, "another").unwrap();
    file.sync_all().unwrap();
    drop(file);
    mounted.path("file").metadata().unwrap();
    let left = names_left(&fixture, 1);
    assert_eq!(left, ["file"]);
}

fn a_file_that_is_renamed_over_while_open_stays_until_it_is_closed(version: Version) {
    let fixture = Fixture::new();
    let mounted = fixture.mount(version);
    fs::write(mounted.path("old"), "old").unwrap();
    fs::write(mounted.path("new"), "new").unwrap();
    let mut file = File::open(mounted.path("old")).unwrap();
    let before = mounted.client.tap().snapshot();
    fs::rename(mounted.path("new"), mounted.path("old")).unwrap();
    let counts = mounted.client.tap().snapshot().since(&before);
    assert_eq!(counts.requests["RENAME"].requests, 1, "the name stands for one or the other at all times");
    assert_eq!(file.metadata().unwrap().nlink(), 0);
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    assert_eq!(text, "old");
    assert_eq!(fs::read_to_string(mounted.path("old")).unwrap(), "new");
    drop(file);
    assert_eq!(names_left(&fixture, 1), ["old"]);
}

fn failed_rename_leaves_an_open_target_unchanged(version: Version) {
    let fixture = Fixture::new();
    let mounted = fixture.mount(version);
    fs::write(mounted.path("old"), "old").unwrap();
    fs::write(mounted.path("new"), "new").unwrap();
    let file = File::open(mounted.path("old")).unwrap();
    // It is gone, and the mount does not know.
    fs::metadata(mounted.path("new")).unwrap();
    fs::remove_file(fixture.export().join("new")).unwrap();
    fs::rename(mounted.path("new"), mounted.path("old")).unwrap_err();
    assert_eq!(file.metadata().unwrap().nlink(), 1);
    assert_eq!(names_left(&fixture, 1), ["old"]);
}

/// The names on the server, once there are only `count`: the kernel does not wait for the last close.
fn names_left(fixture: &Fixture, count: usize) -> Vec<String> {
    loop {
        let names: Vec<_> = fs::read_dir(fixture.export())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        if names.len() <= count {
            return names;
        }
        std::thread::yield_now();
    }
}

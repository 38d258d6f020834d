//! Locks of ranges by `fcntl`: between processes on one mount, and between mounts.

use std::fs::{self, File, OpenOptions};
use std::path::Path;
use std::time::Duration;

use client::Version;
use nix::errno::Errno;
use nix::libc::{F_RDLCK, F_UNLCK, F_WRLCK};

use crate::compared::processes::lock_each_other_out;
use crate::fixture::{Fixture, in_both_versions};
use crate::other_process::{OtherProcess, lock, lock_open_file};

in_both_versions! {
    processes_of_one_mount_lock_each_other_out
    processes_of_two_mounts_lock_each_other_out
    a_process_that_waits_has_the_lock_when_the_other_ends
    lock_of_open_file_ends_with_its_process
    lock_of_open_file_outlives_another_descriptor
    closing_any_descriptor_gives_up_the_locks_of_the_process
    a_lock_through_a_writable_descriptor_keeps_those_through_a_readable_one
    a_lock_through_a_readable_descriptor_keeps_those_through_a_writable_one
    threads_that_lock_for_the_first_time_at_once_all_have_their_locks
}

fn open(path: &Path) -> File {
    OpenOptions::new().read(true).write(true).open(path).unwrap()
}

fn processes_of_one_mount_lock_each_other_out(version: Version) {
    let fixture = Fixture::new();
    let mounted = fixture.mount(version);
    lock_each_other_out(&mounted.path("file"), &mounted.path("file"));
}

fn processes_of_two_mounts_lock_each_other_out(version: Version) {
    let fixture = Fixture::new();
    let (one, two) = (fixture.mount(version), fixture.mount(version));
    lock_each_other_out(&one.path("file"), &two.path("file"));
}

fn a_process_that_waits_has_the_lock_when_the_other_ends(version: Version) {
    let fixture = Fixture::new();
    let (one, two) = (fixture.mount(version), fixture.mount(version));
    fs::write(one.path("file"), "x").unwrap();
    let file = open(&one.path("file"));
    for path in [one.path("file"), two.path("file")] {
        let mut other = OtherProcess::start(&path);
        lock(&file, (F_WRLCK, 0, 0), false).unwrap();
        other.begin_to_wait((F_WRLCK, 3, 1));
        lock(&file, (F_UNLCK, 0, 0), false).unwrap();
        other.end().unwrap();
        assert_eq!(lock(&file, (F_WRLCK, 0, 0), false), Err(Errno::EAGAIN));
        drop(other);
        // It was killed, which gives its lock up.
        lock(&file, (F_WRLCK, 0, 0), true).unwrap();
        lock(&file, (F_UNLCK, 0, 0), false).unwrap();
    }
}

fn lock_of_open_file_ends_with_its_process(version: Version) {
    let fixture = Fixture::new();
    let (one, two) = (fixture.mount(version), fixture.mount(version));
    fs::write(one.path("file"), "x").unwrap();
    let file = open(&two.path("file"));
    for killed in [true, false] {
        let mut other = OtherProcess::start(&one.path("file"));
        other.lock_open_file((F_WRLCK, 0, 0)).unwrap();
        assert_eq!(lock(&file, (F_WRLCK, 0, 0), false), Err(Errno::EAGAIN));
        if killed {
            drop(other);
        } else {
            other.exit();
        }
        // Nothing waits for the release of a file.
        let attempts = (0..3000).map(|_| {
            std::thread::sleep(Duration::from_millis(10));
            lock(&file, (F_WRLCK, 0, 0), false)
        });
        assert!(attempts.into_iter().any(|outcome| outcome.is_ok()), "it stays, killed: {killed}");
        lock(&file, (F_UNLCK, 0, 0), false).unwrap();
    }
}

fn lock_of_open_file_outlives_another_descriptor(version: Version) {
    let fixture = Fixture::new();
    let (one, two) = (fixture.mount(version), fixture.mount(version));
    fs::write(one.path("file"), "x").unwrap();
    let (locked, another) = (open(&one.path("file")), open(&one.path("file")));
    lock_open_file(&locked, (F_WRLCK, 0, 0)).unwrap();
    drop(another);
    // The release of the other one has come by the time that its own open and close have.
    drop(open(&one.path("file")));
    assert_eq!(lock(&open(&two.path("file")), (F_WRLCK, 0, 0), false), Err(Errno::EAGAIN));
}

fn closing_any_descriptor_gives_up_the_locks_of_the_process(version: Version) {
    let fixture = Fixture::new();
    let mounted = fixture.mount(version);
    let path = mounted.path("file");
    fs::write(&path, "x").unwrap();
    let file = open(&path);
    let mut other = OtherProcess::start(&path);
    lock(&file, (F_WRLCK, 0, 1), false).unwrap();
    assert_eq!(other.lock((F_WRLCK, 0, 1)), Err(Errno::EAGAIN));
    drop(File::open(&path).unwrap());
    other.lock((F_WRLCK, 0, 1)).unwrap();
}

fn a_lock_through_a_writable_descriptor_keeps_those_through_a_readable_one(version: Version) {
    let fixture = Fixture::new();
    let (one, two) = (fixture.mount(version), fixture.mount(version));
    fs::write(one.path("file"), "x").unwrap();
    let (readable, writable) = (File::open(one.path("file")).unwrap(), open(&one.path("file")));
    let mut others = [OtherProcess::start(&one.path("file")), OtherProcess::start(&two.path("file"))];
    lock(&readable, (F_RDLCK, 0, 10), false).unwrap();
    lock(&readable, (F_RDLCK, 50, 10), false).unwrap();
    lock(&writable, (F_WRLCK, 5, 10), false).unwrap();
    for other in &mut others {
        for held in [(F_WRLCK, 0, 1), (F_RDLCK, 5, 1), (F_RDLCK, 14, 1), (F_WRLCK, 59, 1)] {
            assert_eq!(other.lock(held), Err(Errno::EAGAIN), "{held:?}");
        }
        for free in [(F_RDLCK, 0, 5), (F_WRLCK, 15, 35), (F_WRLCK, 60, 1)] {
            other.lock(free).unwrap();
            other.lock((F_UNLCK, free.1, free.2)).unwrap();
        }
    }
    // All of them are the same owner's: through either they can be given up.
    lock(&readable, (F_UNLCK, 0, 0), false).unwrap();
    others[1].lock((F_WRLCK, 0, 0)).unwrap();
}

fn a_lock_through_a_readable_descriptor_keeps_those_through_a_writable_one(version: Version) {
    let fixture = Fixture::new();
    let mounted = fixture.mount(version);
    let path = mounted.path("file");
    fs::write(&path, "x").unwrap();
    let writable = OpenOptions::new().write(true).open(&path).unwrap();
    let readable = File::open(&path).unwrap();
    let mut other = OtherProcess::start(&path);
    lock(&writable, (F_WRLCK, 0, 10), false).unwrap();
    lock(&readable, (F_RDLCK, 20, 10), false).unwrap();
    assert_eq!(other.lock((F_RDLCK, 9, 1)), Err(Errno::EAGAIN));
    assert_eq!(other.lock((F_WRLCK, 20, 1)), Err(Errno::EAGAIN));
}

/// All threads of a process are one owner, and the first lock makes what stands for it.
fn threads_that_lock_for_the_first_time_at_once_all_have_their_locks(version: Version) {
    let fixture = Fixture::new();
    let mounted = fixture.mount(version);
    for round in 0..10 {
        let path = mounted.path(format!("file{round}"));
        fs::write(&path, "x").unwrap();
        let files = [File::open(&path).unwrap(), open(&path), open(&path), File::open(&path).unwrap()];
        let start = std::sync::Barrier::new(files.len());
        std::thread::scope(|scope| {
            for (first, file) in files.iter().enumerate() {
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    lock(file, (F_RDLCK, first as i64, 1), false).unwrap();
                });
            }
        });
        let mut other = OtherProcess::start(&path);
        for first in 0..files.len() {
            assert_eq!(other.lock((F_WRLCK, first as i64, 1)), Err(Errno::EAGAIN), "byte {first}");
        }
    }
}

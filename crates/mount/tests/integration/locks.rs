//! Locks between processes, and between mounts.

use std::fs::{self, File, OpenOptions};
use std::process::{Command, Stdio};
use std::time::Duration;

use client::Version;
use rustix::fs::{FlockOperation, flock};

use crate::compared::flocks::{exclude_each_other, show_what_was_written};
use crate::fixture::{Fixture, in_both_versions};
use crate::waiting::await_wait;

in_both_versions! {
    a_file_that_is_locked_on_one_mount_is_locked_on_the_other
    closing_a_file_gives_its_lock_up
    a_lock_shows_what_was_written_under_it_before
    a_process_that_waits_for_a_lock_can_be_killed
}

fn open(path: &std::path::Path) -> File {
    OpenOptions::new().read(true).write(true).open(path).unwrap()
}

fn a_file_that_is_locked_on_one_mount_is_locked_on_the_other(version: Version) {
    let fixture = Fixture::new();
    let (one, two) = (fixture.mount(version), fixture.mount(version));
    exclude_each_other(&one.path("file"), &two.path("file"));
}

fn closing_a_file_gives_its_lock_up(version: Version) {
    let fixture = Fixture::new();
    let (one, two) = (fixture.mount(version), fixture.mount(version));
    fs::write(one.path("file"), "x").unwrap();
    let (first, second) = (open(&one.path("file")), open(&two.path("file")));
    flock(&first, FlockOperation::NonBlockingLockExclusive).unwrap();
    drop(first);
    // The kernel does not wait for the release, so neither can we ask without waiting.
    flock(&second, FlockOperation::LockExclusive).unwrap();
}

fn a_lock_shows_what_was_written_under_it_before(version: Version) {
    let fixture = Fixture::new();
    let (one, two) = (fixture.mount(version), fixture.mount(version));
    show_what_was_written(&one.path("file"), &two.path("file"));
}

fn a_process_that_waits_for_a_lock_can_be_killed(version: Version) {
    let fixture = Fixture::new();
    let mounted = fixture.mount(version);
    let path = mounted.path("file");
    fs::write(&path, "x").unwrap();
    let file = open(&path);
    flock(&file, FlockOperation::LockExclusive).unwrap();
    // flock(1) is of util-linux, which every system has.
    let mut child = Command::new("flock").arg(&path).arg("true").stderr(Stdio::null()).spawn().unwrap();
    await_wait(&mut child, Duration::from_secs(60));
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success());
    drop(file);
}

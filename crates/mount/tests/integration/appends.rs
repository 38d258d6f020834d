//! Files that processes append to.

use std::fs::{self, OpenOptions};
use std::io::Write;

use client::Version;
use nix::libc::{F_UNLCK, F_WRLCK};

use crate::compared::processes::append;
use crate::fixture::{Fixture, in_both_versions};
use crate::other_process::lock;

in_both_versions! {
    appends_of_processes_on_one_mount_are_whole_and_complete
    appends_under_a_lock_on_two_mounts_are_whole_and_complete
    append_begins_at_the_end_that_another_mount_wrote
    append_under_a_lock_begins_where_another_mount_cut
}

fn appends_of_processes_on_one_mount_are_whole_and_complete(version: Version) {
    let fixture = Fixture::new();
    let mounted = fixture.mount(version);
    append(&mounted.path("log"), &mounted.path("log"), &fixture.export().join("log"), false);
}

fn appends_under_a_lock_on_two_mounts_are_whole_and_complete(version: Version) {
    let fixture = Fixture::new();
    let (one, two) = (fixture.mount(version), fixture.mount(version));
    append(&one.path("log"), &two.path("log"), &fixture.export().join("log"), true);
}

fn append_begins_at_the_end_that_another_mount_wrote(version: Version) {
    let fixture = Fixture::new();
    let mounts = [fixture.mount(version), fixture.mount(version)];
    for round in 0..6 {
        let path = mounts[round % 2].path("log");
        let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
        write!(file, "{round}").unwrap();
    }
    assert_eq!(fs::read_to_string(fixture.export().join("log")).unwrap(), "012345");
}

fn append_under_a_lock_begins_where_another_mount_cut(version: Version) {
    let fixture = Fixture::new();
    let (one, two) = (fixture.mount(version), fixture.mount(version));
    fs::write(one.path("log"), "0123456789").unwrap();
    let mut appended = OpenOptions::new().append(true).open(one.path("log")).unwrap();
    let cut = OpenOptions::new().write(true).open(two.path("log")).unwrap();
    lock(&cut, (F_WRLCK, 0, 0), true).unwrap();
    cut.set_len(4).unwrap();
    lock(&cut, (F_UNLCK, 0, 0), false).unwrap();
    lock(&appended, (F_WRLCK, 0, 0), true).unwrap();
    appended.write_all(b"b").unwrap();
    lock(&appended, (F_UNLCK, 0, 0), false).unwrap();
    assert_eq!(fs::read_to_string(fixture.export().join("log")).unwrap(), "0123b");
}

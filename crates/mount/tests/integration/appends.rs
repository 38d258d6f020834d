//! Files that processes append to.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

use client::Version;

use crate::fixture::{Fixture, in_both_versions};
use crate::other_process::{OtherProcess, RECORD_BYTES};

in_both_versions! {
    appends_of_processes_on_one_mount_are_whole_and_complete
    appends_under_a_lock_on_two_mounts_are_whole_and_complete
}

const RECORDS: usize = 200;

fn appends_of_processes_on_one_mount_are_whole_and_complete(version: Version) {
    let fixture = Fixture::new();
    let mounted = fixture.mount(version);
    append(&fixture, &mounted.path("log"), &mounted.path("log"), false);
}

fn appends_under_a_lock_on_two_mounts_are_whole_and_complete(version: Version) {
    let fixture = Fixture::new();
    let (one, two) = (fixture.mount(version), fixture.mount(version));
    append(&fixture, &one.path("log"), &two.path("log"), true);
}

/// Two processes append records, and each of them is there once.
fn append(fixture: &Fixture, one: &Path, two: &Path, locked: bool) {
    File::create(one).unwrap();
    let mut processes = [OtherProcess::start(one), OtherProcess::start(two)];
    for (letter, process) in [b'a', b'b'].into_iter().zip(&mut processes) {
        process.begin_to_append(RECORDS, letter, locked);
    }
    processes.iter_mut().for_each(|process| process.end().unwrap());
    let data = fs::read(fixture.export().join("log")).unwrap();
    let mut counts: BTreeMap<u8, usize> = BTreeMap::new();
    for record in data.chunks(RECORD_BYTES) {
        assert!(record.iter().all(|byte| *byte == record[0]), "torn");
        *counts.entry(record[0]).or_default() += 1;
    }
    assert_eq!(counts, BTreeMap::from([(b'a', RECORDS), (b'b', RECORDS)]));
}

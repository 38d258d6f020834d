//! Files as memory, shared by processes.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

use client::Version;

use crate::compared::pattern;
use crate::compared::processes::{LENGTH, share_memory};
use crate::fixture::{Fixture, in_both_versions};
use crate::sys;

in_both_versions! {
    processes_that_have_a_file_mapped_share_it
    close_sends_the_data_of_a_mapping
    a_mapping_shows_what_another_mount_has_written_once_the_file_is_opened_again
}

fn open(path: &Path) -> File {
    OpenOptions::new().read(true).write(true).open(path).unwrap()
}

fn processes_that_have_a_file_mapped_share_it(version: Version) {
    let fixture = Fixture::new();
    let mounted = fixture.mount(version);
    share_memory(&mounted.path("file"), &fixture.export().join("file"));
}

fn close_sends_the_data_of_a_mapping(version: Version) {
    let fixture = Fixture::new();
    let mounted = fixture.mount(version);
    let path = mounted.path("file");
    fs::write(&path, vec![0; LENGTH]).unwrap();
    let file = open(&path);
    let mut mapped = sys::map_writable(&file, LENGTH);
    mapped.copy_from_slice(&pattern(LENGTH));
    drop(mapped);
    drop(file);
    assert!(fs::read(fixture.export().join("file")).unwrap() == pattern(LENGTH));
}

fn a_mapping_shows_what_another_mount_has_written_once_the_file_is_opened_again(version: Version) {
    let fixture = Fixture::new();
    let (one, two) = (fixture.mount(version), fixture.mount(version));
    fs::write(one.path("file"), vec![1; LENGTH]).unwrap();
    let file = open(&two.path("file"));
    let mapped = sys::map_readable(&file, LENGTH);
    assert!(mapped.iter().all(|byte| *byte == 1));
    open(&one.path("file")).write_all_at(&[2; LENGTH], 0).unwrap();
    drop(open(&two.path("file")));
    assert!(mapped.iter().all(|byte| *byte == 2), "through the mapping that was there before");
}

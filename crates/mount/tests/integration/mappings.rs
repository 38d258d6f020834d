//! Files as memory, shared by processes.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

use client::Version;

use crate::fixture::{Fixture, in_both_versions, pattern};
use crate::other_process::OtherProcess;
use crate::sys;

in_both_versions! {
    processes_that_have_a_file_mapped_share_it
    what_was_written_to_a_mapping_is_on_the_server_when_the_file_is_closed
    a_mapping_shows_what_another_mount_has_written_once_the_file_is_opened_again
}

const LENGTH: usize = 3 * 4096 + 100;

fn open(path: &Path) -> File {
    OpenOptions::new().read(true).write(true).open(path).unwrap()
}

fn processes_that_have_a_file_mapped_share_it(version: Version) {
    let fixture = Fixture::new();
    let mounted = fixture.mount(version);
    let path = mounted.path("file");
    fs::write(&path, vec![0; LENGTH]).unwrap();
    let (file, mut other) = (open(&path), OtherProcess::start(&path));
    let mut mine = sys::map_writable(&file, LENGTH);
    mine[5000] = 11;
    assert_eq!(other.mapped(5000), 11);
    other.set_mapped(LENGTH - 1, 22);
    assert_eq!(mine[LENGTH - 1], 22);
    // Written and mapped, it is the same file.
    file.write_all_at(&[33], 100).unwrap();
    assert_eq!((mine[100], other.mapped(100)), (33, 33));
    let mut byte = [0];
    file.read_exact_at(&mut byte, 5000).unwrap();
    assert_eq!(byte, [11]);
    mine.flush().unwrap();
    let there = fs::read(fixture.export().join("file")).unwrap();
    assert_eq!((there[100], there[5000], there[LENGTH - 1]), (33, 11, 22), "what the other wrote, too");
}

fn what_was_written_to_a_mapping_is_on_the_server_when_the_file_is_closed(version: Version) {
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

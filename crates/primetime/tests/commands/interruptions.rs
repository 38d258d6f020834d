//! Readers that go away, and users who do not want to wait.

use std::fs;
use std::io::{Read, Write};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use crate::in_all_versions;
use crate::place::Place;
use crate::tree::{pattern, plant};

in_all_versions! {
    a_reader_that_has_seen_enough_ends_it_silently
    interrupt_reports_the_incomplete_files
}

fn a_reader_that_has_seen_enough_ends_it_silently(version: &'static str) {
    let place = Place::new(version);
    fs::write(place.exported("large"), pattern(20_000_000)).unwrap();
    plant(&place.exported(""));
    for arguments in [
        &["cat", &place.url("large")][..],
        &["find", &place.url(""), "-print0"],
        &["tar", "-c", "-C", &place.url("")],
        &["ls", "-lR", &place.url("")],
    ] {
        let mut child =
            place.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut byte = [0];
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut byte).unwrap();
        drop(stdout);
        let output = child.wait_with_output().unwrap();
        assert!(output.stderr.is_empty() && output.status.success(), "{arguments:?}: {output:?}");
    }
}

fn interrupt_reports_the_incomplete_files(version: &'static str) {
    let place = Place::new(version);
    let mut child = place
        .command(&["tar", "-x", "-C", &place.url("half")])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut header = tar::Header::new_gnu();
    header.set_path("file").unwrap();
    header.set_size(100_000_000);
    header.set_mode(0o644);
    header.set_cksum();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(header.as_bytes()).unwrap();
    // It has been read when there is room for so much more.
    stdin.write_all(&pattern(4 << 20)).unwrap();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    assert_eq!(output.status.code(), Some(130));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said, format!("primetime: interrupted; not complete: {}\n", place.url("half")));
}

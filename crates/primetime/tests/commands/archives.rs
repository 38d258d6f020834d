//! `tar`, with archives of and for the system's tar(1).

use std::fs;
use std::process::{Command, Stdio};

use crate::in_all_versions;
use crate::place::Place;
use crate::tree::{contents, plant};

in_all_versions! {
    what_tar_has_packed_is_unpacked
    what_is_packed_tar_unpacks
    an_archive_that_ends_early_is_told
}

fn tar(place: &Place, arguments: &[&str]) {
    let status = Command::new("tar").args(arguments).current_dir(place.beside("")).status().unwrap();
    assert!(status.success(), "{arguments:?}");
}

fn what_tar_has_packed_is_unpacked(version: &'static str) {
    let place = Place::new(version);
    fs::create_dir(place.beside("tree")).unwrap();
    plant(&place.beside("tree"));
    fs::hard_link(place.beside("tree/large"), place.beside("tree/large too")).unwrap();
    tar(&place, &["--create", "--file", "plain.tar", "--directory", "tree", "."]);
    tar(&place, &["--create", "--gzip", "--file", "packed.tar.gz", "--directory", "tree", "."]);
    place.bytes(&["tar", "-x", "-f", "plain.tar", "-C", &place.url("plain")]);
    assert!(contents(&place.exported("plain")) == contents(&place.beside("tree")), "plain");
    let piped = place
        .command(&["tar", "-x", "-C", &place.url("packed")])
        .stdin(fs::File::open(place.beside("packed.tar.gz")).unwrap())
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(piped.success());
    assert!(contents(&place.exported("packed")) == contents(&place.beside("tree")), "packed");
    use std::os::unix::fs::MetadataExt;
    let found = fs::metadata(place.exported("packed/large too")).unwrap();
    assert_eq!((found.nlink(), found.mtime()), (2, 1_000_000_000));
}

fn what_is_packed_tar_unpacks(version: &'static str) {
    let place = Place::new(version);
    plant(&place.exported(""));
    fs::hard_link(place.exported("large"), place.exported("large too")).unwrap();
    let archive = place.bytes(&["tar", "-c", "-C", &place.url("")]);
    fs::write(place.beside("made.tar"), archive).unwrap();
    fs::create_dir(place.beside("out")).unwrap();
    tar(&place, &["--extract", "--same-permissions", "--file", "made.tar", "--directory", "out"]);
    assert!(contents(&place.beside("out")) == contents(&place.exported("")));
}

fn an_archive_that_ends_early_is_told(version: &'static str) {
    let place = Place::new(version);
    fs::create_dir(place.beside("tree")).unwrap();
    plant(&place.beside("tree"));
    tar(&place, &["--create", "--file", "whole.tar", "tree"]);
    let whole = fs::read(place.beside("whole.tar")).unwrap();
    fs::write(place.beside("cut.tar"), &whole[..whole.len() / 2]).unwrap();
    let said = place.refusal(1, &["tar", "-x", "-f", "cut.tar", "-C", &place.url("cut")]);
    assert!(said.contains("cannot unpack"), "{said}");
    let said = place.refusal(3, &["tar", "-x", "-f", "none.tar", "-C", &place.url("cut")]);
    assert!(said.contains("none.tar"), "{said}");
}

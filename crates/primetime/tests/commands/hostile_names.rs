//! Servers that list names which no file can have.

use std::fs;
use std::path::Path;

use crate::altering::{Changes, relay};
use crate::in_all_versions;
use crate::place::Place;

in_all_versions! {
    copy_writes_nothing_outside_of_its_target
    lists_leave_out_what_is_no_name
    removal_asks_for_nothing_that_is_no_name
}

/// The names of the files, and what the relay makes of them.
const CHANGES: Changes = &[
    (b"Qleads-upwards", b"../../../upper"),
    (b"Qis-absolute", b"/upper/file1"),
    (b"Qholds-a-zero-byte", b"holds\0a-zero-byte!"),
    (b"Qleads-downwards", b"directory/below!"),
];

/// A server with one good file, one good directory, and files whose names are altered on the way.
fn planted(version: &'static str) -> Place {
    let place = Place::new(version);
    fs::create_dir(place.exported("tree")).unwrap();
    fs::create_dir(place.exported("tree/directory")).unwrap();
    for name in ["good", "Qleads-upwards", "Qis-absolute", "Qholds-a-zero-byte", "Qleads-downwards"] {
        fs::write(place.exported("tree").join(name), "data").unwrap();
    }
    let address = relay(place.address(), CHANGES);
    place.through(address)
}

/// Every name below a directory, sorted.
fn names_below(root: &Path) -> Vec<String> {
    crate::tree::contents(root).into_keys().map(|path| String::from_utf8(path).unwrap()).collect()
}

/// The command ends with its exit code, and one of its sentences counts four names.
fn refused(place: &Place, arguments: &[&str]) -> Vec<u8> {
    let output = place.run(arguments);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(4), "{arguments:?}: {said}");
    let told = said.lines().filter(|line| line.contains("names that no file can have")).count();
    assert_eq!(told, 1, "{arguments:?}: {said}");
    assert!(said.contains(" 4 names") && !said.contains('\0'), "{arguments:?}: {said}");
    output.stdout
}

fn copy_writes_nothing_outside_of_its_target(version: &'static str) {
    let place = planted(version);
    fs::create_dir_all(place.beside("a/b")).unwrap();
    for extra in [&[][..], &["-p"], &["-f"], &["--continue-on-error"]] {
        let url = place.url("tree");
        refused(&place, &[&["cp", "-r", &url, "a/b/target"], extra].concat());
        let found: Vec<_> = names_below(&place.beside("a"));
        assert_eq!(found, ["b", "b/target", "b/target/directory", "b/target/good"], "{extra:?}");
        fs::remove_dir_all(place.beside("a/b/target")).unwrap();
    }
    assert!(!place.beside("upper").exists() && !Path::new("/upper").exists());
    // From server to server: four names are not made anywhere else either.
    refused(&place, &["cp", "-r", &place.url("tree"), &place.url("across")]);
    assert_eq!(names_below(&place.exported("across")), ["directory", "good"]);
}

fn lists_leave_out_what_is_no_name(version: &'static str) {
    let place = planted(version);
    let url = place.url("tree");
    for arguments in [&["ls", &url][..], &["ls", "-U", &url], &["ls", "-a", "-1", &url]] {
        let listed = String::from_utf8(refused(&place, arguments)).unwrap();
        let mut names: Vec<_> = listed.lines().collect();
        names.sort_unstable();
        assert_eq!(names, ["directory", "good"], "{arguments:?}");
    }
    let listed = String::from_utf8(refused(&place, &["find", &url])).unwrap();
    assert_eq!(listed.lines().count(), 3, "{listed}");
    refused(&place, &["ls", "-R", &url]);
    let archive = refused(&place, &["tar", "-c", "-C", &url]);
    let mut archive = tar::Archive::new(&archive[..]);
    assert_eq!(archive.entries().unwrap().count(), 2);
}

fn removal_asks_for_nothing_that_is_no_name(version: &'static str) {
    let place = planted(version);
    refused(&place, &["find", &place.url("tree"), "-name", "g*", "-delete"]);
    assert!(!place.exported("tree/good").exists() && place.exported("tree/Qis-absolute").exists());
    refused(&place, &["rm", "-r", &place.url("tree")]);
    let left = names_below(&place.exported("tree"));
    assert_eq!(left, ["Qholds-a-zero-byte", "Qis-absolute", "Qleads-downwards", "Qleads-upwards"]);
}

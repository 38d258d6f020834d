//! `rm`.

use std::fs;
use std::os::unix::fs::symlink;

use crate::in_all_versions;
use crate::place::Place;
use crate::tree::plant;

in_all_versions! {
    a_tree_is_removed_with_everything_in_it
    nothing_is_removed_by_mistake
}

fn a_tree_is_removed_with_everything_in_it(version: &'static str) {
    let place = Place::new(version);
    fs::create_dir(place.exported("tree")).unwrap();
    plant(&place.exported("tree"));
    fs::write(place.exported("kept"), "").unwrap();
    symlink("../kept", place.exported("tree/a/up")).unwrap();
    let requests = place.requests(&["rm", "-r", &place.url("tree")]);
    assert!(!place.exported("tree").exists() && place.exported("kept").exists());
    // A REMOVE for each of 337 objects, a READDIR for each of 34 directories, and some for connecting and
    // leaving.
    assert!(requests <= 337 + 34 + 20, "{requests}");
}

fn nothing_is_removed_by_mistake(version: &'static str) {
    let place = Place::new(version);
    fs::create_dir(place.exported("empty")).unwrap();
    fs::write(place.exported("file"), "").unwrap();
    let said = place.refusal(1, &["rm", &place.url("empty")]);
    assert!(said.contains("give -r"), "{said}");
    assert!(place.exported("empty").exists(), "over NFSv4 one operation removes both");
    let said = place.refusal(1, &["rm", "-r", &place.url("")]);
    assert!(said.contains("--no-preserve-root"), "{said}");
    let said = place.refusals(1, &["rm", &place.url("none"), &place.url("file")]);
    assert!(said.len() == 1 && said[0].contains("no such file"), "{said:?}");
    assert!(!place.exported("file").exists(), "the rest was done");
    place.bytes(&["rm", "-f", &place.url("none")]);
    place.bytes(&["rm", "-r", "--no-preserve-root", &place.url("")]);
    assert_eq!(fs::read_dir(place.exported("")).unwrap().count(), 0);
}

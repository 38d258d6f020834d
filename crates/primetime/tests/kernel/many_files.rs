//! One guest: a directory of a hundred thousand entries, and a tree that is unpacked, built and compared.

use std::fs::File;

use netlab::guest::Lab;

use crate::guests::{Member, boot, entries, finish};
use crate::server::Server;

const ENTRIES: usize = 100_000;

#[test]
fn linux_lists_and_changes_a_directory_of_a_hundred_thousand_entries() {
    let Some(lab) = Lab::for_test() else { return };
    let server = Server::start(&lab);
    let large = server.directory().join("large");
    std::fs::create_dir(&large).unwrap();
    // All but every fifth: a guest would need minutes.
    for number in (1..=ENTRIES).filter(|number| number % 5 != 0) {
        File::create(large.join(format!("{number:06}{}", "x".repeat(number % 60)))).unwrap();
    }
    let member = Member {
        script: ". $EXCHANGE/directory.sh",
        files: &[
            ("directory.sh", include_str!("directory.sh")),
            ("directory.pl", include_str!("directory.pl")),
        ],
        env: &[("ENTRIES", &ENTRIES.to_string())],
        ..Member::default()
    };
    finish([boot(&lab, &member)]);
    assert_eq!(
        entries(&large),
        ENTRIES * 4 / 5 - ENTRIES / 20,
        "what the host made and the guest did not remove"
    );
}

#[test]
fn linux_unpacks_builds_and_compares_a_source_tree() {
    let Some(lab) = Lab::for_test() else { return };
    let server = Server::start(&lab);
    let member = Member {
        script: ". $EXCHANGE/tree.sh",
        files: &[("tree.sh", include_str!("tree.sh")), ("build.pl", include_str!("build.pl"))],
        env: &[("SOURCE", "/usr/include"), ("FILES", "3000"), ("OBJECTS", "200")],
        ..Member::default()
    };
    finish([boot(&lab, &member)]);
    assert_eq!(entries(server.directory()), 0, "nothing is left behind");
}

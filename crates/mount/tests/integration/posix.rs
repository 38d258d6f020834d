//! The same calls on the mounted tree and on a local directory.

use client::Version;

use crate::compared::{names, random_calls};
use crate::fixture::{Fixture, in_both_versions};

in_both_versions! {
    every_call_ends_as_on_a_local_file_system
    random_calls_end_as_on_a_local_file_system
}

fn every_call_ends_as_on_a_local_file_system(version: Version) {
    let fixture = Fixture::new();
    let mounted = fixture.mount(version);
    let local = tempfile::tempdir().unwrap();
    let (count, differences) = names::differences(mounted.root(), local.path(), &names::ALL);
    assert_eq!(differences, "", "of {count} calls");
    assert!(count > 250);
}

fn random_calls_end_as_on_a_local_file_system(version: Version) {
    let fixture = Fixture::new();
    let mounted = fixture.mount(version);
    let local = tempfile::tempdir().unwrap();
    random_calls::end_alike(mounted.root(), local.path(), 1500);
}

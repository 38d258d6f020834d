//! The end of a mount.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::time::Duration;

use client::{Client, Options, Url, Version};
use mount::{Mount, MountOptions};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use crate::compared::pattern;
use crate::fixture::{Fixture, can_mount, in_both_versions};

in_both_versions! {
    unmount_sends_dirty_data
}

/// The kernel tells of no close then.
fn unmount_sends_dirty_data(version: Version) {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: it needs root");
        return;
    }
    let fixture = Fixture::new();
    let mounted =
        fixture.mount_with(version, |options| options.waits.data = Duration::from_secs(3600), |_| {});
    let create = |name| OpenOptions::new().write(true).create_new(true).open(mounted.path(name)).unwrap();
    let (file, removed) = (create("file"), create("removed"));
    file.write_all_at(&pattern(10_000), 0).unwrap();
    removed.write_all_at(b"x", 0).unwrap();
    fs::remove_file(mounted.path("removed")).unwrap();
    assert_eq!(fs::metadata(fixture.export().join("file")).unwrap().len(), 0, "it is not sent");
    mounted.abort();
    file.sync_all().unwrap_err();
    drop((file, removed));
    mounted.ended().unwrap();
    assert_eq!(fs::read(fixture.export().join("file")).unwrap(), pattern(10_000));
    assert_eq!(fs::read_dir(fixture.export()).unwrap().count(), 1, "nothing else is left");
}

/// What somebody mounts there before the mount has noticed its end is in the same place as what was there
/// before it.
#[test]
fn only_the_tree_is_unmounted_and_not_what_is_in_its_place_then() {
    if !can_mount() || !rustix::process::geteuid().is_root() {
        eprintln!("skipped: it needs root");
        return;
    }
    let fixture = Fixture::new();
    let directory = tempfile::tempdir().unwrap();
    mount("none", directory.path(), "tmpfs", MountFlags::empty(), None).unwrap();
    let url: Url = format!("nfs://{}/", fixture.server.as_ref().unwrap().address()).parse().unwrap();
    let tree = fixture.runtime.block_on(async {
        let options = Options { versions: vec![Version::V4_2], ..Options::default() };
        let client = Client::connect(&url, options).await.unwrap();
        Mount::start(client, directory.path(), &MountOptions::new(url.to_string())).await.unwrap()
    });
    unmount(directory.path(), UnmountFlags::empty()).unwrap();
    fixture.runtime.block_on(tree.ended()).unwrap();
    unmount(directory.path(), UnmountFlags::empty()).unwrap();
}

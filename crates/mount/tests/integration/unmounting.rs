//! The end of a mount.

use client::{Client, Options, Url, Version};
use mount::{Mount, MountOptions};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use crate::fixture::{Fixture, can_mount};

/// What somebody mounts there before the mount has noticed its end is in the same place as what was there before it.
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

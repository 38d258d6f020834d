//! Set-id bits of a file that another user changes through `allow_other`, on a server that takes all users
//! for root.

use std::fs::{self, OpenOptions, Permissions};
use std::os::unix::fs::{FileExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::process::Command;

use client::Version;

use crate::fixture::{Fixture, Mounted, in_both_versions};

in_both_versions! {
    another_user_clears_set_id_bits_by_each_change
    root_keeps_set_id_bits
}

const OWNER: u32 = 1000;
const ANOTHER: u32 = 1001;
/// All users may write, and the group may execute: both bits count.
const MODE: u32 = 0o6777;

fn set_id_file(mounted: &Mounted) -> std::path::PathBuf {
    let path = mounted.path("file");
    fs::write(&path, "some data").unwrap();
    chown(&path, Some(OWNER), Some(OWNER)).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(MODE)).unwrap();
    assert_eq!(mode(&path), MODE);
    path
}

fn mode(path: &std::path::Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn another_user_clears_set_id_bits_by_each_change(version: Version) {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: it needs root");
        return;
    }
    let fixture = Fixture::new();
    let mounted = fixture.mount_with(version, |_| {}, |options| options.allow_other = true);
    for change in [r#"printf x >> "$0""#, r#"printf x 1<> "$0""#, r#": > "$0""#, r#"truncate -s 3 "$0""#] {
        let path = set_id_file(&mounted);
        let mut shell = Command::new("sh");
        let done = shell.args(["-c", change]).arg(&path).uid(ANOTHER).gid(ANOTHER).status().unwrap();
        assert!(done.success(), "{change}");
        assert_eq!(mode(&fixture.export().join("file")), 0o777, "{change}");
        assert_eq!(mode(&path), 0o777, "{change}");
    }
}

fn root_keeps_set_id_bits(version: Version) {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: it needs root");
        return;
    }
    let fixture = Fixture::new();
    let mounted = fixture.mount_with(version, |_| {}, |options| options.allow_other = true);
    let path = set_id_file(&mounted);
    OpenOptions::new().write(true).open(&path).unwrap().write_all_at(b"x", 0).unwrap();
    assert_eq!(mode(&fixture.export().join("file")), MODE);
}

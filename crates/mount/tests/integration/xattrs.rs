//! Extended attributes, the same calls on the mounted tree and on a local directory.

use std::fs::{self, File};

use client::Version;
use rustix::fs::{XattrFlags, setxattr};
use rustix::io::Errno;

use crate::compared::xattrs::{get, names, told};
use crate::fixture::{Fixture, can_mount};

#[test]
fn over_nfsv4_2_extended_attributes_are_those_of_a_local_file_system() {
    if !can_mount() {
        return;
    }
    let fixture = Fixture::new();
    let mounted = fixture.mount(Version::V4_2);
    let local = tempfile::tempdir().unwrap();
    for side in [mounted.root(), local.path()] {
        File::create(side.join("file")).unwrap();
        fs::create_dir(side.join("directory")).unwrap();
    }
    if setxattr(local.path(), "user.probe", b"", XattrFlags::empty()) == Err(Errno::OPNOTSUPP) {
        eprintln!("skipped: the local file system has no extended attributes");
        return;
    }
    for name in ["file", "directory"] {
        assert_eq!(told(&mounted.path(name)), told(&local.path().join(name)), "of a {name}");
    }
    setxattr(mounted.path("file"), "user.there", b"value", XattrFlags::empty()).unwrap();
    assert_eq!(get(&fixture.export().join("file"), "user.there").unwrap(), b"value", "at the server");
}

#[test]
fn older_versions_have_no_extended_attributes_and_say_so() {
    if !can_mount() {
        return;
    }
    let fixture = Fixture::new();
    for version in [Version::V3, Version::V4_1] {
        let mounted = fixture.mount(version);
        let path = mounted.path("file");
        fs::write(&path, "x").unwrap();
        assert_eq!(setxattr(&path, "user.one", b"1", XattrFlags::empty()), Err(Errno::OPNOTSUPP));
        assert_eq!(get(&path, "user.one"), Err(Errno::OPNOTSUPP));
        assert_eq!(names(&path), Ok(Vec::new()), "programs that copy files go on");
    }
}

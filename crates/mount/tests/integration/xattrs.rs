//! Extended attributes, the same calls on the mounted tree and on a local directory.

use std::fs::{self, File};
use std::path::Path;

use client::Version;
use rustix::fs::{XattrFlags, getxattr, listxattr, removexattr, setxattr};
use rustix::io::Errno;

use crate::fixture::{Fixture, can_mount};

/// The value, or the error.
fn get(path: &Path, name: &str) -> Result<Vec<u8>, Errno> {
    let mut value = Vec::with_capacity(70_000);
    getxattr(path, name, rustix::buffer::spare_capacity(&mut value))?;
    Ok(value)
}

fn names(path: &Path) -> Result<Vec<String>, Errno> {
    let mut list = Vec::with_capacity(70_000);
    listxattr(path, rustix::buffer::spare_capacity(&mut list))?;
    let text = String::from_utf8(list).unwrap();
    let mut names: Vec<String> = text.split_terminator('\0').map(str::to_owned).collect();
    names.sort();
    Ok(names)
}

fn told(path: &Path) -> Vec<String> {
    let mut told = Vec::new();
    let mut note = |outcome: &dyn std::fmt::Debug| told.push(format!("{outcome:?}"));
    note(&names(path));
    note(&get(path, "user.none"));
    note(&setxattr(path, "user.one", b"1", XattrFlags::CREATE));
    note(&setxattr(path, "user.one", b"2", XattrFlags::CREATE));
    note(&setxattr(path, "user.two", b"2", XattrFlags::REPLACE));
    note(&setxattr(path, "user.one", b"three", XattrFlags::REPLACE));
    note(&setxattr(path, "user.empty", b"", XattrFlags::empty()));
    note(&setxattr(path, "user.large", &[7; 3000], XattrFlags::empty()));
    note(&setxattr(path, "user.", b"x", XattrFlags::empty()));
    note(&setxattr(path, "other.name", b"x", XattrFlags::empty()));
    note(&get(path, "user.one"));
    note(&get(path, "user.empty"));
    note(&get(path, "user.large").map(|value| value == [7; 3000]));
    note(&getxattr(path, "user.one", &mut [0_u8; 2][..]));
    note(&names(path));
    note(&removexattr(path, "user.one"));
    note(&removexattr(path, "user.one"));
    note(&(get(path, "user.one"), names(path)));
    told
}

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

//! Extended attributes.

use std::path::Path;

use rustix::fs::{XattrFlags, getxattr, listxattr, removexattr, setxattr};
use rustix::io::Errno;

/// The value, or the error.
pub fn get(path: &Path, name: &str) -> Result<Vec<u8>, Errno> {
    let mut value = Vec::with_capacity(70_000);
    getxattr(path, name, rustix::buffer::spare_capacity(&mut value))?;
    Ok(value)
}

pub fn names(path: &Path) -> Result<Vec<String>, Errno> {
    let mut list = Vec::with_capacity(70_000);
    listxattr(path, rustix::buffer::spare_capacity(&mut list))?;
    let text = String::from_utf8(list).unwrap();
    let mut names: Vec<String> = text.split_terminator('\0').map(str::to_owned).collect();
    names.sort();
    Ok(names)
}

pub fn told(path: &Path) -> Vec<String> {
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

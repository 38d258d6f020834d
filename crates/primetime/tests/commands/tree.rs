//! A local tree of some three hundred files, and what can be compared of it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Files in the tree, links left out.
pub(crate) const FILES: usize = 302;

/// Bytes that no two places have in common.
pub(crate) fn pattern(length: usize) -> Vec<u8> {
    (0_u64..).flat_map(|word| word.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()).take(length).collect()
}

/// A file of holes but for pieces of data, each with its offset and length.
pub(crate) fn sparse(path: &Path, size: u64, pieces: &[(u64, usize)]) {
    let file = fs::File::create(path).unwrap();
    for (offset, length) in pieces {
        file.write_all_at(&pattern(length + 8)[8..], *offset).unwrap();
    }
    file.set_len(size).unwrap();
}

pub(crate) fn plant(root: &Path) {
    for index in 0..30 {
        let dir = root.join(format!("{}/{index}", ["a", "a/b", "c"][index % 3]));
        fs::create_dir_all(&dir).unwrap();
        for file in 0..10 {
            fs::write(dir.join(format!("file {file}")), pattern(97 * index + file)).unwrap();
        }
    }
    fs::write(root.join("large"), pattern(3_000_001)).unwrap();
    fs::write(root.join(std::ffi::OsStr::from_bytes(b"odd\n\xff%41")), "odd").unwrap();
    symlink("../nowhere", root.join("a/link")).unwrap();
    fs::set_permissions(root.join("large"), fs::Permissions::from_mode(0o751)).unwrap();
    fs::set_permissions(root.join("c/2"), fs::Permissions::from_mode(0o700)).unwrap();
    let time = SystemTime::UNIX_EPOCH + Duration::new(1_000_000_000, 123_456_789);
    fs::File::open(root.join("large")).unwrap().set_modified(time).unwrap();
    for dir in ["a/b", "a", "."] {
        fs::File::open(root.join(dir)).unwrap().set_modified(time).unwrap();
    }
}

/// What can be compared of an object: mode, time of modification, content.
pub(crate) type Object = (u32, (i64, i64), Vec<u8>);

/// Everything below a directory, by path.
pub(crate) fn objects(root: &Path) -> BTreeMap<Vec<u8>, Object> {
    let mut all = BTreeMap::new();
    let mut todo = vec![root.to_owned()];
    while let Some(dir) = todo.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let found = fs::symlink_metadata(&path).unwrap();
            let content = if found.is_dir() {
                todo.push(path.clone());
                Vec::new()
            } else if found.is_symlink() {
                fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
            } else {
                fs::read(&path).unwrap()
            };
            let object = (found.mode(), (found.mtime(), found.mtime_nsec()), content);
            all.insert(path.strip_prefix(root).unwrap().as_os_str().as_bytes().to_vec(), object);
        }
    }
    all
}

/// Without times.
pub(crate) fn contents(root: &Path) -> BTreeMap<Vec<u8>, (u32, Vec<u8>)> {
    objects(root).into_iter().map(|(path, (mode, _, content))| (path, (mode, content))).collect()
}

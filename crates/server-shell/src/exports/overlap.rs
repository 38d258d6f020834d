//! Directories that are exported twice: the same, or one in the other. What is in both could be reached by
//! the rules of either, and locks of one would not be seen in the other.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::terms::Wrong;

/// Where a directory is in its file system, whatever is mounted where.
#[derive(Debug, Clone, PartialEq, Eq)]
struct DirectoryLocation {
    /// As the kernel writes it.
    device: String,
    path: PathBuf,
}

/// Finds two of these directories, which have no symbolic links in them, that overlap.
pub(super) fn check(directories: &[&Path]) -> Result<(), Wrong> {
    let mounts = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
    let places: Vec<_> = directories.iter().map(|directory| place(&mounts, directory)).collect();
    for (index, one) in places.iter().enumerate() {
        for (other, at) in places[..index].iter().zip(directories) {
            let (inner, outer) = match () {
                () if one.device != other.device => continue,
                () if one.path == other.path => {
                    let (one, other) = (directories[index].display(), at.display());
                    return Err(format!("{one} and {other} are the same directory; export it once"));
                }
                () if one.path.starts_with(&other.path) => (directories[index], *at),
                () if other.path.starts_with(&one.path) => (*at, directories[index]),
                () => continue,
            };
            return Err(format!(
                "{} is in {}, which is exported too, and clients would reach it by the rules of either; \
                 export one of them",
                inner.display(),
                outer.display()
            ));
        }
    }
    Ok(())
}

/// True when `path` is in `directory` or is `directory`, wherever either is mounted. Both have no symbolic
/// links in them.
pub(super) fn is_inside(path: &Path, directory: &Path) -> bool {
    let mounts = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
    let (inner, outer) = (place(&mounts, path), place(&mounts, directory));
    path.starts_with(directory) || (inner.device == outer.device && inner.path.starts_with(&outer.path))
}

/// The last mount over the directory is the one that shows it.
fn place(mounts: &[u8], directory: &Path) -> DirectoryLocation {
    let lines = mounts.split(|byte| *byte == b'\n').filter_map(mount);
    let over = lines.filter(|(_, _, point)| directory.starts_with(point));
    // Of the deepest the one that came last is on top.
    match over.max_by_key(|(_, _, point)| point.components().count()) {
        Some((device, root, point)) => {
            let below = directory.strip_prefix(&point).unwrap_or(Path::new(""));
            DirectoryLocation { device, path: root.join(below) }
        }
        None => DirectoryLocation { device: String::new(), path: directory.to_owned() },
    }
}

/// Device, root and mount point of a line of mountinfo (proc_pid_mountinfo(5)).
fn mount(line: &[u8]) -> Option<(String, PathBuf, PathBuf)> {
    let mut fields = line.split(|byte| *byte == b' ').skip(2);
    let device = String::from_utf8_lossy(fields.next()?).into_owned();
    Some((device, unescape(fields.next()?), unescape(fields.next()?)))
}

/// Space, tab, newline and backslash are written as three octal digits.
fn unescape(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((byte, after)) = rest.split_first() {
        let digits = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()).filter(|_| *byte == b'\\') {
            Some(escaped) => {
                bytes.push(escaped);
                rest = &after[3..];
            }
            None => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    PathBuf::from(std::ffi::OsStr::from_bytes(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &[u8] = b"20 1 8:1 / / rw - ext4 /dev/a rw\n\
        21 20 8:2 / /data rw - ext4 /dev/b rw\n\
        22 20 8:1 /srv/x /mnt/bind\\040here rw - ext4 /dev/a rw\n\
        23 20 8:3 / /data rw - ext4 /dev/c rw\n";

    fn at(path: &str) -> (String, String) {
        let place = place(MOUNTS, Path::new(path));
        (place.device, place.path.display().to_string())
    }

    #[test]
    fn a_place_is_that_in_the_file_system_that_is_seen() {
        assert_eq!(at("/srv/x/y"), ("8:1".into(), "/srv/x/y".into()));
        assert_eq!(at("/mnt/bind here/y"), ("8:1".into(), "/srv/x/y".into()));
        assert_eq!(at("/data/y"), ("8:3".into(), "/y".into()), "the last mount hides the first");
        assert_eq!(at("/database"), ("8:1".into(), "/database".into()));
    }

    #[test]
    fn the_same_directory_and_one_in_another_are_found() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let path = |name: &str| root.join(name);
        assert!(check(&[&path("a"), &path("b"), &path("ab")]).is_ok());
        assert!(check(&[&path("a"), &path("b"), &path("a")]).unwrap_err().contains("same directory"));
        for pair in [[path("a"), path("a/b")], [path("a/b"), path("a")]] {
            let wrong = check(&[&pair[0], &pair[1]]).unwrap_err();
            assert!(wrong.contains("a/b is in "), "{wrong}");
        }
    }
}

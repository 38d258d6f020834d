//! The same calls on a mounted tree and on a local directory, whatever server is behind the mount.

mod cases;
pub mod flocks;
pub mod names;
pub mod processes;
pub mod random_calls;
pub mod sparse;
pub mod xattrs;

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// What a call came to: `ok` with what it tells, or the error's number.
fn told<T: std::fmt::Debug>(outcome: io::Result<T>) -> String {
    match outcome {
        Ok(value) => format!("{value:?}"),
        Err(error) => match error.raw_os_error() {
            Some(number) => format!("{:?}", rustix::io::Errno::from_raw_os_error(number)),
            None => format!("{:?}", error.kind()),
        },
    }
}

fn open(path: &Path, flags: OFlags) -> io::Result<File> {
    Ok(File::from(rustix::fs::open(path, flags, Mode::from_raw_mode(0o644))?))
}

/// Everything about an object that does not depend on when and where.
fn stat(path: &Path) -> io::Result<(u32, u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let metadata = fs::symlink_metadata(path)?;
    // The length of a directory is the file system's own affair.
    let length = if metadata.is_dir() { 0 } else { metadata.len() };
    Ok((metadata.mode(), metadata.nlink() * u64::from(!metadata.is_dir()), length))
}

fn truncate(path: &Path, length: u64) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.set_len(length)
}

/// Bytes of which no two neighbouring words are the same.
pub fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i.wrapping_mul(2_654_435_761) >> 7) as u8).collect()
}

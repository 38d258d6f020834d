//! The same listing without a server: getdents64(2), and statx(2) by name relative to the directory.

use std::fs::File;
use std::mem::MaybeUninit;
use std::path::Path;
use std::time::Instant;

use rustix::fs::{AtFlags, RawDir, StatxFlags, statx};

use crate::entries::Seen;

/// What the C library reads at a time.
const BUFFER_BYTES: usize = 32 * 1024;

/// Lists a directory and returns how many seconds that took.
pub fn list(path: &Path, entries: usize) -> f64 {
    let mut seen = Seen::new(entries);
    let start = Instant::now();
    let directory = File::open(path).expect("directory");
    let mut buffer = [MaybeUninit::uninit(); BUFFER_BYTES];
    let mut listing = RawDir::new(&directory, &mut buffer);
    let mut others = 0;
    while let Some(entry) = listing.next() {
        let entry = entry.expect("entry");
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
        let stat = statx(&directory, entry.file_name(), flags, StatxFlags::BASIC_STATS).expect("attributes");
        others += usize::from(stat.stx_size != 0);
        seen.take(entry.file_name().to_bytes());
    }
    let seconds = start.elapsed().as_secs_f64();
    assert!(others <= 2, "the files are empty");
    seen.check(entries);
    seconds
}

//! The same listing without a server: getdents64(2), and statx(2) by name relative to the directory.

use std::fs::File;
use std::mem::MaybeUninit;
use std::path::Path;
use std::time::Instant;

use rustix::fs::{AtFlags, RawDir, StatxFlags, statx};
use rustix::time::{ClockId, clock_gettime};

use crate::entries::Seen;
use crate::listing::Listed;

/// What the C library reads at a time.
const BUFFER_BYTES: usize = 32 * 1024;

/// Lists a directory.
pub fn list(path: &Path, entries: usize) -> Listed {
    let mut seen = Seen::new(entries);
    let (start, processor_before) = (Instant::now(), processor_seconds());
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
    let processor_seconds = processor_seconds() - processor_before;
    assert!(others <= 2, "the files are empty");
    seen.check(entries);
    Listed { seconds, requests: 0, reader_seconds: seconds, processor_seconds }
}

/// What this thread has had of the processor.
fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

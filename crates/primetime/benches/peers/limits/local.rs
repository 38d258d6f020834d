//! The local file system.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::rows::KIB_64;
use crate::target::FILE_BYTES;

pub fn creates_per_second(directory: &Path, synced: bool, duration: Duration) -> f64 {
    let (start, mut files) = (Instant::now(), 0u32);
    while start.elapsed() < duration {
        let name = directory.join(format!("{files:016}"));
        let file = OpenOptions::new().write(true).create_new(true).open(name).expect("a new file");
        if synced {
            file.sync_all().expect("fsync");
        }
        files += 1;
    }
    f64::from(files) / start.elapsed().as_secs_f64()
}

pub fn synced_writes_per_second(directory: &Path, duration: Duration) -> f64 {
    let mut writer = SyncedWriter::new(directory);
    let block = vec![2; KIB_64 as usize];
    let start = Instant::now();
    while start.elapsed() < duration {
        writer.write(&block);
    }
    writer.writes as f64 / start.elapsed().as_secs_f64()
}

/// Writes blocks that follow on each other, again from the start at the end of the file, each on the disk
/// before the next.
pub struct SyncedWriter {
    file: File,
    pub writes: u64,
}

impl SyncedWriter {
    pub fn new(directory: &Path) -> Self {
        let path = directory.join("file");
        fs::write(&path, vec![1; FILE_BYTES as usize]).expect("file");
        let o_sync = rustix::fs::OFlags::SYNC.bits() as i32;
        let file = OpenOptions::new().write(true).custom_flags(o_sync).open(path).expect("file");
        Self { file, writes: 0 }
    }

    pub fn write(&mut self, block: &[u8]) {
        let offset = self.writes * block.len() as u64 % u64::from(FILE_BYTES);
        self.file.write_all_at(block, offset).expect("written");
        self.writes += 1;
    }
}

//! The local file system.

use std::fs::OpenOptions;
use std::path::Path;
use std::time::{Duration, Instant};

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

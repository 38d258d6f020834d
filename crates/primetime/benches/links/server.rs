//! Our server: a process with a durable export, as is the default, and the files that clients read.

use std::fs::{self, File};
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;

use tempfile::TempDir;

use crate::CROWDS;
use crate::nfs::file_to_read;
use crate::options::Options;
use crate::window::WARM_UP;
use served::Served;

#[path = "../../tests/support/served.rs"]
mod served;

pub struct Server {
    served: Served,
    /// Removed at the end.
    _folder: TempDir,
}

impl Server {
    pub fn start(options: &Options) -> Self {
        let folder = tempfile::tempdir_in(&options.folder).expect("temporary directory");
        let export = folder.path().join("export");
        fs::create_dir(&export).expect("export");
        prepare(&export, options);
        Self { served: Served::start(None, &export, folder.path(), ""), _folder: folder }
    }

    pub fn address(&self) -> SocketAddr {
        self.served.address
    }
}

/// Makes the files that are read; having been written, they are in the page cache. Each lasts for a run of a
/// client that has the link alone, or with others twice its share.
fn prepare(export: &Path, options: &Options) {
    let seconds = (WARM_UP + options.duration).as_secs_f64() * 1.2;
    let alone_bytes = (options.bytes_per_second() as f64 * seconds) as usize;
    for crowd in CROWDS {
        let bytes = if crowd == 1 { alone_bytes } else { alone_bytes * 2 / crowd };
        for reader in 0..crowd {
            write(&export.join(file_to_read(crowd, reader)), bytes);
        }
    }
}

fn write(path: &Path, bytes: usize) {
    let block: Vec<u8> = (0..1 << 20).map(|at: u32| (at % 251) as u8).collect();
    let mut file = File::create(path).expect("file");
    let mut left = bytes;
    while left > 0 {
        let part = left.min(block.len());
        file.write_all(&block[..part]).expect("data");
        left -= part;
    }
    // Else the disk would have to do with them while others are measured.
    file.sync_all().expect("data");
}

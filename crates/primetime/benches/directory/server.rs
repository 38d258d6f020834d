//! Our server, with a durable export as is the default.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::listing::Place;
use crate::process::Process;
use served::Served;

#[path = "../../tests/support/served.rs"]
mod served;

/// Ended when dropped.
pub struct Server {
    served: Served,
    _folder: TempDir,
}

impl Server {
    pub fn start(export: &Path) -> Self {
        let folder = tempfile::tempdir().expect("temporary directory");
        Self { served: Served::start(None, export, folder.path(), ""), _folder: folder }
    }

    pub fn place(&self) -> Place {
        Place {
            address: self.served.address,
            mount_address: self.served.address,
            paths: ["/", "/"],
            process: Process(self.served.process.id()),
        }
    }

    pub fn open_descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.served.process.id())).expect("a running process").count()
    }
}

//! The servers, and what they serve.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command};

use netlab::guest::Lab;
use tempfile::TempDir;

use crate::{Arm, Size};

#[path = "../../tests/support/ready.rs"]
mod ready;

/// Of small files.
const FILE_BYTES: usize = 4096;
/// Of files in the tree at most.
const TREE_FILE_BYTES_MAX: usize = 12_000;

/// Two servers of one directory are two servers: each has a directory of its own.
pub(crate) struct Place {
    pub(crate) directory: TempDir,
    servers: Vec<(bool, Child, SocketAddr)>,
}

impl Place {
    pub(crate) fn prepare(lab: &Lab, size: Size) -> Self {
        // On a disk: what is acknowledged must lie on one.
        let directory = tempfile::tempdir_in("/var/tmp").unwrap();
        tree(&directory.path().join("source/tree"), size);
        let tar = directory.path().join("tree.tar");
        let source = directory.path().join("source");
        let packed =
            Command::new("tar").arg("-cf").arg(&tar).arg("-C").arg(source).arg("tree").status().unwrap();
        assert!(packed.success());
        let servers = [true, false].map(|delegations| {
            let export = directory.path().join(format!("export-{delegations}"));
            fs::create_dir(&export).unwrap();
            for number in 1..=size.files {
                fs::write(export.join(format!("f{number}")), vec![b'x'; FILE_BYTES]).unwrap();
            }
            let (child, address) = serve(lab, &export, delegations);
            (delegations, child, address)
        });
        Self { directory, servers: servers.into() }
    }

    pub(crate) fn server(&self, arm: Arm) -> SocketAddr {
        self.servers.iter().find(|(delegations, ..)| *delegations == arm.delegations).unwrap().2
    }

    pub(crate) fn tar(&self) -> PathBuf {
        self.directory.path().join("tree.tar")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for (_, server, _) in &mut self.servers {
            // Both fail only if it has ended before.
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

fn serve(lab: &Lab, export: &std::path::Path, delegations: bool) -> (Child, SocketAddr) {
    let listen = SocketAddr::new(lab.host_address(), 0).to_string();
    let mut command = lab.command(env!("CARGO_BIN_EXE_primetime"));
    command.arg("serve").arg(export).args(["--listen", &listen, "--forget", "--no-root-squash"]);
    if !delegations {
        command.arg("--no-delegations");
    }
    ready::start(&mut command)
}

/// Sizes that look drawn, and are the same every time.
fn tree(root: &std::path::Path, size: Size) {
    let block: Vec<u8> =
        (0..TREE_FILE_BYTES_MAX).map(|i| (i.wrapping_mul(2_654_435_761) >> 9) as u8).collect();
    for directory in 0..size.tree_directories {
        // Three levels, as sources have them.
        let path = root.join(format!("part{}/module{}/directory{directory}", directory % 5, directory % 25));
        fs::create_dir_all(&path).unwrap();
        for file in (directory..size.tree_files).step_by(size.tree_directories) {
            let bytes = file.wrapping_mul(7919) % TREE_FILE_BYTES_MAX;
            fs::write(path.join(format!("file{file}.c")), &block[..bytes]).unwrap();
        }
    }
}

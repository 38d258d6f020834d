//! A server that can be killed and started again, a process of its own. Nobody who starts processes has a
//! file of the mount open: a process that is on its way to become the server would close its copy, and wait
//! for the server for that.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use tempfile::TempDir;

use crate::ready;

/// A server process; killed when this is dropped.
pub struct Server {
    place: TempDir,
    child: Child,
    address: SocketAddr,
}

impl Server {
    pub fn start() -> Self {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("export")).unwrap();
        let (child, address) = serve(place.path(), SocketAddr::new(own_address(), 0));
        Self { place, child, address }
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts it once more where it was.
    pub fn start_again(&mut self) {
        (self.child, _) = serve(self.place.path(), self.address);
    }

    /// The root of its tree.
    pub fn url(&self) -> String {
        format!("nfs://{}/", self.address)
    }

    /// Where it keeps the files.
    pub fn export(&self) -> PathBuf {
        self.place.path().join("export")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An address that servers of other tests do not listen at: a port is free for a moment when its server was
/// killed.
fn own_address() -> IpAddr {
    let [.., high, low] = std::process::id().to_be_bytes();
    IpAddr::from([127, 77, high, low.clamp(1, 254)])
}

fn serve(place: &Path, address: SocketAddr) -> (Child, SocketAddr) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_primetime"));
    command
        .args(["serve", "export", "--state-dir", "state", "--no-root-squash", "--listen"])
        .arg(address.to_string())
        .current_dir(place);
    ready::start(&mut command)
}

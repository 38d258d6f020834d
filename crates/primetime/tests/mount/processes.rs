//! A server that can be killed and started again, and a mount of its tree, each a process of its own. Nobody who starts
//! processes has a file of the mount open: a process that is on its way to become the server would close its copy, and wait for the
//! server for that.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::mount::{UnmountFlags, unmount};
use tempfile::TempDir;

use crate::ready;

/// How long the kernel and the mount may take for what they do without the server.
const PATIENCE: Duration = Duration::from_secs(60);

/// True where trees can be mounted; says why not otherwise.
pub fn can_mount() -> bool {
    let possible = rustix::process::geteuid().is_root()
        && fs::File::options().read(true).write(true).open("/dev/fuse").is_ok();
    if !possible {
        eprintln!("skipped: it needs root and /dev/fuse");
    }
    possible
}

/// A server process; killed when this is dropped.
pub struct Server {
    place: TempDir,
    child: Child,
    pub address: SocketAddr,
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

/// An address that servers of other tests do not listen at: a port is free for a moment when its server was killed.
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

/// A mount process. When this is dropped the kernel forgets the mount, whatever it waits for.
pub struct Mounted {
    directory: TempDir,
    child: Child,
    /// The kernel's number of the conversation.
    connection: u32,
}

impl Mounted {
    pub fn start(server: &Server, options: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_primetime"))
            .args(["mount", "--foreground", "-o", options])
            .arg(format!("nfs://{}/", server.address))
            .arg(directory.path())
            .stderr(fs::File::create(server.place.path().join("mount.log")).unwrap())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let deadline = Instant::now() + PATIENCE;
        let connection = loop {
            if let Some(number) = connection_of(directory.path()) {
                break number;
            }
            assert!(child.try_wait().unwrap().is_none() && Instant::now() < deadline, "nothing was mounted");
            std::thread::sleep(Duration::from_millis(5));
        };
        Self { directory, child, connection }
    }

    pub fn root(&self) -> &Path {
        self.directory.path()
    }

    /// The kernel gives up everything that it waits for, whoever waits.
    pub fn abort(&self) {
        let _ = fs::write(format!("/sys/fs/fuse/connections/{}/abort", self.connection), "1");
    }

    /// Unmounts it. True when the mount process says that everything arrived.
    pub fn unmount(mut self) -> bool {
        unmount(self.directory.path(), UnmountFlags::empty()).unwrap();
        wait(&mut self.child, PATIENCE).expect("the mount process ends").success()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if connection_of(self.directory.path()).is_some() {
            self.abort();
            let _ = unmount(self.directory.path(), UnmountFlags::DETACH);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits for the end of a process, up to `patience`.
pub fn wait(child: &mut Child, patience: Duration) -> Option<std::process::ExitStatus> {
    let deadline = Instant::now() + patience;
    loop {
        match child.try_wait().unwrap() {
            Some(status) => return Some(status),
            None if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(5)),
            None => return None,
        }
    }
}

/// What the kernel calls the mount on `directory`, without asking the mount.
fn connection_of(directory: &Path) -> Option<u32> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    mounts.lines().find_map(|line| {
        let mut words = line.split(' ');
        let device = words.nth(2)?;
        (words.nth(1)? == directory.to_str()?).then(|| device.split_once(':')?.1.parse().ok())?
    })
}

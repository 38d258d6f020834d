//! `primetime mount`, a process of its own.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::mount::{UnmountFlags, unmount};
use tempfile::TempDir;

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

/// A mount process. When this is dropped the kernel forgets the mount, whatever it waits for.
pub struct Mounted {
    directory: TempDir,
    child: Child,
    /// The kernel's number of the conversation.
    connection: u32,
    /// What it says.
    log: File,
}

impl Mounted {
    /// `options` are those of `-o`.
    pub fn start(url: &str, options: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let log = tempfile::tempfile().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_primetime"))
            .args(["mount", "--foreground", "-o", options])
            .arg(url)
            .arg(directory.path())
            .stderr(log.try_clone().unwrap())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let deadline = Instant::now() + PATIENCE;
        let connection = loop {
            if let Some(number) = connection_of(directory.path()) {
                break number;
            }
            let alive = child.try_wait().unwrap().is_none() && Instant::now() < deadline;
            assert!(alive, "nothing was mounted of {url}: {}", read(&log));
            std::thread::sleep(Duration::from_millis(5));
        };
        Self { directory, child, connection, log }
    }

    pub fn root(&self) -> &Path {
        self.directory.path()
    }

    /// The number of the mount process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The kernel gives up everything that it waits for, whoever waits.
    pub fn abort(&self) {
        let _ = fs::write(format!("/sys/fs/fuse/connections/{}/abort", self.connection), "1");
    }

    /// Unmounts it. True when the mount process says that everything arrived.
    pub fn unmount(mut self) -> bool {
        // For good when nobody holds it any more: a command that another thread has just started holds all
        // that was open here until it is another program.
        unmount(self.directory.path(), UnmountFlags::DETACH).unwrap();
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
        eprint!("{}", read(&self.log));
    }
}

/// All that was written to a file by whoever shares it.
fn read(log: &File) -> String {
    let mut text = vec![0; log.metadata().unwrap().len() as usize];
    log.read_exact_at(&mut text, 0).unwrap();
    String::from_utf8_lossy(&text).into_owned()
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

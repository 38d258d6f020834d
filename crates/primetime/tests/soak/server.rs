//! A server process in a control group of its own, and the memory that it takes.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

#[path = "../support/ready.rs"]
mod ready;

/// The limit of the control group in bytes.
pub const LIMIT_BYTES: u64 = 256 << 20;

/// What a server in such a group takes for its budget; where no group can be made it is told to.
const CONFIGURATION: &str = "no_root_squash = true\nasync = true\nlisten = \"127.0.0.1:0\"\n";

pub struct Server {
    child: Child,
    address: SocketAddr,
    place: tempfile::TempDir,
    group: Option<Group>,
}

impl Server {
    pub fn start() -> Self {
        let place = tempfile::tempdir().unwrap();
        let (export, config) = (place.path().join("export"), place.path().join("primetime.toml"));
        fs::create_dir(&export).unwrap();
        fs::set_permissions(&export, fs::Permissions::from_mode(0o777)).unwrap();
        let group = Group::make();
        if group.is_none() {
            println!(
                "no control group can be made: the limit of memory is not set, and the server is told its \
                 budget"
            );
        }
        let limits = if group.is_some() { "" } else { "[limits]\nmemory_bytes_max = 67108864\n" };
        fs::write(&config, format!("{CONFIGURATION}{limits}")).unwrap();
        let mut command = match &group {
            Some(group) => {
                let mut shell = Command::new("sh");
                shell.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(group.0.join("cgroup.procs"));
                shell.arg(env!("CARGO_BIN_EXE_primetime"));
                shell
            }
            None => Command::new(env!("CARGO_BIN_EXE_primetime")),
        };
        command.arg("serve").arg(export).arg("--config").arg(config);
        command.arg("--state-dir").arg(place.path().join("state"));
        let (child, address) = ready::start(&mut command);
        Self { child, address, place, group }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The directory that is exported.
    pub fn export(&self) -> PathBuf {
        self.place.path().join("export")
    }

    pub fn is_alive(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// The most memory that the process had in bytes, and its control group, if it has one.
    pub fn peak_bytes(&self) -> (u64, Option<u64>) {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let own = line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024;
        (own, self.group.as_ref().map(Group::peak_bytes))
    }

    /// The output of `primetime ctl status`.
    pub fn status(&self) -> serde_json::Value {
        let mut command = Command::new(env!("CARGO_BIN_EXE_primetime"));
        let socket = self.place.path().join("state/control.sock");
        let output = command.args(["ctl", "status", "--json", "--socket"]).arg(socket).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be dead already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A control group below this process's own, with a limit of memory (version 1; one of version 2 cannot
/// have processes beside groups).
struct Group(PathBuf);

impl Group {
    fn make() -> Option<Self> {
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        let own = groups.lines().find_map(|line| line.split_once(":memory:"))?.1;
        let parent = Path::new("/sys/fs/cgroup/memory").join(own.trim_start_matches('/'));
        let group = Self(parent.join(format!("primetime-soak-{}-{}", std::process::id(), next_number())));
        fs::create_dir(&group.0).ok()?;
        fs::write(group.0.join("memory.limit_in_bytes"), LIMIT_BYTES.to_string()).ok()?;
        Some(group)
    }

    fn peak_bytes(&self) -> u64 {
        let text = fs::read_to_string(self.0.join("memory.max_usage_in_bytes")).unwrap();
        text.trim().parse().unwrap()
    }
}

/// Tells apart the groups of one process.
fn next_number() -> usize {
    static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}

impl Drop for Group {
    fn drop(&mut self) {
        // Of the fields of a server it goes last, when the process is gone.
        let _ = fs::remove_dir(&self.0);
    }
}

//! NFS-Ganesha (Debian packages nfs-ganesha and nfs-ganesha-vfs), a process in the lab.

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use netlab::guest::Lab;
use tempfile::TempDir;

use super::Place;

/// What Ganesha writes into its log when it answers.
const READY: &str = "NFS SERVER INITIALIZED";
const START_LIMIT: Duration = Duration::from_secs(60);

/// Ended when dropped.
pub(crate) struct Ganesha {
    process: Child,
    folder: TempDir,
    host: IpAddr,
}

impl Ganesha {
    /// Serves an empty directory for so long at most. `None`, with the reason on standard error, where it is
    /// not installed; on a machine of the continuous integration it must be.
    pub(crate) fn start(lab: &Lab, time_limit: Duration) -> Option<Self> {
        Self::start_with(lab, time_limit, true)
    }

    /// The same; MOUNT knows its export by the path of NFSv4, or else by that of the directory.
    pub(crate) fn start_with(lab: &Lab, time_limit: Duration, has_one_path: bool) -> Option<Self> {
        if Command::new("ganesha.nfsd").arg("-v").output().is_err() {
            let reason = "there is no ganesha.nfsd (Debian packages nfs-ganesha and nfs-ganesha-vfs)";
            assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "{reason}");
            eprintln!("skipped: {reason}");
            return None;
        }
        // Not below /run, which it does not see.
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        for directory in ["export", "recovery"] {
            fs::create_dir(folder.path().join(directory)).unwrap();
        }
        let configuration = include_str!("ganesha.conf")
            .replace("FOLDER", folder.path().to_str().unwrap())
            .replace("ONE_PATH", if has_one_path { "true" } else { "false" });
        fs::write(folder.path().join("ganesha.conf"), configuration).unwrap();
        fs::write(folder.path().join("log"), "").unwrap();
        let process = lab
            .command("unshare")
            .args(["--mount", "--pid", "--fork", "--kill-child=KILL", "--mount-proc"])
            .args(["timeout", "--signal=KILL", &time_limit.as_secs().to_string()])
            .args(["sh", "-c", include_str!("ganesha.sh"), "ganesha.sh"])
            .arg(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self { process, folder, host: lab.host_address() };
        server.await_ready();
        Some(server)
    }

    pub(crate) fn place(&self) -> Place {
        Place { host: self.host, port: 22049, mount_port: 22050, path: "/export" }
    }

    /// The directory that it serves.
    pub(crate) fn export(&self) -> PathBuf {
        self.folder.path().join("export")
    }

    /// The process that was started, of whose children one is the server.
    pub(crate) fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Kills it in the middle of whatever it does, and starts it again.
    pub(crate) fn kill_and_restart(&self) {
        let request = self.folder.path().join("restart");
        fs::write(&request, "").unwrap();
        let begun = Instant::now();
        while request.exists() {
            assert!(begun.elapsed() < START_LIMIT, "nobody restarts it");
            thread::sleep(Duration::from_millis(10));
        }
        self.await_ready();
    }

    fn await_ready(&self) {
        let log = self.log();
        let begun = Instant::now();
        while !fs::read_to_string(&log).unwrap().contains(READY) {
            assert!(
                begun.elapsed() < START_LIMIT,
                "it does not start: {}",
                fs::read_to_string(&log).unwrap()
            );
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn log(&self) -> impl AsRef<Path> + use<> {
        self.folder.path().join("log")
    }
}

impl Drop for Ganesha {
    fn drop(&mut self) {
        // Both fail only if it has ended before.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

//! `primetime mount` as a user runs it: into the background, used, and unmounted.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// A server, killed at the end, and the address of its tree.
struct Server(Child, String);

impl Server {
    fn start(export: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_primetime"))
            .arg("serve")
            .arg(export)
            .args(["--listen", "127.0.0.1:0", "--forget", "--no-root-squash"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let url = lines.find_map(|line| line.unwrap().strip_prefix("ready ").map(str::to_owned)).unwrap();
        Self(child, url)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn mount(arguments: &[&str]) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_primetime")).arg("mount").args(arguments).output().unwrap()
}

fn is_mounted(directory: &Path) -> bool {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    mounts.lines().any(|line| line.split(' ').nth(1) == directory.to_str())
}

#[test]
fn a_tree_is_mounted_in_the_background_used_and_unmounted() {
    if !rustix::process::geteuid().is_root() || fs::File::open("/dev/fuse").is_err() {
        eprintln!("skipped: it needs root and /dev/fuse");
        return;
    }
    let (export, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = Server::start(export.path());
    for options in ["vers=3,noatime", "vers=4.1,allow_other"] {
        let output = mount(&[&server.1, place.path().to_str().unwrap(), "-o", options]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(is_mounted(place.path()));
        fs::write(place.path().join("file"), options).unwrap();
        assert_eq!(fs::read_to_string(place.path().join("file")).unwrap(), options);
        rustix::mount::unmount(place.path(), rustix::mount::UnmountFlags::empty()).unwrap();
        assert!(!is_mounted(place.path()));
        assert_eq!(fs::read_to_string(export.path().join("file")).unwrap(), options);
    }
    let output = mount(&[&server.1, place.path().to_str().unwrap(), "--read-only"]);
    assert!(output.status.success());
    let refused = fs::write(place.path().join("file"), "x").unwrap_err();
    rustix::mount::unmount(place.path(), rustix::mount::UnmountFlags::empty()).unwrap();
    assert_eq!(refused.kind(), std::io::ErrorKind::ReadOnlyFilesystem);
}

/// Waits until `done`; a minute is more than any machine needs.
fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn mount_ends_by_sigterm_though_its_server_answers_nothing() {
    if !rustix::process::geteuid().is_root() || fs::File::open("/dev/fuse").is_err() {
        eprintln!("skipped: it needs root and /dev/fuse");
        return;
    }
    for (version, unmounted, server_is_gone) in [
        ("vers=3", true, true),
        ("vers=4.1", true, true),
        ("vers=4.2", true, true),
        ("vers=4.1", false, true),
        ("vers=3", true, false),
        ("vers=4.1", true, false),
        ("vers=4.2", true, false),
        ("vers=4.1", false, false),
    ] {
        let (export, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let server = Server::start(export.path());
        let mut mounted = Command::new(env!("CARGO_BIN_EXE_primetime"))
            .args(["mount", "--foreground", "-o", version, &server.1])
            .arg(place.path())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_until("it is mounted", || is_mounted(place.path()));
        fs::write(place.path().join("file"), "data").unwrap();
        // In this order the mount cannot give back what the server keeps for it. A server that is gone
        // refuses connections, a stopped one keeps them and answers nothing.
        let server = if server_is_gone {
            drop(server);
            None
        } else {
            kill_process(Pid::from_child(&server.0), Signal::STOP).unwrap();
            Some(server)
        };
        if unmounted {
            rustix::mount::unmount(place.path(), rustix::mount::UnmountFlags::DETACH).unwrap();
        }
        kill_process(Pid::from_child(&mounted), Signal::TERM).unwrap();
        wait_until("the process has ended", || mounted.try_wait().unwrap().is_some());
        assert!(!is_mounted(place.path()));
        drop(server);
        assert_eq!(fs::read_to_string(export.path().join("file")).unwrap(), "data");
    }
}

#[test]
fn failed_mount_is_one_sentence() {
    for arguments in [
        &["http://host/", "/mnt"][..],
        &["nfs://127.0.0.1/", "/mnt", "-o", "rzise=1"],
        &["nfs://127.0.0.1/", "/mnt", "-o", "ro=1"],
    ] {
        let output = mount(arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), said.lines().count()), (Some(3), 1), "{arguments:?}: {said}");
    }
}

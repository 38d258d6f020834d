//! Exports whose file system dies: the others are served, and it is served again once it is back.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use proto::mount3;
use proto::nfs3::{DirOpArgs, LookupArgs, Reply};
use serde_json::json;

use crate::ctl::rows;
use crate::peer::Line;
use crate::process::{Place, Process};

const BOUND: Duration = Duration::from_secs(60);

/// A FUSE mount of what `server` exports.
struct Fuse<'a> {
    at: &'a Path,
    child: Child,
}

impl<'a> Fuse<'a> {
    fn start(server: &Process, at: &'a Path) -> Self {
        let child = Command::new(env!("CARGO_BIN_EXE_primetime"))
            .args(["mount", "--foreground", &format!("nfs://{}/", server.address)])
            .arg(at)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let deadline = Instant::now() + BOUND;
        let mounts = || fs::read_to_string("/proc/self/mounts").unwrap();
        while !mounts().lines().any(|line| line.split(' ').nth(1) == at.to_str()) {
            assert!(Instant::now() < deadline, "nothing is mounted");
            std::thread::sleep(Duration::from_millis(5));
        }
        Self { at, child }
    }

    /// Kills the process behind the mount, which stays.
    fn die(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        // The kernel may know its attributes for a moment yet.
        let deadline = Instant::now() + BOUND;
        while fs::metadata(self.at).is_ok() {
            assert!(Instant::now() < deadline);
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Fuse<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.at).status();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn can_mount(line: &mut Line, path: &'static str) -> Result<(), mount3::Status> {
    let number = (mount3::PROGRAM, mount3::VERSION, mount3::Procedure::Mnt.number());
    let path = mount3::DirPath(path.into());
    match line.call(number, &xdr::to_bytes(&path)).get().unwrap() {
        mount3::MntReply::Ok(_) => Ok(()),
        mount3::MntReply::Err(status) => Err(status),
    }
}

#[test]
fn dead_export_is_left_out_until_it_is_back() {
    if !rustix::process::geteuid().is_root() || fs::File::open("/dev/fuse").is_err() {
        eprintln!("skipped: it needs root and /dev/fuse");
        return;
    }
    let (source, place) = (Place::new(), Place::new());
    let behind = source.start(&[]);
    let at = place.path("mounted");
    fs::create_dir(&at).unwrap();
    let exports = ["export", "mounted"].map(|name| {
        let directory = place.path(name);
        format!("[[export]]\npath = {directory:?}\npseudo = \"/{name}\"\nsquash = \"none\"\n")
    });
    let text = format!("listen = \"127.0.0.1:0\"\nstate_dir = \"state\"\n{}", exports.concat());
    fs::write(place.path("primetime.toml"), text).unwrap();
    let socket = place.path("state/control.sock");

    let mut fuse = Fuse::start(&behind, &at);
    fuse.die();
    let server = Process::start(&mut place.command_alone(&["--config", "primetime.toml"]));
    let mut line = Line::new(server.address);
    assert_eq!(can_mount(&mut line, "/export"), Ok(()));
    assert_eq!(can_mount(&mut line, "/mounted"), Err(mount3::Status::AccessDenied));
    assert_eq!(rows(&socket, &["reload"])[0]["unavailable"], json!(["/mounted"]));

    drop(fuse);
    let mut fuse = Fuse::start(&behind, &at);
    let deadline = Instant::now() + BOUND;
    while can_mount(&mut line, "/mounted").is_err() {
        assert!(Instant::now() < deadline, "the server looks by itself whether it is back");
        std::thread::sleep(Duration::from_millis(100));
    }

    // It dies while it is served, and another takes its place, which the kernel may give the same device
    // and inode.
    fuse.die();
    drop(fuse);
    fs::write(source.path("export/new"), "").unwrap();
    let _fuse = Fuse::start(&behind, &at);
    let reloaded = rows(&socket, &["reload"]).remove(0);
    assert_eq!((&reloaded["added"], &reloaded["kept"]), (&json!(["/mounted"]), &json!(["/export"])));
    let what = DirOpArgs { dir: line.mount("/mounted"), name: "new".into() };
    assert!(matches!(line.nfs3(&LookupArgs { what }), Reply::Ok(_)));
}

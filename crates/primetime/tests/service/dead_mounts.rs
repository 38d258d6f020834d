//! Exports whose file system dies: the others are served, and it is served again once it is back.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use client::{Client, Options, Url, Version};
use proto::mount3;
use proto::nfs3::{DirOpArgs, LookupArgs, Reply};
use rustix::process::{Pid, Signal};
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
            .args(["mount", "--foreground", "-o", "actimeo=0", &format!("nfs://{}/", server.address)])
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

    /// Stops the process behind the mount: what asks the file system waits until the result is dropped.
    fn hang(&self) -> Hung<'_> {
        self.signal(Signal::STOP);
        Hung(self)
    }

    fn signal(&self, signal: Signal) {
        rustix::process::kill_process(Pid::from_child(&self.child), signal).unwrap();
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

/// A mount that hangs. It goes on when a test fails too: a server cannot end while it waits for the mount.
struct Hung<'a>(&'a Fuse<'a>);

impl Hung<'_> {
    fn go_on(self) {}
}

impl Drop for Hung<'_> {
    fn drop(&mut self) {
        self.0.signal(Signal::CONT);
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

fn can_have_fuse() -> bool {
    let can = rustix::process::geteuid().is_root() && fs::File::open("/dev/fuse").is_ok();
    if !can {
        eprintln!("skipped: it needs root and /dev/fuse");
    }
    can
}

/// A configuration with the exports `/export` and `/mounted`.
fn two_exports() -> Place {
    let place = Place::new();
    fs::create_dir(place.path("mounted")).unwrap();
    let exports = ["export", "mounted"].map(|name| {
        let directory = place.path(name);
        format!("[[export]]\npath = {directory:?}\npseudo = \"/{name}\"\nsquash = \"none\"\n")
    });
    let text = format!("listen = \"127.0.0.1:0\"\nstate_dir = \"state\"\n{}", exports.concat());
    fs::write(place.path("primetime.toml"), text).unwrap();
    place
}

/// The server looks by itself whether an export is back.
fn wait_until_served(line: &mut Line) {
    let deadline = Instant::now() + BOUND;
    while can_mount(line, "/mounted").is_err() {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn dead_export_is_left_out_until_it_is_back() {
    if !can_have_fuse() {
        return;
    }
    let (source, place) = (Place::new(), two_exports());
    let behind = source.start(&[]);
    let (at, socket) = (place.path("mounted"), place.path("state/control.sock"));

    let mut fuse = Fuse::start(&behind, &at);
    fuse.die();
    let server = Process::start(&mut place.command_alone(&["--config", "primetime.toml"]));
    let mut line = Line::new(server.address);
    assert_eq!(can_mount(&mut line, "/export"), Ok(()));
    assert_eq!(can_mount(&mut line, "/mounted"), Err(mount3::Status::AccessDenied));
    assert_eq!(rows(&socket, &["reload"])[0]["unavailable"], json!(["/mounted"]));

    drop(fuse);
    let mut fuse = Fuse::start(&behind, &at);
    wait_until_served(&mut line);

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

#[test]
fn hung_export_is_left_out_at_start_and_stays_at_reload() {
    if !can_have_fuse() {
        return;
    }
    let (source, place) = (Place::new(), two_exports());
    let behind = source.start(&[]);
    let (at, socket) = (place.path("mounted"), place.path("state/control.sock"));

    let fuse = Fuse::start(&behind, &at);
    let hung = fuse.hang();
    let server = Process::start(&mut place.command_alone(&["--config", "primetime.toml"]));
    let mut line = Line::new(server.address);
    assert_eq!(can_mount(&mut line, "/export"), Ok(()));
    assert_eq!(can_mount(&mut line, "/mounted"), Err(mount3::Status::AccessDenied));
    assert_eq!(rows(&socket, &["reload"])[0]["unavailable"], json!(["/mounted"]));
    hung.go_on();
    wait_until_served(&mut line);

    // Its clients must not lose their handles because it hangs for a while.
    let root = line.mount("/mounted");
    let hung = fuse.hang();
    let reloaded = rows(&socket, &["reload"]).remove(0);
    assert_eq!(reloaded["kept"], json!(["/export", "/mounted"]));
    assert_eq!(can_mount(&mut line, "/export"), Ok(()));
    hung.go_on();
    fs::write(source.path("export/new"), "").unwrap();
    let what = DirOpArgs { dir: root, name: "new".into() };
    assert!(matches!(line.nfs3(&LookupArgs { what }), Reply::Ok(_)));
}

/// Reloads the configuration; a reload that waits for a file system that hangs fails.
fn reload(place: &Place) -> serde_json::Value {
    let (socket, (sender, reloaded)) = (place.path("state/control.sock"), std::sync::mpsc::channel());
    std::thread::spawn(move || sender.send(rows(&socket, &["reload"]).remove(0)));
    reloaded.recv_timeout(BOUND).expect("the reload does not wait")
}

#[test]
fn reload_waits_for_no_hung_export_that_has_another_one_below_it() {
    if !can_have_fuse() {
        return;
    }
    let (source, place) = (Place::new(), two_exports());
    for name in ["below", "new"] {
        fs::create_dir(source.path("export").join(name)).unwrap();
        fs::create_dir(place.path(name)).unwrap();
        fs::write(place.path(name).join("file"), "").unwrap();
    }
    let export = |name: &str| {
        let mut text = fs::read_to_string(place.path("primetime.toml")).unwrap();
        let directory = place.path(name);
        text +=
            &format!("[[export]]\npath = {directory:?}\npseudo = \"/mounted/{name}\"\nsquash = \"none\"\n");
        fs::write(place.path("primetime.toml"), text).unwrap();
    };
    export("below");
    let behind = source.start(&[]);
    let at = place.path("mounted");
    let fuse = Fuse::start(&behind, &at);
    let server = Process::start(&mut place.command_alone(&["--config", "primetime.toml"]));
    let mut line = Line::new(server.address);

    // What is below it stays, and what comes is left out until its place is known.
    let hung = fuse.hang();
    export("new");
    let reloaded = reload(&place);
    assert_eq!(reloaded["kept"], json!(["/export", "/mounted", "/mounted/below"]));
    assert_eq!(reloaded["unavailable"], json!(["/mounted/new"]));
    // Without the export, the path leads to a directory of the outer one, which has no such file.
    let mut has_file = |path| {
        let what = DirOpArgs { dir: line.mount(path), name: "file".into() };
        matches!(line.nfs3(&LookupArgs { what }), Reply::Ok(_))
    };
    assert!(has_file("/mounted/below"));
    hung.go_on();

    let deadline = Instant::now() + BOUND;
    while !has_file("/mounted/new") {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(100));
    }
    // NFSv4 clients find both by their names in the outer export.
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for version in [Version::V4_1, Version::V4_2] {
        let url: Url = format!("nfs://{}/", server.address).parse().unwrap();
        let options = Options { versions: vec![version], ..Options::default() };
        let client = runtime.block_on(Client::connect(&url, options)).unwrap();
        for path in ["/mounted/below/file", "/mounted/new/file"] {
            runtime.block_on(client.metadata(path)).unwrap();
        }
    }
}

/// The changes that hang, and the rounds that do not.
const HANGING: usize = 40;
const ROUNDS: usize = 30;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hung_fuse_export_holds_up_no_client_of_another_one() {
    if !can_have_fuse() {
        return;
    }
    let (source, place) = (Place::new(), two_exports());
    let behind = source.start(&[]);
    let at = place.path("mounted");
    let fuse = Fuse::start(&behind, &at);
    let server = Process::start(&mut place.command_alone(&["--config", "primetime.toml"]));
    for version in [Version::V3, Version::V4_1, Version::V4_2] {
        let connect = async |export: &str| {
            let url: Url = format!("nfs://{}/{export}", server.address).parse().unwrap();
            Client::connect(&url, Options { versions: vec![version], ..Options::default() }).await.unwrap()
        };
        let (hanging, well) = (connect("mounted").await, connect("export").await);
        let hung = fuse.hang();
        let calls: Vec<_> = (0..HANGING)
            .map(|index| {
                let client = hanging.clone();
                tokio::spawn(async move { client.create_file(format!("/new-{index}"), 0o644).await })
            })
            .collect();
        let work = async {
            for round in 0..ROUNDS {
                let name = format!("/round-{round}");
                well.write("/file", name.clone()).await.unwrap();
                assert_eq!(well.read("/file").await.unwrap(), name.as_bytes());
                well.create_file(&name, 0o644).await.unwrap();
                well.remove_file(&name).await.unwrap();
            }
            // A new client can connect.
            let new = connect("export").await;
            new.metadata("/file").await.unwrap();
            new.shutdown().await.unwrap();
        };
        tokio::time::timeout(BOUND, work).await.expect("the export goes on");
        assert!(calls.iter().all(|call| !call.is_finished()), "{version:?}: the file system hangs");
        hung.go_on();
        for call in calls {
            tokio::time::timeout(BOUND, call).await.expect("the export goes on").unwrap().unwrap();
        }
        for index in 0..HANGING {
            fs::remove_file(source.path(&format!("export/new-{index}"))).unwrap();
        }
        // The next version's clients must not wait for delegations of clients that are gone.
        for client in [hanging, well] {
            client.shutdown().await.unwrap();
        }
    }
}

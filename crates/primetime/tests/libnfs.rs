//! libnfs's commands (Debian package libnfs-utils) list, read and write over NFSv3. The client is not ours,
//! and not the kernel's either.

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stderr, reason = "a test that cannot go on fails")]

use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Child, Command, Output};

use netlab::guest::Lab;

#[path = "support/ready.rs"]
mod ready;

const SERVER: &str = env!("CARGO_BIN_EXE_primetime");
const COMMANDS: [&str; 3] = ["nfs-ls", "nfs-cp", "nfs-cat"];

/// Says why, where they are missing; on a machine of the continuous integration they may not be.
fn commands_are_there() -> bool {
    // Without arguments each says how it is used.
    let Some(missing) = COMMANDS.iter().find(|command| Command::new(command).output().is_err()) else {
        return true;
    };
    let reason = format!("libnfs needs {missing} (Debian package libnfs-utils)");
    assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "{reason}");
    eprintln!("skipped: {reason}");
    false
}

/// A server process, its export, and a place beside it.
struct Place {
    directory: tempfile::TempDir,
    server: Child,
    address: SocketAddr,
}

impl Place {
    /// `None` where the commands are missing.
    fn for_test(options: &[&str]) -> Option<Self> {
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        commands_are_there().then(|| Self::start(Command::new(SERVER), address, options))
    }

    /// Starts a server by a command that may run it elsewhere.
    fn start(mut command: Command, listen: SocketAddr, options: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let export = directory.path().join("export");
        fs::create_dir(&export).unwrap();
        fs::set_permissions(&export, fs::Permissions::from_mode(0o777)).unwrap();
        command
            .arg("serve")
            .arg(&export)
            .args(["--listen", &listen.to_string(), "--forget", "--no-root-squash", "--async"])
            .args(options);
        let (server, address) = ready::start(&mut command);
        Self { directory, server, address }
    }

    /// Below the export.
    fn exported(&self, name: &str) -> PathBuf {
        self.directory.path().join("export").join(name)
    }

    /// Beside the export.
    fn beside(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// As libnfs spells it: both programs on one port, without a port mapper. Some commands mount all of
    /// the path but its last part, and libnfs 4 looks for mounts below that, unless it is empty: so the
    /// root needs a slash of its own.
    fn url(&self, path: &str) -> String {
        let slash = if path.contains('/') { "" } else { "/" };
        self.plain_url(&format!("{slash}{path}"))
    }

    fn plain_url(&self, path: &str) -> String {
        let (host, port) = (self.address.ip(), self.address.port());
        format!("nfs://{host}/{path}?version=3&nfsport={port}&mountport={port}")
    }

    fn run(&self, command: &str, arguments: &[&str]) -> Output {
        Command::new(command).args(arguments).current_dir(self.directory.path()).output().unwrap()
    }

    /// What a command that must succeed says.
    fn output(&self, command: &str, arguments: &[&str]) -> Vec<u8> {
        let output = self.run(command, arguments);
        assert!(output.status.success(), "{command} {arguments:?}: {output:?}");
        output.stdout
    }

    /// What a command that must fail says.
    fn failure(&self, command: &str, arguments: &[&str]) -> String {
        let output = self.run(command, arguments);
        assert!(!output.status.success(), "{command} {arguments:?}: {output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // It may be dead already.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// The names of a listing: each line is mode, links, owner, group, size and name.
fn names(listing: &[u8]) -> BTreeSet<String> {
    let listing = String::from_utf8(listing.to_vec()).unwrap();
    listing.lines().map(|line| line.split_whitespace().last().unwrap().to_owned()).collect()
}

/// Bytes that no two places have in common.
fn bytes(length: usize) -> Vec<u8> {
    (0_u64..).flat_map(|word| word.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()).take(length).collect()
}

#[test]
fn files_are_copied_in_and_out_and_read() {
    let Some(place) = Place::for_test(&[]) else { return };
    fs::create_dir(place.exported("sub")).unwrap();
    // Around the largest READ and WRITE of 1 MiB, and far beyond.
    for (number, length) in [0, 1, 4096, (1 << 20) - 1, (1 << 20) + 1, 20_000_001].into_iter().enumerate() {
        let (name, text) = (format!("sub/file{number}"), bytes(length));
        fs::write(place.beside("given"), &text).unwrap();
        place.output("nfs-cp", &["given", &place.url(&name)]);
        assert!(fs::read(place.exported(&name)).unwrap() == text, "{length} bytes were written");
        // A file that is there already is left alone.
        let taken = format!("taken{number}");
        place.output("nfs-cp", &[&place.url(&name), &taken]);
        assert!(fs::read(place.beside(&taken)).unwrap() == text, "{length} bytes were read");
        assert!(place.output("nfs-cat", &[&place.url(&name)]) == text, "{length} bytes were shown");
    }
    fs::write(place.exported("root"), "root\n").unwrap();
    // The last one mounts the empty path.
    let plain = place.plain_url("root") + "&auto-traverse-mounts=0";
    for url in [place.plain_url("/root"), place.plain_url("./root"), plain] {
        assert_eq!(place.output("nfs-cat", &[&url]), b"root\n", "{url}");
    }
    symlink("sub", place.exported("link")).unwrap();
    place.output("nfs-cp", &[&place.url("link/file2"), "through"]);
    assert_eq!(fs::metadata(place.beside("through")).unwrap().len(), 4096);
    fs::write(place.beside("given"), "new").unwrap();
    place.output("nfs-cp", &["given", &place.url("new")]);
    assert_eq!(fs::read(place.exported("new")).unwrap(), b"new");
    // What is there is not written over: that is how the command creates.
    fs::write(place.beside("given"), "short").unwrap();
    let told = place.failure("nfs-cp", &["given", &place.url("sub/file1")]);
    assert!(told.contains("EXIST"), "{told}");
    assert_eq!(fs::metadata(place.exported("sub/file1")).unwrap().len(), 1);
}

#[test]
fn thousands_of_entries_are_listed_once() {
    let Some(place) = Place::for_test(&[]) else { return };
    let mut expected = BTreeSet::new();
    for number in 0..5000 {
        let name = format!("entry{number}{}", "x".repeat(number % 50));
        fs::write(place.exported(&name), "").unwrap();
        expected.insert(name);
    }
    let listing = place.output("nfs-ls", &[&place.url("")]);
    assert_eq!(listing.iter().filter(|byte| **byte == b'\n').count(), expected.len());
    assert_eq!(names(&listing), expected);
}

#[test]
fn kinds_modes_and_sizes_are_those_of_the_directory() {
    let Some(place) = Place::for_test(&[]) else { return };
    fs::create_dir(place.exported("d")).unwrap();
    fs::set_permissions(place.exported("d"), fs::Permissions::from_mode(0o750)).unwrap();
    fs::write(place.exported("d/f"), "12345").unwrap();
    fs::set_permissions(place.exported("d/f"), fs::Permissions::from_mode(0o604)).unwrap();
    symlink("f", place.exported("d/l")).unwrap();
    let listing = String::from_utf8(place.output("nfs-ls", &["-R", &place.url("")])).unwrap();
    let line = |name: &str| {
        let found = listing.lines().find(|line| line.ends_with(name));
        found.unwrap_or_else(|| panic!("{name} in {listing}")).split_whitespace().collect::<Vec<_>>()
    };
    assert_eq!(line(" d")[0], "drwxr-x---");
    assert_eq!((line("d/f")[0], line("d/f")[4]), ("-rw----r--", "5"));
    assert!(line("d/l")[0].starts_with('l'), "{listing}");
}

#[test]
fn libnfs_errors_are_reported_by_name() {
    let Some(place) = Place::for_test(&["--read-only"]) else { return };
    fs::write(place.exported("f"), "kept").unwrap();
    fs::write(place.beside("given"), "new").unwrap();
    for (command, arguments, said) in [
        ("nfs-cat", vec![place.url("none")], "NOENT"),
        ("nfs-ls", vec![place.url("none")], "NOENT"),
        ("nfs-ls", vec![place.url("f")], "NOTDIR"),
        ("nfs-cp", vec!["given".into(), place.url("none/f")], "NOENT"),
        ("nfs-cp", vec!["given".into(), place.url("new")], "ROFS"),
    ] {
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        let told = place.failure(command, &arguments);
        assert!(told.contains(said), "{command} {arguments:?}: {told}");
    }
    assert_eq!(fs::read(place.exported("f")).unwrap(), b"kept");
    assert!(!place.exported("new").exists());
}

/// An address without ports: the port mapper of the server's host is asked for both.
#[test]
fn the_port_mapper_tells_the_ports() {
    if !commands_are_there() {
        return;
    }
    let Some(lab) = Lab::for_test() else { return };
    let listen = SocketAddr::new(lab.host_address(), 2050);
    let place = Place::start(lab.command(SERVER), listen, &["--portmap", "builtin"]);
    fs::create_dir(place.exported("below")).unwrap();
    fs::write(place.exported("below/file"), "text\n").unwrap();
    let url = |path| format!("nfs://{}/{path}?version=3", lab.host_address());
    let read = lab.command("nfs-cat").arg(url("below/file")).output().unwrap();
    assert_eq!(read.stdout, b"text\n", "{read:?}");
    fs::write(place.beside("given"), "new\n").unwrap();
    let copied = lab.command("nfs-cp").arg(place.beside("given")).arg(url("below/new")).output().unwrap();
    assert!(copied.status.success(), "{copied:?}");
    assert_eq!(fs::read(place.exported("below/new")).unwrap(), b"new\n");
}

//! `primetime serve` from outside: its configuration, what it refuses, and where it keeps its state.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir(place.path("export")).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn serve(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_primetime"));
        command.arg("serve").args(arguments).current_dir(self.0.path());
        command.env("HOME", self.0.path()).env_remove("XDG_STATE_HOME");
        command
    }

    fn output(&self, arguments: &[&str]) -> Output {
        self.serve(arguments).output().unwrap()
    }

    /// What it says when it does not start: one sentence.
    fn refusal(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        stderr
    }

    /// Starts it, waits until it is ready, and kills it.
    fn start_and_kill(&self, arguments: &[&str]) {
        let mut child = self.serve(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(line.starts_with("ready nfs://"), "{line:?}");
    }
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(directory).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn check_prints_a_configuration_that_says_the_same_again() {
    let place = Place::new();
    let first = place.output(&["export", "--state-dir", "state", "--lease", "15", "--async", "--check"]);
    assert!(first.status.success());
    let text = String::from_utf8(first.stdout).unwrap();
    for line in ["directory = \"export\"", "async = true", "lease_seconds = 15", "operations_max = 256"] {
        assert!(text.lines().any(|found| found == line), "{line} is missing in {text}");
    }
    fs::write(place.path("primetime.toml"), &text).unwrap();
    let second = place.output(&["--config", "primetime.toml", "--check"]);
    assert_eq!(String::from_utf8(second.stdout).unwrap(), text);
    assert!(!place.path("state").exists(), "checking leaves nothing behind");
}

#[test]
fn failed_start_is_one_sentence() {
    let place = Place::new();
    assert!(place.refusal(&[]).contains("primetime serve DIR"));
    assert!(place.refusal(&["nothing", "--forget"]).contains("nothing"));
    assert!(place.refusal(&["export", "--config", "missing.toml"]).contains("missing.toml"));
    fs::write(place.path("wrong.toml"), "[limits]\nslots_max = 0\n").unwrap();
    assert!(place.refusal(&["export", "--config", "wrong.toml"]).contains("limits.slots_max is 0"));
    fs::write(place.path("persistent.toml"), "persistent_sessions = true\n").unwrap();
    assert!(
        place.refusal(&["export", "--config", "persistent.toml", "--forget"]).contains("leave out --forget")
    );
}

#[test]
fn congestion_control_that_the_kernel_lacks_is_refused_in_one_sentence() {
    let place = Place::new();
    let listen = ["export", "--forget", "--listen", "127.0.0.1:0"];
    let text = place.refusal(&[&listen[..], &["--congestion", "no-such-one"]].concat());
    assert!(text.contains("`no-such-one` (it has ") && text.contains("reno"), "{text}");
    assert!(place.refusal(&["export", "--forget", "--socket-buffer", "1"]).contains("socket_buffer is 1"));
    place.start_and_kill(&[&listen[..], &["--congestion", "reno", "--socket-buffer", "65536"]].concat());
}

#[test]
fn state_is_not_kept_where_clients_could_read_it() {
    let place = Place::new();
    let text =
        place.refusal(&["export", "--listen", "127.0.0.1:0", "--state-dir", "export/.state/primetime"]);
    assert!(text.contains("outside"), "{text}");
    assert_eq!(names(&place.path("export")), [""; 0], "and nothing is left there");
}

#[test]
fn state_below_a_bind_mount_of_an_export_is_refused() {
    let place = Place::new();
    for name in ["export/inner", "bound"] {
        fs::create_dir(place.path(name)).unwrap();
    }
    let mut bind = Command::new("mount");
    bind.arg("--bind").arg(place.path("export/inner")).arg(place.path("bound"));
    if !bind.status().is_ok_and(|ended| ended.success()) {
        eprintln!("skipped: directories are bound by root only");
        return;
    }
    let output = place.output(&["export", "--listen", "127.0.0.1:0", "--state-dir", "bound/state"]);
    let unbound = Command::new("umount").arg(place.path("bound")).status();
    assert!(unbound.unwrap().success());
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(3) && text.contains("would be exported with its keys"), "{text}");
    assert_eq!(names(&place.path("export/inner")), [""; 0]);
}

#[test]
fn a_server_that_was_killed_starts_again_with_the_same_state() {
    let place = Place::new();
    let arguments = ["export", "--listen", "127.0.0.1:0", "--state-dir", "state"];
    place.start_and_kill(&arguments);
    let kept = names(&place.path("state"));
    assert!(
        kept.contains(&"clients.redb".to_owned()) && kept.contains(&"server-identity".to_owned()),
        "{kept:?}"
    );
    let identity = fs::read(place.path("state/server-identity")).unwrap();
    place.start_and_kill(&arguments);
    assert_eq!(fs::read(place.path("state/server-identity")).unwrap(), identity);
}

#[test]
fn two_servers_do_not_share_their_state() {
    let place = Place::new();
    let arguments = ["export", "--listen", "127.0.0.1:0", "--state-dir", "state"];
    let mut first = place.serve(&arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(first.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let text = place.refusal(&arguments);
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(text.contains("state") && text.contains("--state-dir"), "{text}");
}

#[test]
fn a_table_of_exports_is_printed_as_it_will_be_applied() {
    let place = Place::new();
    let export = place.path("export").display().to_string();
    fs::write(place.path("exports"), format!("{export} *(ro) 10.0.0.0/8(rw,insecure) 10.1.2.3\n")).unwrap();
    let output = place.output(&["--exports", "exports", "--state-dir", "state", "--check"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let hosts: Vec<_> = text.lines().filter(|line| line.starts_with("hosts = ")).collect();
    assert_eq!(hosts, ["hosts = [\"10.1.2.3\"]", "hosts = [\"10.0.0.0/8\"]", "hosts = [\"*\"]"], "{text}");
    let secure: Vec<_> = text.lines().filter(|line| line.starts_with("secure = ")).collect();
    assert_eq!(secure, ["secure = true", "secure = false", "secure = true"]);
    fs::write(place.path("primetime.toml"), &text).unwrap();
    let second = place.output(&["--config", "primetime.toml", "--check"]);
    assert_eq!(String::from_utf8(second.stdout).unwrap(), text);
}

#[test]
fn exports_that_cannot_be_served_are_one_sentence() {
    let place = Place::new();
    fs::create_dir(place.path("export/sub")).unwrap();
    let refusal = |text: &str| {
        fs::write(place.path("exports"), text.replace('~', &place.0.path().display().to_string())).unwrap();
        place.refusal(&["--exports", "exports", "--listen", "127.0.0.1:0", "--state-dir", "state"])
    };
    assert!(refusal("~/export *(rw)\n~/export/sub *(ro,rooot_squash)\n").contains("line 2: `rooot_squash`"));
    assert!(refusal("~/export *\n~/export/sub *\n").contains("is in"));
    assert!(refusal("~/export *\n~/missing *\n").contains("missing"));
    fs::write(place.path("file"), "").unwrap();
    assert!(refusal("~/file *\n").contains("file"));
    fs::write(place.path("both.toml"), "[[export]]\npath = \"/tmp\"\n").unwrap();
    assert!(
        place.refusal(&["export", "--config", "both.toml", "--forget"]).contains("both say what to serve")
    );
}

#[test]
fn a_hangup_replaces_the_exports_whole_or_not_at_all() {
    let place = Place::new();
    fs::create_dir(place.path("more")).unwrap();
    let write = |names: &[&str]| {
        let path = |name: &&str| place.path(name).display().to_string();
        let text: String = names.iter().map(|name| format!("{} *(rw,insecure)\n", path(name))).collect();
        fs::write(place.path("exports"), text).unwrap();
    };
    write(&["export"]);
    let mut command =
        place.serve(&["--exports", "exports", "--listen", "127.0.0.1:0", "--state-dir", "state"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut hang_up = || {
        let pid = child.id().to_string();
        assert!(Command::new("kill").args(["-HUP", &pid]).status().unwrap().success());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        line
    };
    let at = |name: &str| place.path(name).display().to_string();
    write(&["export", "more"]);
    let expected =
        format!("primetime: the exports were reloaded: added {}; kept {}\n", at("more"), at("export"));
    assert_eq!(hang_up(), expected);
    write(&["export", "nothing"]);
    let text = hang_up();
    assert!(text.starts_with("primetime: nothing was reloaded: ") && text.contains("nothing"), "{text}");
    write(&["export"]);
    let expected =
        format!("primetime: the exports were reloaded: removed {}; kept {}\n", at("more"), at("export"));
    assert_eq!(hang_up(), expected, "the reload before changed nothing");
    child.kill().unwrap();
    child.wait().unwrap();
}

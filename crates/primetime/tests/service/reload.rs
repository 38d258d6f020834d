//! A configuration that is read again while clients work.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};

use proto::nfs3::{self, DirOpArgs, Reply, StableHow};
use proto::nfs4::{self, CompoundBuilder, Operation};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::ctl::{ctl, refusal, rows};
use crate::peer::Line;
use crate::process::{Place, Process};

struct Configured {
    place: Place,
    socket: PathBuf,
}

impl Configured {
    fn new() -> Self {
        let place = Place::new();
        let socket = place.path("state/control.sock");
        let configured = Self { place, socket };
        configured.write("no_root_squash = true\n");
        configured
    }

    fn write(&self, keys: &str) {
        let text = format!("directory = \"export\"\nlisten = \"127.0.0.1:0\"\nstate_dir = \"state\"\n{keys}");
        fs::write(self.place.path("primetime.toml"), text).unwrap();
    }

    fn start(&self) -> Process {
        Process::start(&mut self.place.command_alone(&["--config", "primetime.toml"]))
    }

    fn rules(&self) -> Value {
        rows(&self.socket, &["exports"])[0]["rules"].clone()
    }
}

const SQUASHED: &str = "*: read-write, root squash";
const AS_ROOT: &str = "*: read-write, no squash";

/// Writes and reads over one connection until it is told to stop; how often.
fn work_v3(line: &mut Line, name: &'static str, stop: &AtomicBool) -> u32 {
    let root = line.mount("/");
    let what = || DirOpArgs { dir: root, name: name.into() };
    let Reply::Ok(found) = line.nfs3(&nfs3::LookupArgs { what: what() }) else { panic!("LOOKUP fails") };
    let (file, mut rounds) = (found.object, 0);
    while !stop.load(Ordering::Relaxed) {
        rounds += 1;
        let data = xdr::Bytes::copy_from_slice(&u32::to_be_bytes(rounds));
        let write =
            nfs3::WriteArgs { file, offset: 0, count: 4, stable: StableHow::Unstable, data: data.clone() };
        let Reply::Ok(_) = line.nfs3(&write) else { panic!("WRITE fails in round {rounds}") };
        let Reply::Ok(read) = line.nfs3(&nfs3::ReadArgs { file, offset: 0, count: 10 }) else {
            panic!("READ fails in round {rounds}")
        };
        assert_eq!(read.data, data);
    }
    rounds
}

/// Writes and locks under one open until it is told to stop; how often.
fn work_v4(line: &mut Line, name: &'static str, stop: &AtomicBool) -> u32 {
    let mut session = line.session(name);
    let opened = session.open(line, name, "owner");
    let mut rounds = 0;
    while !stop.load(Ordering::Relaxed) {
        rounds += 1;
        let write = nfs4::WriteArgs {
            state_id: opened.state_id,
            offset: 0,
            stable: nfs4::StableHow::Unstable,
            data: xdr::Bytes::copy_from_slice(&u32::to_be_bytes(rounds)),
        };
        let results = session.run(line, |c: &mut CompoundBuilder<'_>| {
            c.push(Operation::PutRootFh, &());
            c.push(Operation::Lookup, &nfs4::LookupArgs { name: name.into() });
            c.push(Operation::Write, &write);
        });
        assert_eq!(results.status, nfs4::Status::Ok, "round {rounds}");
    }
    rounds
}

#[test]
fn clients_under_load_do_not_notice() {
    let configured = Configured::new();
    for name in ["a", "b", "c", "d"] {
        let file = configured.place.path("export").join(name);
        fs::write(&file, "").unwrap();
        fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
    }
    let server = configured.start();
    let (address, stop) = (server.address, &AtomicBool::new(false));
    std::thread::scope(|scope| {
        let v3 = ["a", "b"].map(|name| scope.spawn(move || work_v3(&mut Line::new(address), name, stop)));
        let v4 = ["c", "d"].map(|name| scope.spawn(move || work_v4(&mut Line::new(address), name, stop)));
        for round in 0..20 {
            let (squash, rule) = if round % 2 == 0 { ("false", SQUASHED) } else { ("true", AS_ROOT) };
            configured.write(&format!("no_root_squash = {squash}\n"));
            let reloaded = rows(&configured.socket, &["reload"]);
            assert_eq!(reloaded[0]["changed"], json!(["/"]));
            assert_eq!(configured.rules(), json!([rule]));
        }
        stop.store(true, Ordering::Relaxed);
        for worker in v3.into_iter().chain(v4) {
            assert!(worker.join().unwrap() > 0);
        }
    });
    assert_eq!(rows(&configured.socket, &["status"])[0]["opens"], json!(2));
}

#[test]
fn a_bad_configuration_is_refused_and_the_old_one_stays() {
    let configured = Configured::new();
    let server = configured.start();
    let mut line = Line::new(server.address);
    let mut session = line.session("client");
    let opened = session.open(&mut line, "file", "owner");
    for (keys, sentence) in [
        ("nonsense = 1\n", "nonsense"),
        ("[limits]\nslots_max = 0\n", "limits.slots_max is 0"),
        ("directory = 5\n", "primetime.toml"),
    ] {
        configured.write(keys);
        let (text, code) = refusal_of_many_lines(&configured);
        assert!(code == 1 && text.contains(sentence), "{text}");
        assert_eq!(configured.rules(), json!([AS_ROOT]));
    }
    fs::remove_file(configured.place.path("primetime.toml")).unwrap();
    let (text, code) = refusal(&ctl(&configured.socket, &["reload"]));
    assert!(code == 1 && text.contains("primetime.toml"), "{text}");
    assert_eq!(session.lock(&mut line, "file", opened.state_id), nfs4::Status::Ok, "the open stands");
    configured.write("read_only = true\nno_root_squash = true\n[limits]\nlease_seconds = 17\n");
    let reloaded = &rows(&configured.socket, &["reload"])[0];
    assert_eq!((&reloaded["changed"], &reloaded["needs_restart"]), (&json!(["/"]), &json!(["limits"])));
    assert_eq!(configured.rules(), json!(["*: read-only, no squash"]));
}

/// What is wrong with a file is shown with the place in it, over several lines.
fn refusal_of_many_lines(configured: &Configured) -> (String, i32) {
    let output = ctl(&configured.socket, &["reload"]);
    (String::from_utf8(output.stderr).unwrap(), output.status.code().unwrap())
}

#[test]
fn a_hang_up_reads_the_configuration_again_and_says_so() {
    let configured = Configured::new();
    let mut command = configured.place.command_alone(&["--config", "primetime.toml", "--log", "info"]);
    let mut server = Process::start(command.stderr(Stdio::piped()));
    let mut reports = BufReader::new(server.stderr()).lines().map(Result::unwrap);
    configured.write("no_root_squash = false\n");
    server.signal(Signal::HUP);
    assert!(reports.any(|report| report.contains("the exports were reloaded")));
    assert_eq!(configured.rules(), json!([SQUASHED]));
    configured.write("nonsense = 1\n");
    server.signal(Signal::HUP);
    assert!(reports.any(|report| report.contains("nothing was reloaded")));
    assert_eq!(configured.rules(), json!([SQUASHED]));
    server.signal(Signal::TERM);
    assert!(server.ended().success());
}

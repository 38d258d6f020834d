//! What `primetime ctl` shows, and who may use it.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use proto::{nfs4, nlm4};
use serde_json::{Value, json};
use xdr::Bytes;

use crate::peer::Line;
use crate::process::{Place, Process};

pub fn ctl(socket: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_primetime"));
    command.arg("ctl").args(arguments).arg("--socket").arg(socket).output().unwrap()
}

/// The rows of an answer.
pub fn rows(socket: &Path, arguments: &[&str]) -> Vec<Value> {
    let output = ctl(socket, &[arguments, &["--json"]].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn table(socket: &Path, arguments: &[&str]) -> String {
    let output = ctl(socket, arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// One sentence, and the exit code.
pub fn refusal(output: &Output) -> (String, i32) {
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    (text, output.status.code().unwrap())
}

fn nlm_lock(line: &mut Line, file: &proto::nfs3::FileHandle) {
    let lock = nlm4::Lock {
        caller_name: "old-host".into(),
        file: nlm4::NetObject(Bytes::copy_from_slice(file.as_bytes())),
        owner: nlm4::NetObject("old\u{1b}owner".into()),
        process: 7,
        offset: 100,
        length: 0,
    };
    let arguments = nlm4::LockArgs {
        cookie: nlm4::NetObject("cookie".into()),
        block: false,
        exclusive: true,
        lock,
        reclaim: false,
        state: 1,
    };
    let number = (nlm4::PROGRAM, nlm4::VERSION, nlm4::Procedure::Lock.number());
    let mut results = line.call(number, &xdr::to_bytes(&arguments));
    results.get::<nlm4::NetObject>().unwrap();
    assert_eq!(results.get(), Ok(nlm4::Status::Granted));
}

#[test]
fn everything_that_is_held_is_listed() {
    let place = Place::new();
    let server = place.start(&[]);
    let socket = place.path("state/control.sock");
    let mut line = Line::new(server.address);
    let mut session = line.session("the client");
    let opened = session.open(&mut line, "file", "opener");
    assert_eq!(session.lock(&mut line, "file", opened.state_id), nfs4::Status::Ok);
    let root = line.mount("/");
    let what = proto::nfs3::DirOpArgs { dir: root, name: "file".into() };
    let proto::nfs3::Reply::Ok(found) = line.nfs3(&proto::nfs3::LookupArgs { what }) else {
        panic!("LOOKUP fails")
    };
    nlm_lock(&mut line, &found.object);

    let client = format!("{:016x}", session.client.0);
    let status = &rows(&socket, &["status"])[0];
    let counts = ["clients", "sessions", "opens", "locks", "delegations", "shares", "connections"];
    assert_eq!(counts.map(|name| status[name].as_u64().unwrap()), [1, 1, 1, 2, 0, 0, 1], "{status}");
    let clients = rows(&socket, &["clients"]);
    assert_eq!(clients.len(), 1);
    for (name, value) in [
        ("client", json!(client)),
        ("name", json!("the client")),
        ("state", json!("active")),
        ("sessions", json!(1)),
        ("holds", json!(2)),
    ] {
        assert_eq!(clients[0][name], value, "{name}");
    }
    let sessions = rows(&socket, &["sessions"]);
    assert_eq!(
        (sessions.len(), &sessions[0]["client"], &sessions[0]["slots"]),
        (1, &json!(client), &json!(1))
    );
    let opens = rows(&socket, &["opens"]);
    assert_eq!((opens.len(), &opens[0]["owner"], &opens[0]["access"]), (1, &json!("opener"), &json!("both")));
    let mut locks = rows(&socket, &["locks"]);
    locks.sort_by_key(|lock| lock["offset"].as_u64());
    let what = |lock: &Value| {
        ["protocol", "client", "owner", "offset", "length", "file"].map(|name| lock[name].clone()).to_vec()
    };
    let file = opens[0]["file"].clone();
    let of_nfs4 = [json!("nfs4"), json!(client), json!("locker"), json!(10), json!(20), file.clone()];
    // What a client has chosen moves no cursor.
    let of_nlm =
        [json!("nlm"), json!("127.0.0.1 old-host"), json!("old\\x1bowner"), json!(100), Value::Null, file];
    assert_eq!(locks.iter().map(what).collect::<Vec<_>>(), [of_nfs4.to_vec(), of_nlm.to_vec()]);
    assert_eq!(rows(&socket, &["mounts"]), [json!({"client": "127.0.0.1", "path": "/"})]);
    let exports = rows(&socket, &["exports"]);
    assert_eq!((exports.len(), &exports[0]["path"]), (1, &json!("/")));
    assert_eq!(exports[0]["rules"], json!(["*: read-write, no squash"]));
    assert_eq!(rows(&socket, &["delegations"]), [Value::Null; 0]);

    let text = table(&socket, &["clients"]);
    assert_eq!(text.lines().count(), 2, "a head and a row: {text}");
    assert!(text.contains("the client") && text.contains(&client), "{text}");
    let text = table(&socket, &["status"]);
    assert!(text.lines().any(|line| line.split_whitespace().eq(["locks", "2"])), "{text}");
}

#[test]
fn a_list_of_many_pieces_is_whole_and_a_slow_reader_stops_nobody() {
    let place = Place::new();
    let server = place.start(&[]);
    let socket = place.path("state/control.sock");
    let mut line = Line::new(server.address);
    let names: Vec<String> = (0..1500).map(|number| format!("client {number} {}", "x".repeat(200))).collect();
    for name in &names {
        line.session(name);
    }
    // It reads nothing of an answer that is larger than what a socket holds.
    let mut slow = UnixStream::connect(&socket).unwrap();
    slow.write_all(b"{\"version\":1,\"command\":\"clients\"}\n").unwrap();
    line.session("one more");
    let mut listed: Vec<String> =
        rows(&socket, &["clients"]).iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect();
    listed.sort();
    let mut expected = names;
    expected.push("one more".to_owned());
    expected.sort();
    assert_eq!(listed, expected);
    let lines: Vec<_> = BufReader::new(slow).lines().map(Result::unwrap).collect();
    assert!((1501..=1502).contains(&lines.len()) && lines.last().unwrap().contains("\"end\""));
}

#[test]
fn unknown_command_is_refused_in_one_line() {
    let place = Place::new();
    let _server = place.start(&[]);
    let socket = place.path("state/control.sock");
    let answer = |request: &[u8]| {
        let mut stream = UnixStream::connect(&socket).unwrap();
        // The server may have answered before it has read everything.
        let _ = stream.write_all(request);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut line = String::new();
        let _ = BufReader::new(stream).read_line(&mut line);
        line
    };
    for (request, sentence) in [
        (&b"nonsense\n"[..], "not understood"),
        (b"{\"version\":1,\"command\":\"explode\"}\n", "not understood"),
        (b"{\"version\":2,\"command\":\"status\"}\n", "version 1"),
        (b"{\"version\":1,\"command\":\"status\"}", "has no end"),
        (b"", "has no end"),
    ] {
        let line = answer(request);
        let read: Value = serde_json::from_str(&line).unwrap();
        assert!(read["error"].as_str().unwrap().contains(sentence), "{line}");
    }
    let long = answer(&vec![b'x'; 1 << 20]);
    assert!(long.is_empty() || long.contains("longer than 16384 bytes"), "{long}");
    assert_eq!(rows(&socket, &["clients"]).len(), 0, "and the next is answered");
}

/// The program where another user may start it. Another process copies it: what a process of another test
/// inherits while this one has the copy open for writing could not be started.
fn copied_program(place: &Place) -> PathBuf {
    let program = place.path("primetime");
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_primetime")).arg(&program).status().unwrap();
    assert!(copied.success());
    program
}

#[test]
fn only_the_servers_user_and_root_may_give_commands() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can be somebody else");
        return;
    }
    let place = Place::new();
    fs::set_permissions(place.path("."), Permissions::from_mode(0o755)).unwrap();
    let socket = place.path("open.sock");
    let _server = place.start(&["--socket", socket.to_str().unwrap()]);
    assert_eq!(fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    let program = copied_program(&place);
    let as_nobody = || {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(&program);
        command.args(["ctl", "status", "--socket"]).arg(&socket).output().unwrap()
    };
    let (text, code) = refusal(&as_nobody());
    assert!(code == 3 && text.contains("ask as the server's user or as root"), "{text}");
    // Even when the socket itself lets everybody in.
    fs::set_permissions(&socket, Permissions::from_mode(0o666)).unwrap();
    let (text, code) = refusal(&as_nobody());
    assert!(code == 3 && text.contains("of its own user and of root only"), "{text}");
    assert_eq!(rows(&socket, &["status"]).len(), 1);
}

#[test]
fn a_socket_belongs_to_one_server_and_goes_with_it() {
    let place = Place::new();
    let server = place.start(&[]);
    let socket = place.path("state/control.sock");
    assert!(socket.exists());
    let shared = ["--state-dir", "other", "--socket", socket.to_str().unwrap()];
    let second = place.command_of(&shared).output().unwrap();
    let (text, code) = refusal(&second);
    assert!(code == 3 && text.contains("another server takes its commands at"), "{text}");
    server.signal(rustix::process::Signal::TERM);
    assert!(server.ended().success());
    assert!(!socket.exists());
    let (text, code) = refusal(&ctl(&socket, &["status"]));
    assert!(code == 3 && text.contains("name the socket of a running server"), "{text}");
    // One that was killed leaves its socket behind.
    drop(place.start(&[]));
    assert!(socket.exists());
    let _server = place.start(&[]);
    assert_eq!(rows(&socket, &["status"]).len(), 1);
}

#[test]
fn an_expired_client_loses_everything_and_another_keeps_its_state() {
    let place = Place::new();
    let server = place.start(&[]);
    let socket = place.path("state/control.sock");
    let mut line = Line::new(server.address);
    let (mut gone, mut stays) = (line.session("gone"), line.session("stays"));
    gone.open(&mut line, "mine", "owner");
    let opened = stays.open(&mut line, "yours", "owner");
    let number = format!("{:016x}", gone.client.0);
    assert_eq!(rows(&socket, &["expire", &number]), [json!({"client": number})]);
    let lookup = |c: &mut nfs4::CompoundBuilder<'_>| {
        c.push(nfs4::Operation::PutRootFh, &());
    };
    assert_eq!(gone.run(&mut line, lookup).status, nfs4::Status::BadSession);
    assert_eq!(stays.lock(&mut line, "yours", opened.state_id), nfs4::Status::Ok);
    let clients = rows(&socket, &["clients"]);
    assert_eq!((clients.len(), &clients[0]["name"]), (1, &json!("stays")));
    assert_eq!(rows(&socket, &["opens"]).len(), 1);
    for (client, sentence) in [(&*number, "there is no client"), ("nobody", "is no client's number")] {
        let (text, code) = refusal(&ctl(&socket, &["expire", client]));
        assert!(code == 1 && text.contains(sentence) && text.contains("ctl clients"), "{text}");
    }
}

#[test]
fn a_revoked_file_is_free_for_others_however_it_is_named() {
    let place = Place::new();
    let server = place.start(&[]);
    let socket = place.path("state/control.sock");
    let mut line = Line::new(server.address);
    fs::create_dir(place.path("export/directory")).unwrap();
    let mut session = line.session("client");
    let root = line.mount("/");
    let other = session.open(&mut line, "other", "owner");
    for named in ["by path", "by number", "by handle"] {
        let opened = session.open(&mut line, "file", "owner");
        assert_eq!(session.lock(&mut line, "file", opened.state_id), nfs4::Status::Ok);
        let what = proto::nfs3::DirOpArgs { dir: root, name: "file".into() };
        let proto::nfs3::Reply::Ok(found) = line.nfs3(&proto::nfs3::LookupArgs { what }) else {
            panic!("LOOKUP fails")
        };
        nlm_lock(&mut line, &found.object);
        let listed = rows(&socket, &["locks"])[0]["file"].as_str().unwrap().to_owned();
        let name = match named {
            "by path" => "/file".to_owned(),
            "by number" => listed.clone(),
            _ => found.object.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect(),
        };
        let expected = json!({"file": listed, "opens": 1, "lock_owners": 1, "delegations": 0, "nlm": 1});
        assert_eq!(rows(&socket, &["revoke", &name]), [expected], "{named}");
        assert_eq!(rows(&socket, &["locks"]), [Value::Null; 0]);
        assert_eq!(session.lock(&mut line, "file", opened.state_id), nfs4::Status::AdminRevoked);
    }
    assert_eq!(
        session.lock(&mut line, "other", other.state_id),
        nfs4::Status::Ok,
        "another file is left alone"
    );
    for (name, sentence) in [
        ("/missing", "there is no file /missing"),
        ("/directory/missing", "there is no file /directory/missing"),
        ("relative", "is no path, number or handle"),
        ("abcdef0123", "is no handle"),
    ] {
        let (text, code) = refusal(&ctl(&socket, &["revoke", name]));
        assert!(code == 1 && text.contains(sentence), "{text}");
    }
}

#[test]
fn without_a_socket_the_only_server_of_the_user_is_asked() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: servers of this user may run already");
        return;
    }
    let place = Place::new();
    fs::set_permissions(place.path("."), Permissions::from_mode(0o777)).unwrap();
    let program = copied_program(&place);
    let as_nobody = |arguments: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(&program);
        command.args(arguments).current_dir(place.path("."));
        command.env("HOME", place.path(".")).env_remove("XDG_STATE_HOME").env_remove("XDG_RUNTIME_DIR");
        command
    };
    let status = || as_nobody(&["ctl", "status", "--json"]).output().unwrap();
    let (text, code) = refusal(&status());
    assert!(code == 3 && text.contains("no running server is found"), "{text}");
    let serve = |directory| Process::start(&mut as_nobody(&["serve", directory, "--listen", "127.0.0.1:0"]));
    let server = serve("export");
    let found: Value = serde_json::from_slice(&status().stdout).unwrap();
    assert_eq!(found["address"], json!(server.address.to_string()));
    fs::create_dir(place.path("other")).unwrap();
    let _other = serve("other");
    let (text, code) = refusal(&status());
    assert!(code == 3 && text.contains("several servers") && text.contains("other/control.sock"), "{text}");
    // What was left behind by one that was killed is none.
    drop(server);
    assert!(status().status.success());
}

//! Clients on other machines, which here are other processes: an agent at a port, and one that a stand-in for
//! ssh starts.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use bench::results::Results;

use crate::clients::can_mount;
use crate::leftovers::{SCAN, measuring};
use crate::support::{Place, cell, is_empty, requests};

/// Each client locks, reads and unlocks 20 files of its own five times.
const LOCKED: &str = "[default]\nclients = 3\n[default.workload.locked-read]\nfiles = 20\nrounds = \
                      5\nfile_bytes = 512\n\
                      threads = 2\nreopen = false\n";

/// An agent that ends with its test.
pub(crate) struct Agent {
    child: Child,
    pub(crate) address: String,
}

impl Agent {
    pub(crate) fn start(place: &Place) -> Self {
        let arguments = ["bench", "agent", "--listen", "127.0.0.1:0", "--secret-file", "secret"];
        let mut child = place.command(&arguments).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut said).unwrap();
        let address = said.trim().strip_prefix("primetime: an agent listens at ").unwrap().to_owned();
        Self { child, address }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn place_with_secret() -> Place {
    let place = Place::new();
    fs::write(place.path("secret"), "nobody else knows this\n").unwrap();
    fs::write(place.path("other"), "what somebody else knows\n").unwrap();
    place
}

/// A stand-in for ssh: runs on this machine what it is to run on the host, unless that host is not there.
fn with_ssh(place: &Place, arguments: &[&str]) -> Command {
    let directory = place.path("bin");
    fs::create_dir_all(&directory).unwrap();
    let script = "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nshift; host=$1; shift\n\
                  [ \"$host\" = nowhere ] && { \
                  echo \"ssh: no route to $host\" >&2; exit 255; }\nexec \"$@\"\n";
    let ssh = directory.join("ssh");
    write_program(&ssh, script);
    let mut command = place.command(arguments);
    command.env("PATH", format!("{}:{}", directory.display(), std::env::var("PATH").unwrap()));
    command
}

/// Another process writes it: what a process of another test inherits while this one has it open for writing
/// could not be started.
fn write_program(path: &Path, text: &str) {
    let mut install = Command::new("install");
    let mut install =
        install.args(["-m", "755", "/dev/stdin"]).arg(path).stdin(Stdio::piped()).spawn().unwrap();
    install.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(install.wait().unwrap().success());
}

#[test]
fn mounts_of_an_agent_stay_until_their_clients_have_worked() {
    if !can_mount() {
        return;
    }
    let place = place_with_secret();
    let (server, agent) = (place.serve(), Agent::start(&place));
    let experiment = place.experiment("locked", "op/s", LOCKED);
    let url = format!("{}?uid=0&gid=0", server.url);
    let arguments = ["--server", &url, "--experiment", &experiment, "--client", "fuse", "--versions", "4.1"];
    let more = ["--hosts", &agent.address, "--agent-secret-file", "secret", "--runs", "1", "--out", "there"];
    let output = place.bench(&[&arguments[..], &more].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let there = Results::load(&place.path("there").join("results.json")).unwrap();
    let cell = cell(&there, "4.1", true);
    assert_eq!((cell.setting.client.as_str(), cell.operations), ("fuse", 3 * 20 * 5));
}

#[test]
fn clients_on_other_hosts_send_what_they_send_from_here() {
    let place = place_with_secret();
    let (server, agent) = (place.serve(), Agent::start(&place));
    let experiment = place.experiment("locked", "op/s", LOCKED);
    let here = place.measure(&experiment, &["--server", &server.url]);
    let hosts = format!("{},node1", agent.address);
    let primetime = env!("CARGO_BIN_EXE_primetime");
    let arguments = [
        "bench",
        "--experiment",
        &experiment,
        "--runs",
        "1",
        "--without-delegations",
        "--out",
        "there",
        "--server",
        &server.url,
        "--hosts",
        &hosts,
        "--agent-secret-file",
        "secret",
        "--agent-command",
        primetime,
    ];
    let output = with_ssh(&place, &arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let there = Results::load(&place.path("there").join("results.json")).unwrap();
    let names: Vec<_> = there.environment.hosts.iter().map(|host| host.name.as_str()).collect();
    assert_eq!(names, [agent.address.as_str(), "node1"]);
    assert!(there.environment.hosts.iter().all(|host| host.cores > 0 && host.clock_error_ms > 0.0));
    for (version, delegations) in [("3", false), ("4.1", true), ("4.1", false)] {
        let (here, there) = (cell(&here, version, delegations), cell(&there, version, delegations));
        let locks = |cell| requests(cell, &["LOCK", "UNLOCK", "LOCKU"]);
        assert_eq!(locks(here), locks(there), "{version}, {delegations}");
        assert_eq!(requests(here, &["READ"]), requests(there, &["READ"]), "{version}, {delegations}");
        let run = &there.run_details[0];
        assert_eq!((there.operations, run.client_values.len()), (3 * 20 * 5, 3));
        assert!(there.mean > 0.0 && there.latency_ms.is_some());
    }
    assert!(is_empty(&place.path("export")), "left on the server");
    drop(agent);
    assert!(is_empty(&place.path("temporary")), "left on a host");
}

/// All runs have what an agent on the server's machine told.
fn told_of_the_server(results: &Results, host: &str) {
    assert_eq!(results.environment.server_host.as_ref().unwrap().name, host);
    let runs = || results.cells.iter().flat_map(|cell| &cell.run_details);
    let busy: Vec<f64> = runs().map(|run| run.resources.unwrap().server_busy.unwrap()).collect();
    assert!(
        busy.iter().all(|busy| (0.0..=1.0).contains(busy)) && busy.iter().any(|busy| *busy > 0.0),
        "{busy:?}"
    );
}

#[test]
fn the_machine_of_the_server_is_asked_how_busy_it_is() {
    let place = place_with_secret();
    let (server, agent) = (place.serve(), Agent::start(&place));
    let experiment = place.experiment("locked", "op/s", LOCKED);
    let unasked = place.measure(&experiment, &["--server", &server.url]);
    assert!(unasked.environment.server_host.is_none());
    assert!(unasked.cells.iter().all(|cell| cell.resources.is_some_and(|used| used.server_busy.is_none())));
    let arguments = |more: &[&str]| {
        let common = ["bench", "--experiment", &experiment, "--runs", "1", "--server", &server.url];
        let output = with_ssh(&place, &[&common[..], more].concat()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let secret = ["--agent-secret-file", "secret"];
    // The clients are here.
    let here = ["--rtt-ms", "0", "--out", "here", "--server-host", &agent.address];
    arguments(&[&here[..], &secret].concat());
    told_of_the_server(&Results::load(&place.path("here").join("results.json")).unwrap(), &agent.address);
    // The clients are on another machine.
    let command = ["--agent-command", env!("CARGO_BIN_EXE_primetime")];
    let there = ["--out", "there", "--hosts", &agent.address, "--server-host", "node1"];
    arguments(&[&there[..], &secret, &command].concat());
    let results = Results::load(&place.path("there").join("results.json")).unwrap();
    told_of_the_server(&results, "node1");
    assert_eq!(results.environment.hosts.len(), 1);
    let page = fs::read_to_string(place.path("there").join("report.html")).unwrap();
    assert!(page.contains("Server on node1"));
}

#[test]
fn a_host_that_cannot_be_used_is_one_sentence() {
    let place = place_with_secret();
    let (server, agent) = (place.serve(), Agent::start(&place));
    let experiment = place.experiment("scan", "MB/s", SCAN);
    let refusal = |more: &[&str]| {
        let arguments = [&["bench", "--experiment", &experiment, "--server", &server.url], more].concat();
        let output = with_ssh(&place, &arguments).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert_eq!(said.trim_end().lines().count(), 1, "{said}");
        said
    };
    let said = refusal(&["--hosts", &agent.address]);
    assert!(said.contains("--agent-secret-file"), "{said}");
    let said = refusal(&["--hosts", &agent.address, "--agent-secret-file", "other"]);
    assert!(said.contains("it has another secret"), "{said}");
    let said = refusal(&["--hosts", "127.0.0.1:1", "--agent-secret-file", "secret"]);
    assert!(said.contains("refused") && said.contains("primetime bench agent"), "{said}");
    let said = refusal(&["--hosts", "nowhere"]);
    assert!(said.contains("ssh: no route to nowhere"), "{said}");
    let said = refusal(&["--hosts", "node1", "--rtt-ms", "10"]);
    assert!(said.contains("tc-netem(8)"), "{said}");
    let said = refusal(&["--hosts", "node1,node1"]);
    assert!(said.contains("named twice"), "{said}");
    let said = refusal(&["--hosts", "node1", "--server-host", "node1"]);
    assert!(said.contains("leave out --server-host"), "{said}");
    let said = refusal(&["--rtt-ms", "0", "--server-host", "nowhere"]);
    assert!(said.contains("ssh: no route to nowhere"), "{said}");
    let said = refusal(&["--hosts", "node1", "--agent-command", "false"]);
    assert!(said.contains("it has ended at once"), "{said}");
    assert!(is_empty(&place.path("export")));
}

#[test]
fn a_lost_agent_makes_the_run_invalid_and_leaves_nothing() {
    let place = place_with_secret();
    let server = place.serve();
    let (mut lost, kept) = (Agent::start(&place), Agent::start(&place));
    let hosts = format!("{},{}", lost.address, kept.address);
    let options = ["--server", &server.url, "--hosts", &hosts, "--agent-secret-file", "secret"];
    let (mut child, lines) = measuring(&place, "out", &options);
    lost.child.kill().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(2));
    let last = lines.last().unwrap().unwrap();
    assert!(last.contains(&format!("the agent on {} is lost", lost.address)), "{last}");
    assert!(is_empty(&place.path("export")), "left on the server");
    // The other one is there for the next.
    let experiment = place.experiment("locked", "op/s", LOCKED);
    let options = ["--server", &server.url, "--hosts", &kept.address, "--agent-secret-file", "secret"];
    let results = place.measure(&experiment, &options);
    assert_eq!(cell(&results, "4.1", true).operations, 3 * 20 * 5);
}

#[test]
fn a_lost_agent_on_the_machine_of_the_server_makes_the_run_invalid() {
    let place = place_with_secret();
    let (server, mut lost) = (place.serve(), Agent::start(&place));
    let options = [
        "--server",
        &server.url,
        "--rtt-ms",
        "0",
        "--server-host",
        &lost.address,
        "--agent-secret-file",
        "secret",
    ];
    let (mut child, lines) = measuring(&place, "out", &options);
    lost.child.kill().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(2));
    let last = lines.last().unwrap().unwrap();
    assert!(last.contains(&format!("the agent on {} is lost", lost.address)), "{last}");
    assert!(is_empty(&place.path("export")), "left on the server");
}

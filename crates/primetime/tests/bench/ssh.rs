//! Clients on other machines that are reached by the system's ssh: each machine has a network and an sshd of
//! its own.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use bench::results::Results;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::leftovers::{SCAN, until_it_measures};
use crate::machines::{Machines, await_that};
use crate::support::{Place, cell, is_empty, requests};

/// Each client locks, reads and unlocks 20 files of its own five times.
const LOCKED: &str = "[default]\nclients = 3\n[default.workload.locked-read]\nfiles = 20\nrounds = \
                      5\nfile_bytes = 512\n\
                      threads = 2\nreopen = false\n";

/// Each client makes files and deletes them until it is told to stop.
const ENDLESS: &str = "[default]\nclients = 2\n[default.workload.composed]\nthreads = 2\nsets.a = { entries \
                       = 100, size = \"3 KiB\", preallocated = 0.0 \
                       }\n[[default.workload.composed.phases]]\nname = \"save\"\nseconds = 600\n\
                       loop = [\"create a\", \"write-whole\", \"close\", \"create \
                       a\", \"write-whole\", \"close\", \"delete a\"]\n";

/// `primetime bench` at the desk, with results in `out` of the place.
fn at_desk(machines: &Machines, place: &Place, out: &str, more: &[&str]) -> Command {
    let mut command = machines.desk.command(env!("CARGO_BIN_EXE_primetime"));
    command.args(["bench", "--rtt-ms", "0", "--out"]).arg(place.path(out)).args(more);
    command
}

#[test]
fn clients_on_machines_of_their_own_send_what_they_send_from_here() {
    let place = Place::new();
    let Some(machines) = Machines::for_test(&place) else { return };
    let server = machines.serve(&place);
    let experiment = place.experiment("locked", "op/s", LOCKED);
    let measured = |out: &str, more: &[&str]| {
        let once =
            ["--experiment", &experiment, "--runs", "1", "--without-delegations", "--server", &server.url];
        let output = at_desk(&machines, &place, out, &[&once[..], more].concat()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Results::load(&place.path(out).join("results.json")).unwrap()
    };
    let (here, there) = (
        measured("here", &[]),
        measured("there", &["--hosts", "node1,root@node2", "--server-host", "node2"]),
    );
    assert_eq!(there.environment.server_host.as_ref().unwrap().name, "node2");
    let hosts = &there.environment.hosts;
    assert_eq!(hosts.iter().map(|host| host.name.as_str()).collect::<Vec<_>>(), ["node1", "root@node2"]);
    assert!(hosts.iter().all(|host| host.cores > 0 && host.clock_error_ms > 0.0));
    for (version, delegations) in [("3", false), ("4.1", true), ("4.1", false)] {
        let (here, there) = (cell(&here, version, delegations), cell(&there, version, delegations));
        let locks = |cell| requests(cell, &["LOCK", "UNLOCK", "LOCKU"]);
        assert_eq!(locks(here), locks(there), "{version}, {delegations}");
        assert_eq!(requests(here, &["READ"]), requests(there, &["READ"]), "{version}, {delegations}");
        let run = &there.run_details[0];
        assert_eq!((there.operations, run.client_values.len()), (3 * 20 * 5, 3));
        assert_eq!(run.client_hosts, ["node1", "root@node2", "node1"]);
        assert!(here.run_details[0].client_hosts.is_empty());
        assert!(
            !run.doubts.iter().any(|doubt| doubt.contains("The clock of")),
            "there is only one: {:?}",
            run.doubts
        );
        assert!(run.start_skew_ms > 0.0, "all cannot have begun in the same nanosecond");
    }
    assert!(is_empty(&place.path("export")), "left on the server");
    machines.assert_nothing_is_left();
}

/// Starts a benchmark on both hosts, does `harm` when the clients of both have made files, and gives the last
/// that it says. None where there can be no machines.
fn harmed(harm: impl FnOnce(&Machines, Pid)) -> Option<String> {
    let place = Place::new();
    let machines = Machines::for_test(&place)?;
    let server = machines.serve(&place);
    let experiment = place.experiment("scan", "op/s", ENDLESS);
    let options = ["--experiment", &experiment, "--server", &server.url, "--hosts", "node1,node2"];
    // As a shell at a terminal starts it, so that what the terminal sends reaches all that it has started.
    let mut command = at_desk(&machines, &place, "out", &options);
    command.process_group(0);
    let (mut child, lines) = until_it_measures(command);
    await_that("clients make files", || files(&place.path("export")) > 2);
    harm(&machines, Pid::from_raw(child.id().cast_signed()).unwrap());
    let status = child.wait().unwrap();
    let said: Vec<String> = lines.map(Result::unwrap).filter(|line| !line.is_empty()).collect();
    assert_eq!(status.code(), Some(2), "{said:?}");
    assert!(is_empty(&place.path("export")), "left on the server");
    assert!(!place.path("out").exists(), "an empty directory for results was left");
    machines.assert_nothing_is_left();
    let sentences = said.iter().filter(|line| line.starts_with("primetime: ")).count();
    assert_eq!(sentences, 1, "{said:?}");
    said.last().cloned()
}

fn files(directory: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(directory) else { return 0 };
    let below = |path: PathBuf| if path.is_dir() { files(&path) } else { 1 };
    entries.filter_map(|entry| Some(below(entry.ok()?.path()))).sum()
}

/// Kills on the second host what has these words, in the middle of a run.
fn killed_there(words: &str) -> Option<String> {
    harmed(|machines, _| {
        let mut wanted = machines.hosts[1].processes();
        wanted.retain(|(_, line)| line.contains(words));
        assert_eq!(wanted.len(), 1, "{wanted:?}");
        kill_process(wanted[0].0, Signal::KILL).unwrap();
    })
}

#[test]
fn ctrl_c_leaves_nothing_on_any_host() {
    let sent = |_: &Machines, bench| kill_process_group(bench, Signal::INT).unwrap();
    let Some(last) = harmed(sent) else { return };
    assert!(last.contains("stopped before the end; nothing was written"), "{last}");
}

#[test]
fn a_killed_agent_makes_the_run_invalid_and_leaves_nothing() {
    let Some(last) = killed_there("bench agent --stdio") else { return };
    assert!(last.contains("the agent on node2 is lost"), "{last}");
}

#[test]
fn a_connection_that_is_cut_makes_the_run_invalid_and_leaves_nothing() {
    let Some(last) = killed_there("sshd: root@notty") else { return };
    assert!(last.contains("the agent on node2 is lost"), "{last}");
}

#[test]
fn a_host_that_ssh_cannot_use_is_one_sentence_with_the_mend() {
    let place = Place::new();
    let Some(machines) = Machines::for_test(&place) else { return };
    let server = machines.serve(&place);
    let experiment = place.experiment("scan", "MB/s", SCAN);
    let refused = |host: &str, words: &[&str]| {
        let hosts = format!("node1,{host}");
        let options = ["--experiment", &experiment, "--server", &server.url, "--hosts", &hosts];
        let output = at_desk(&machines, &place, host, &options).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), said.trim_end().lines().count()), (Some(3), 1), "{said}");
        assert!(said.contains(host) && words.iter().all(|word| said.contains(word)), "{host}: {said}");
        assert!(!place.path(host).exists(), "an empty directory for results was left");
    };
    let _silent = machines.listen_in_silence();
    let cases: [(&str, &[&str]); 7] = [
        ("stranger", &["Host key verification failed", "`ssh stranger`"]),
        ("closed@node2", &["Permission denied", "`ssh-copy-id closed@node2`"]),
        ("bare@node2", &["not found", "--agent-command"]),
        ("older@node2", &["both must be the same", "install"]),
        ("chatty@node2", &["something else than an agent", "start-up files"]),
        ("nowhere", &["No route to host", "`ssh nowhere primetime --version`"]),
        ("silent", &["timed out", "`ssh silent primetime --version`"]),
    ];
    std::thread::scope(|scope| {
        for (host, words) in cases {
            let refused = &refused;
            scope.spawn(move || refused(host, words));
        }
    });
    assert!(is_empty(&place.path("export")));
    machines.assert_nothing_is_left();
}

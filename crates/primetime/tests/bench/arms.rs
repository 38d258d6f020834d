//! Arms: servers, directories, versions and executables side by side, in the same blocks.

use std::fs;

use bench::results::{Cell, Results};

use crate::support::Place;

const FEW: &str =
    "[default]\nclients = 1\n[default.workload.create]\nthreads = 1\nfile_bytes = 0\nfiles = 5\n";
const EXECUTABLE: &str = env!("CARGO_BIN_EXE_primetime");

fn measured(place: &Place, more: &[&str]) -> (Results, String) {
    let experiment = place.experiment("create-few", "op/s", FEW);
    let arguments = ["--experiment", &experiment, "--rtt-ms", "0", "--runs", "2", "--out", "out"];
    let words = [more, &arguments[..]].concat();
    let output = place.bench(&words);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let results = Results::load(&place.path("out").join("results.json")).unwrap();
    (results, String::from_utf8(output.stdout).unwrap())
}

fn refused(place: &Place, arguments: &[&str]) -> String {
    let output = place.bench(arguments);
    assert_eq!(output.status.code(), Some(3), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

fn compared(results: &Results) -> Vec<[String; 2]> {
    let name = |one: &bench::results::Comparison| [one.candidate_name(), one.baseline_name()];
    results.comparisons.iter().map(name).collect()
}

#[test]
fn servers_options_and_a_directory_take_turns_in_the_same_blocks() {
    let place = Place::new();
    let server = place.serve();
    let with = format!("with={}?version=4.1&uid=0&gid=0", server.url);
    let without = format!("without={}?version=4.1&delegations=off&uid=0&gid=0", server.url);
    let own = "own=builtin?version=3&serve=--async";
    let arms = ["--arm", &with, "--arm", &without, "--arm", own, "--arm", "disk=local"];
    let (results, said) = measured(&place, &arms);
    let of = |arm: &str| -> &Cell { results.cells.iter().find(|cell| cell.setting.arm == arm).unwrap() };
    assert_eq!(results.cells.len(), 4);
    assert!(results.cells.iter().all(|cell| cell.blocks() == 2 && cell.operations == 5));
    assert_eq!((of("with").setting.delegations, of("without").setting.delegations), (true, false));
    assert_eq!(of("with").setting.server, of("without").setting.server);
    assert_eq!(of("own").setting.server, "builtin --async");
    assert_eq!((of("disk").setting.client.as_str(), of("disk").rpcs_total), ("path", 0));
    assert_eq!(of("own").rpcs.get("CREATE"), Some(&5), "{:?}", of("own").rpcs);
    let with = "with v4.1".to_owned();
    let expected =
        ["without v4.1 without delegations", "own v3", "disk"].map(|name| [name.to_owned(), with.clone()]);
    assert_eq!(compared(&results), expected);
    assert!(said.contains("disk ÷ with v4.1 [95 %]"), "{said}");
    assert_eq!(fs::read_dir(place.path("export")).unwrap().count(), 0, "all of it is removed");
    let page = fs::read_to_string(place.path("out").join("report.html")).unwrap();
    assert!(page.contains("without v4.1 without delegations"));
}

#[test]
fn planted_difference_is_in_the_values_and_said() {
    let place = Place::new();
    let arms = ["--arm", "a=local", "--arm", "b=local?slower=1000%"];
    let (results, _) = measured(&place, &arms);
    let doubts: Vec<_> = results.cells.iter().map(|cell| &cell.run_details[0].doubts).collect();
    assert!(
        doubts[0].is_empty() && doubts[1] == &["Its value was made 1000 % worse on purpose."],
        "{doubts:?}"
    );
    let [planted, plain] = [1, 0].map(|nth| &results.cells[nth]);
    let rate = |cell: &Cell| cell.operations as f64 / cell.run_details[0].seconds;
    let of_rate = |cell: &Cell| cell.run_details[0].value / rate(cell);
    assert!(
        (of_rate(planted) * 11.0 / of_rate(plain) - 1.0).abs() < 1e-6,
        "{} {}",
        of_rate(planted),
        of_rate(plain)
    );
}

#[test]
fn settings_of_tcp_are_arms_of_server_and_client() {
    let place = Place::new();
    let server = place.serve();
    let named = format!("named={}?version=4.1&uid=0&gid=0&congestion=reno&socket_buffer=65536", server.url);
    let own = "own=builtin?version=4.1&congestion=reno&serve=--congestion,reno,--socket-buffer,65536";
    let (results, _) = measured(&place, &["--arm", &named, "--arm", own]);
    let servers: Vec<&str> = results.cells.iter().map(|cell| cell.setting.server.as_str()).collect();
    assert!(servers[0].ends_with("&congestion=reno&socket_buffer=65536"), "{servers:?}");
    assert_eq!(servers[1], "builtin?congestion=reno --congestion reno --socket-buffer 65536");
    assert!(results.cells.iter().all(|cell| cell.blocks() == 2 && cell.operations == 5));
}

/// Sixteen threads of one client, so that slots are what bounds the requests under way.
const MANY_THREADS: &str =
    "[default]\nclients = 1\n[default.workload.create]\nthreads = 16\nfile_bytes = 0\nfiles = 5\n";

#[test]
fn slots_of_an_arm_bound_its_requests_under_way() {
    let place = Place::new();
    let experiment = place.experiment("create-many", "op/s", MANY_THREADS);
    let arms = ["--arm", "one=builtin?version=4.1&slots=1", "--arm", "many=builtin?version=4.1"];
    let plan = ["--experiment", &experiment, "--rtt-ms", "0", "--runs", "1", "--out", "out"];
    let output = place.bench(&[&arms[..], &plan[..]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let results = Results::load(&place.path("out").join("results.json")).unwrap();
    let of = |arm: &str| -> &Cell { results.cells.iter().find(|cell| cell.setting.arm == arm).unwrap() };
    assert_eq!(of("one").setting.server, "builtin?slots=1");
    let slots: Vec<u32> = ["one", "many"]
        .iter()
        .filter_map(|arm| results.environment.negotiated.iter().find(|(key, _)| key.contains(arm)))
        .map(|(_, agreed)| agreed["slots"].parse().unwrap())
        .collect();
    assert!(slots.len() == 2 && slots[0] == 1 && slots[1] >= 16, "{:?}", results.environment.negotiated);
    assert_eq!(of("one").rpcs_total, of("many").rpcs_total);
}

#[test]
fn only_pairs_that_were_asked_for_are_compared() {
    let place = Place::new();
    let arms = ["--arm", "a=local", "--arm", "b=builtin?version=3", "--arm", "c=builtin?version=4.2"];
    let (results, _) = measured(&place, &[&arms[..], &["--pair", "c/b"]].concat());
    assert_eq!(compared(&results), [["c v4.2".to_owned(), "b v3".to_owned()]]);
    assert_eq!(results.verdict.text.contains("against b, c is"), results.cells.len() == 3);
}

#[test]
fn two_executables_are_compared_in_each_version() {
    let place = Place::new();
    let (results, _) = measured(&place, &["compare", EXECUTABLE, EXECUTABLE]);
    assert_eq!(results.cells.len(), 4);
    let pairs = [["new v3", "old v3"], ["new v4.1", "old v4.1"]].map(|pair| pair.map(str::to_owned));
    assert_eq!(compared(&results), pairs);
    let counts: Vec<u64> = results.cells.iter().map(|cell| cell.rpcs_total).collect();
    assert_eq!((counts[0], counts[1]), (counts[2], counts[3]), "the same executable sends the same");
    let error = refused(&place, &["compare", "absent", EXECUTABLE]);
    assert!(error.contains("`absent` is neither a file nor an address"), "{error}");
}

#[test]
fn arms_that_do_not_go_together_are_refused_before_anything_runs() {
    let place = Place::new();
    for (arguments, reason) in [
        (&["--arm", "a=local", "--arm", "a=builtin"][..], "the same name"),
        (&["--arm", "a=local", "--arm", "b=builtin", "--rtt-ms", "1"], "a directory has no delay"),
        (&["--arm", "a=builtin", "--pair", "a/b"], "there is no arm `b`"),
        (&["--arm", "a=builtin", "--arm", "b=local", "--pair", "a/a"], "with itself"),
        (&["--arm", "a=builtin", "--pair", "a"], "write it as NEW/OLD"),
        (&["--arm", "a=builtin", "--without-delegations"], "delegations=off"),
        (&["--arm", "a=builtin?version=5"], "has no version `5`"),
        (&["--arm", "a=builtin", "--hosts", "node1"], "own; name the server"),
        (&["--arm", "a=builtin?serve=--no-such-flag"], "--no-such-flag"),
        (&["--arm", "a=builtin?serve=--congestion,no-such-one"], "`no-such-one` (it has "),
        (&["--arm", "a=builtin?congestion=no-such-one"], "`no-such-one` (it has "),
        (&["--arm", "a=builtin?slots=0"], "`0` is not a number from 1 to 65536"),
        (&["--arm", "a=builtin?slots=8&client=kernel"], "slots are settings of the client library"),
    ] {
        let error = refused(&place, arguments);
        assert!(error.contains(reason), "{arguments:?}: {error}");
    }
    assert!(!place.path("primetime-report").exists());
}

//! `primetime bench` at servers of others: paths, delegations, and that nothing is left behind.

use std::path::Path;
use std::process::{Command, Output};

use bench::results::{Cell, Results};
use tempfile::TempDir;

use crate::foreign::Place;

/// Runs `primetime bench` with two blocks of `experiment` at `place`, and returns what it found and said.
fn measured(place: &Place, experiment: &str, more: &[&str]) -> (Results, String) {
    let folder = tempfile::tempdir().unwrap();
    let output = run(&folder, place, experiment, more);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    (Results::load(&folder.path().join("out/results.json")).unwrap(), said)
}

fn run(
    folder: &TempDir,
    Place { host, port, mount_port, path }: &Place,
    experiment: &str,
    more: &[&str],
) -> Output {
    let server = format!("nfs://{host}:{port}{path}?mountport={mount_port}&uid=0&gid=0");
    let arguments =
        ["bench", "--server", &server, "--experiment", experiment, "--rtt-ms", "0", "--runs", "2"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_primetime"));
    command.args(arguments).args(["--out", "out"]).args(more).current_dir(folder.path());
    command.output().unwrap()
}

fn cell<'a>(results: &'a Results, version: &str) -> &'a Cell {
    results.cells.iter().find(|cell| cell.setting.version == version).unwrap()
}

/// The export has one path over NFSv4, `place.path`, and another one over NFSv3, `directory`.
pub(crate) fn path_of_v3_is_found(place: &Place, directory: &Path) {
    let (results, said) = measured(place, "create", &[]);
    let path = directory.to_str().unwrap();
    assert!(said.contains(&format!("Over NFSv3 the same directory is {path}.")), "{said}");
    for version in ["3", "4.1"] {
        assert_eq!(cell(&results, version).blocks(), 2, "v{version}");
    }
    let left: Vec<_> = std::fs::read_dir(directory).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

/// The server grants delegations, though not of files that were just written.
pub(crate) fn delegations_are_waited_for(place: &Place) {
    let (results, _) = measured(place, "locked-read", &["--versions", "4.1"]);
    let cell = cell(&results, "4.1");
    let each: Vec<f64> = cell
        .run_details
        .iter()
        .map(|run| *run.rpcs.get("OPEN").unwrap_or(&0) as f64 / run.operations as f64)
        .collect();
    // Ten rounds for each file: with a delegation at most the first of them opens it.
    assert!(each.iter().all(|opens| *opens <= 0.11), "{each:?}");
    let doubted = results.environment.doubts.iter().any(|doubt| doubt.contains("delegated no file"));
    assert!(!doubted, "{:?}", results.environment.doubts);
}

//! A benchmark that ends before its end loses one block, and goes on from there.

use std::fs;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use bench::results::{Results, Run};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::Place;

const FEW: &str =
    "[default]\nclients = 1\n[default.workload.create]\nthreads = 1\nfile_bytes = 0\nfiles = 10\n";
const LONG: &str = "[default]\nclients = 1\n[default.workload.sequential-read]\nfile_bytes = \"64 KiB\"\n\
                    io_bytes = \"16 KiB\"\nseconds = 1.0\n";

/// A benchmark of two experiments, of which the second takes a while.
struct Benchmark {
    place: Place,
    arguments: Vec<String>,
}

impl Benchmark {
    fn new() -> Self {
        let place = Place::new();
        let few = place.experiment("create-few", "op/s", FEW);
        let long = place.experiment("scan", "MB/s", LONG);
        let words =
            ["--experiment", &few, "--experiment", &long, "--runs", "3", "--rtt-ms", "0", "--out", "out"];
        let arguments = words.map(str::to_owned).to_vec();
        Self { place, arguments }
    }

    fn words<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        self.arguments.iter().map(String::as_str).chain(more.iter().copied()).collect()
    }

    /// Starts it and waits until its journal has a run of the second experiment.
    fn interrupted(&self, signal: Signal) -> Child {
        let words = [&["bench"], &self.words(&[])[..]].concat();
        let mut command = self.place.command(&words);
        let child = command.stderr(Stdio::piped()).spawn().unwrap();
        let journal = self.place.path("out").join("runs.jsonl");
        let deadline = Instant::now() + Duration::from_secs(120);
        while !fs::read_to_string(&journal).is_ok_and(|text| text.contains("\"experiment\":\"scan\"")) {
            assert!(Instant::now() < deadline, "nothing was measured");
            std::thread::sleep(Duration::from_millis(10));
        }
        kill_process(Pid::from_raw(child.id().cast_signed()).unwrap(), signal).unwrap();
        child
    }

    fn results(&self) -> Results {
        Results::load(&self.place.path("out").join("results.json")).unwrap()
    }
}

/// The runs of the experiment that was complete, by version.
fn complete(results: &Results) -> Vec<(&str, &[Run])> {
    let cells = results.cells.iter().filter(|cell| cell.setting.experiment == "create-few");
    cells.map(|cell| (cell.setting.version.as_str(), &cell.run_details[..])).collect()
}

#[test]
fn resume_keeps_complete_runs_and_adds_the_rest() {
    let benchmark = Benchmark::new();
    let output = benchmark.interrupted(Signal::INT).wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("stopped before the end; 2 settings are complete in out, and --resume"), "{said}");
    let partial = benchmark.results();
    assert!(partial.partial);
    assert_eq!(complete(&partial).len(), partial.cells.len());

    let other = benchmark.place.bench(&benchmark.words(&["--resume", "--seed", "2"]));
    assert_eq!(other.status.code(), Some(3));
    let said = String::from_utf8(other.stderr).unwrap();
    assert!(said.contains("(seed: 1, now 2)") && said.lines().count() == 1, "{said}");

    let output = benchmark.place.bench(&benchmark.words(&["--resume"]));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let whole = benchmark.results();
    assert!(!whole.partial);
    assert_eq!(complete(&whole), complete(&partial), "what was complete is not measured again");
    assert_eq!(whole.cells.len(), 4);
    for cell in &whole.cells {
        let blocks: Vec<u32> = cell.run_details.iter().map(|run| run.block).collect();
        assert_eq!(blocks, [0, 1, 2]);
    }
    assert_eq!((whole.comparisons.len(), &whole.environment.date), (2, &partial.environment.date));
    assert!(!benchmark.place.path("out").join("runs.jsonl").exists());

    let again = benchmark.place.bench(&benchmark.words(&["--resume"]));
    assert_eq!(again.status.code(), Some(3), "there is nothing left to continue");
}

#[test]
fn a_killed_benchmark_is_continued_and_never_overwritten() {
    let benchmark = Benchmark::new();
    benchmark.interrupted(Signal::KILL).wait().unwrap();
    let out = benchmark.place.path("out");
    assert!(!out.join("results.json").exists());
    let output = benchmark.place.bench(&benchmark.words(&["--resume"]));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(benchmark.results().cells.len(), 4);

    let few = benchmark.arguments[1].as_str();
    let one = benchmark.place.bench(&["--experiment", few, "--runs", "1", "--rtt-ms", "0", "--out", "out"]);
    let said = String::from_utf8(one.stderr).unwrap();
    assert!(one.status.success() && said.contains("put into out/earlier-1"), "{said}");
    assert_eq!(benchmark.results().cells.len(), 2);
    assert_eq!(Results::load(&out.join("earlier-1/results.json")).unwrap().cells.len(), 4);
}

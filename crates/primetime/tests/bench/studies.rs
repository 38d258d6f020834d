//! The experiments of the studies, at tiny sizes: what must be sent for them, exactly where it is determined.

use std::fs;

use bench::results::{Results, Timeline};

use crate::support::{Place, cell, phase, requests};

#[test]
fn a_delegation_in_the_way_costs_one_recall_and_one_open() {
    let place = Place::new();
    let sizes = r#"[default]
clients = 2
[default.workload.composed]
sets.files = { entries = 20, size = "4 KiB", shared = true }
[[default.workload.composed.phases]]
name = "hold"
clients = "first"
measured = false
passes = 20
loop = ["open files read", "read-whole", "close"]
[[default.workload.composed.phases]]
name = "recall"
clients = "others"
passes = 20
loop = ["open files rw", "close"]
counts = ["open"]
"#;
    let recall = place.experiment("recall", "ms", sizes);
    let arguments =
        ["--experiment", &recall, "--runs", "2", "--rtt-ms", "0", "--without-delegations", "--out", "out"];
    let output = place.bench(&arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let results = Results::load(&place.path("out").join("results.json")).unwrap();
    let with = cell(&results, "4.1", true);
    assert!(with.mean > 0.0 && with.latency_ms.unwrap().max < 10_000.0);
    // In the second run too: its files are new ones, which the server knows no conflict of.
    assert_eq!(with.run_details.len(), 2);
    for run in &with.run_details {
        assert_eq!((run.operations, run.compound_operations["OPEN"]), (20, 20), "each OPEN is sent once");
        assert_eq!(run.callbacks["CB_RECALL"], 20, "{:?}", run.callbacks);
    }
    for run in &cell(&results, "4.1", false).run_details {
        assert_eq!(run.compound_operations["OPEN"], 20);
        assert!(run.callbacks.is_empty(), "nobody holds anything: {:?}", run.callbacks);
    }
}

#[test]
fn without_readahead_one_read_of_the_application_is_one_request() {
    let place = Place::new();
    let sizes = "[default]\nclients = 2\nreadahead = false\n[default.workload.sequential-read]\n\
                 file_bytes = \"1 MiB\"\nio_bytes = \"64 KiB\"\nseconds = 0.2\n";
    let results = place.measure(&place.experiment("no-readahead", "MB/s", sizes), &[]);
    for cell in &results.cells {
        assert!(cell.operations > 0);
        assert_eq!(requests(cell, &["READ"]), cell.operations, "{}: {:?}", cell.version_name(), cell.rpcs);
    }
}

#[test]
fn without_a_cache_every_small_read_is_a_request_of_its_own() {
    let place = Place::new();
    let sizes = "[default]\nclients = 1\ndata_cache = false\n[default.workload.random-read]\n\
                 file_bytes = \"1 MiB\"\nio_bytes = \"4 KiB\"\nthreads = 1\nseconds = 0.2\n";
    let results = place.measure(&place.experiment("disk", "op/s", sizes), &[]);
    for cell in &results.cells {
        assert_eq!(requests(cell, &["READ"]), cell.operations, "{:?}", cell.rpcs);
        assert_eq!(cell.read_gain(), Some(1.0), "{} of {}", cell.application_read_bytes, cell.read_bytes);
        let latency = cell.latency_ms.unwrap();
        assert!(latency.p50 <= latency.p99 && latency.p99 <= latency.max);
        assert!(cell.queue_ms < latency.mean, "the submission is a part of it");
    }
}

#[test]
fn random_reads_fetch_nothing_that_is_not_wanted() {
    let place = Place::new();
    let sizes = "[default]\nclients = 2\n[default.workload.random-read]\nfile_bytes = \"2 MiB\"\n\
                 io_bytes = \"4 KiB\"\nthreads = 4\nseconds = 0.5\n";
    let results = place.measure(&place.experiment("random", "op/s", sizes), &[]);
    for cell in &results.cells {
        assert!(cell.read_gain().unwrap() >= 1.0, "{}: {:?}", cell.version_name(), cell.read_gain());
    }
}

#[test]
fn a_source_tree_is_unpacked_listed_and_removed_in_both_ways() {
    let place = Place::new();
    let sizes = "[default]\nclients = 2\n[default.workload.source-tree]\ndirectories = 3\nfiles = 12\n\
                 file_bytes = \"2 KiB\"\nway = \"calls\"\n[default.factors]\nway = [\"calls\", \"batch\"]\n";
    let results = place.measure(&place.experiment("tree", "s", sizes), &[]);
    assert_eq!(results.cells.len(), 3 * 2 * 3, "three parts, two ways, three arms");
    let of = |name: &str, way: &str, version: &str| {
        let wanted = |cell: &&bench::results::Cell| {
            let levels = &cell.setting.levels;
            levels["phase"] == name && levels["way"] == way && cell.setting.version == version
        };
        results.cells.iter().find(wanted).unwrap()
    };
    for version in ["3", "4.1"] {
        // Two clients with three directories and twelve files each.
        assert_eq!(of("extract", "calls", version).operations, 30);
        assert_eq!(of("find", "calls", version).operations, 30);
        assert_eq!(of("remove", "calls", version).operations, 2 * 16, "and the top directory");
        for part in ["extract", "find", "remove"] {
            assert!(of(part, "batch", version).operations >= 30, "{part}");
            assert!(of(part, "calls", version).mean > 0.0);
        }
    }
    let creates = requests(of("extract", "calls", "3"), &["CREATE", "MKDIR"]);
    assert_eq!(creates, 2 * 16, "{:?}", of("extract", "calls", "3").rpcs);
    let batched = of("extract", "batch", "4.1");
    assert!(batched.rpcs_total < 30, "many files go in one request: {:?}", batched.rpcs);
}

#[test]
fn a_timeline_has_the_rates_of_all_clients() {
    let place = Place::new();
    let sizes = "[figure]\nform = \"timeline\"\n[default]\nclients = 2\n[default.workload.sequential-write]\n\
                 file_bytes = \"1 MiB\"\nio_bytes = \"64 KiB\"\nsync = false\nseconds = 0.3\n";
    let results = place.measure(&place.experiment("steady", "MB/s", sizes), &[]);
    for cell in &results.cells {
        let timeline = cell.run_details[0].timeline.as_ref().unwrap();
        assert_eq!((timeline.values.len(), timeline.clients.len()), (20, 2));
        let sum: f64 = timeline.values.iter().sum::<f64>() * timeline.slice_seconds;
        let bytes = cell.application_bytes as f64 / 1e6;
        assert!((sum - bytes).abs() < 0.01 * bytes, "{sum} MB in the slices, {bytes} MB in all");
    }
}

/// The operations or megabytes under the curve of all clients.
fn under(timeline: &Timeline) -> f64 {
    timeline.values.iter().sum::<f64>() * timeline.slice_seconds
}

#[test]
fn curve_of_random_reads_adds_up_to_their_operations() {
    let place = Place::new();
    let sizes = "[default]\nclients = 2\n[default.workload.random-read]\nfile_bytes = \"1 MiB\"\n\
                 io_bytes = \"4 KiB\"\nthreads = 2\nseconds = 0.3\n";
    let results = place.measure(&place.experiment("random", "op/s", sizes), &[]);
    for cell in &results.cells {
        let timeline = cell.run_details[0].timeline.as_ref().unwrap();
        assert_eq!((timeline.values.len(), timeline.clients.len()), (20, 0), "no figure shows the clients");
        let (sum, operations) = (under(timeline), cell.operations as f64);
        assert!(operations > 0.0 && (sum - operations).abs() < 0.01, "{sum} instead of {operations}");
    }
    let rows = fs::read_to_string(place.path("out").join("timelines.csv")).unwrap();
    assert_eq!(rows.lines().count(), 1 + 20 * results.cells.len());
    let page = fs::read_to_string(place.path("out").join("report.html")).unwrap();
    assert!(page.contains("Rates over time"));
}

#[test]
fn reads_of_clients_fall_while_their_caches_fill() {
    let place = Place::new();
    let sizes = "[figure]\nform = \"timeline\"\n[default]\nclients = 2\n[default.workload.random-read]\n\
                 file_bytes = \"256 KiB\"\nio_bytes = \"4 KiB\"\nthreads = 1\nseconds = 0.5\n";
    let results = place.measure(&place.experiment("filling", "MB/s", sizes), &[]);
    for cell in &results.cells {
        let (run, name) = (&cell.run_details[0], cell.version_name());
        let timeline = run.timeline.as_ref().unwrap();
        assert_eq!((timeline.clients.len(), timeline.client_reads.len()), (2, 20), "{name}");
        let fetched = timeline.client_reads.iter().sum::<f64>() * timeline.slice_seconds * 1e6;
        let read = run.read_bytes as f64;
        assert!((fetched - read).abs() < 0.01 * read, "{name}: {fetched} of {read} bytes");
        // Each client reads the file once, and the applications read it again and again.
        assert!(run.read_bytes <= 2 * 256 * 1024, "{name}: {}", run.read_bytes);
        assert!(run.application_read_bytes > 4 * run.read_bytes, "{name}: {}", run.application_read_bytes);
        assert_eq!(timeline.client_reads.last(), Some(&0.0), "{name}: all of it is cached");
    }
}

#[test]
fn every_built_in_experiment_runs_in_its_smallest_size() {
    let place = Place::new();
    let arguments = ["--all", "--quick", "--runs", "1", "--rtt-ms", "0", "--versions", "4.1", "--out", "out"];
    let output = place.bench(&arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let results = Results::load(&place.path("out").join("results.json")).unwrap();
    for experiment in bench::experiment::comparing_versions() {
        let own: Vec<_> =
            results.cells.iter().filter(|cell| cell.setting.experiment == experiment.name).collect();
        assert!(!own.is_empty() && own.iter().all(|cell| cell.operations > 0), "{}", experiment.name);
        assert!(results.experiments.contains(&experiment.asked()));
    }
    // The table of Bonnie++ has ten figures.
    assert!(phase(&results, "rewrite", "4.1", true).mean > 0.0);
    let disk = results.cells.iter().find(|cell| cell.setting.experiment == "disk-latency").unwrap();
    assert_eq!(
        disk.latency_histogram.operations(),
        disk.operations,
        "one run has every operation in a bucket"
    );
    let page = fs::read_to_string(place.path("out").join("report.html")).unwrap();
    assert!(page.contains("How long one operation took") && page.contains("In the columns of fio"));
    let bonnie = results.cells.iter().filter(|cell| cell.setting.experiment == "bonnie").count();
    assert_eq!(bonnie, 10);
}

#[test]
fn study_shows_what_was_published_beside_what_is_measured() {
    let place = Place::new();
    let list = place.bench(&["study"]);
    let text = String::from_utf8(list.stdout).unwrap();
    assert!(text.contains("login-table-2\n") && text.contains("fsl-figures-12-14\n"), "{text}");
    let output = place.bench(&["study", "fsl-tables-2-3", "--quick", "--runs", "1", "--rtt-ms", "0"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("FSL-14-02, tables 2 and 3: Opens of files"), "{said}");
    assert!(said.contains("published for") && said.contains("client wait ms"), "{said}");
    assert!(place.path("primetime-fsl-tables-2-3").join("report.html").exists());
    let unknown = place.bench(&["study", "fsl-table-11"]);
    assert_eq!(unknown.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("did you mean `fsl-table-1`?"));
}

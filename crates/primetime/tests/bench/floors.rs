//! What was counted beside the fewest requests that a workload could do with (`docs/floors.md`).

use bench::experiment::find;
use bench::explain::{Terms, floors};
use bench::results::{Cell, Floors, Results};
use client::{Client, Url};

use crate::support::{Place, cell};

/// Fails where a cell has fewer requests than its operations need at the least; gives how many cells were
/// held to that.
fn none_below(results: &Results) -> usize {
    let known = results.cells.iter().filter_map(|cell| Some((cell, cell.floors?)));
    known
        .inspect(|(cell, Floors { compound, .. })| {
            let needed = (compound * cell.operations as f64 - 1e-6).ceil() as u64;
            let name = format!("{} over {}", cell.setting.name(), cell.version_name());
            assert!(cell.operations > 0, "{name} did nothing");
            assert!(cell.rpcs_total >= needed, "{name}: {needed} are needed, and it sent {:?}", cell.rpcs);
        })
        .count()
}

fn requests_each(cell: &Cell) -> f64 {
    cell.rpcs_total as f64 / cell.operations as f64
}

#[test]
fn no_experiment_sends_fewer_requests_than_it_needs() {
    let place = Place::new();
    for (size, held) in [(&["--quick"][..], 12), (&[], 21)] {
        let arguments = ["--runs", "1", "--rtt-ms", "0", "--without-delegations", "--out", "out"];
        let output = place.bench(&[size, &arguments].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let results = Results::load(&place.path("out").join("results.json")).unwrap();
        assert_eq!(
            none_below(&results),
            held,
            "every standard experiment but cached random reads has floors"
        );
    }
}

#[test]
fn a_delegated_file_is_read_under_locks_with_the_fewest_requests() {
    let place = Place::new();
    let sizes = "[default]\nclients = 1\n[default.workload.locked-read]\nfiles = 50\nrounds = 10\n\
                 file_bytes = 4096\nthreads = 1\nreopen = true\n";
    let results = place.measure(&place.experiment("locked", "op/s", sizes), &[]);
    assert_eq!(none_below(&results), 3);
    let [v3, without, with] =
        [("3", false), ("4.1", false), ("4.1", true)].map(|(version, on)| cell(&results, version, on));
    assert_eq!(v3.floors, Some(Floors { posix: 4.0, compound: 3.1 }));
    assert_eq!(without.floors, Some(Floors { posix: 4.1, compound: 1.0 }));
    assert_eq!(with.floors, Some(Floors { posix: 0.2, compound: 0.1 }));
    assert_eq!(requests_each(v3), 4.0, "{:?}", v3.rpcs);
    assert!(requests_each(without) < 4.1, "calls are put together: {:?}", without.rpcs);
    assert!(requests_each(with) < 0.2, "READ goes with OPEN: {:?}", with.rpcs);
}

#[test]
fn a_new_file_takes_what_calls_one_at_a_time_need() {
    let place = Place::new();
    for (file_bytes, v3, v41) in [("0 B", 1.0, 1.0), ("4 KiB", 2.0, 2.0)] {
        let sizes = format!(
            "[default]\nclients = 1\n[default.workload.create]\nthreads = 1\nfile_bytes \
             = \"{file_bytes}\"\nfiles = 30\n"
        );
        let results = place.measure(&place.experiment("create", "op/s", &sizes), &[]);
        assert_eq!(none_below(&results), 3);
        for cell in &results.cells {
            let expected = if cell.setting.version == "3" { v3 } else { v41 };
            assert_eq!(cell.floors.unwrap().posix, expected, "{file_bytes} over {}", cell.version_name());
            // The last CLOSE goes by itself.
            let sent = cell.rpcs_total;
            assert!((30.0 * expected..=30.0 * expected + 1.0).contains(&(sent as f64)), "{:?}", cell.rpcs);
        }
    }
}

#[test]
fn a_file_that_is_written_as_a_whole_takes_the_fewest_requests() {
    const FILES: u64 = 20;
    let place = Place::new();
    let server = place.serve();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut setup = find("create-by-size").unwrap().default;
    setup = setup.points().into_iter().find(|point| point.levels["file_bytes"] == "4 KiB").unwrap().setup;
    for (version, expected) in [("3", 2.0), ("4.1", 1.0)] {
        let url: Url = format!("{}?version={version}", server.url).parse().unwrap();
        let sent = runtime.block_on(async {
            let client = Client::connect(&url, url.options()).await.unwrap();
            client.write(format!("/before-{version}"), vec![1; 4096]).await.unwrap();
            let before = client.tap().snapshot();
            for file in 0..FILES {
                client.write(format!("/{version}-{file}"), vec![1; 4096]).await.unwrap();
            }
            let sent = client.tap().snapshot().since(&before).requests_total();
            client.shutdown().await.unwrap();
            sent
        });
        let terms = Terms {
            version,
            delegations: false,
            client: "builtin",
            rsize: 1 << 20,
            wsize: 1 << 20,
            counts_locks: true,
        };
        let fewest = floors(&setup, &terms).unwrap().compound;
        assert_eq!(fewest, expected);
        assert_eq!(sent as f64, FILES as f64 * fewest, "over {version}");
    }
}

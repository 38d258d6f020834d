//! How many runs there are: as many as it takes to decide, or as many as were asked for.

use bench::results::Results;

use crate::support::Place;

const FEW: &str =
    "[default]\nclients = 1\n[default.workload.create]\nthreads = 1\nfile_bytes = 0\nfiles = 5\n";

fn measured(place: &Place, more: &[&str]) -> (Results, String) {
    let experiment = place.experiment("create-few", "op/s", FEW);
    let arguments = ["--experiment", &experiment, "--rtt-ms", "0", "--out", "out"];
    let output = place.bench(&[&arguments[..], more].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let results = Results::load(&place.path("out").join("results.json")).unwrap();
    (results, String::from_utf8(output.stdout).unwrap())
}

#[test]
fn runs_go_on_in_whole_looks_until_all_is_decided_or_time_is_up() {
    let place = Place::new();
    let (results, said) = measured(&place, &["--time", "3s"]);
    let looks: Vec<u32> = results.cells[0].looks.iter().map(|look| look.blocks).collect();
    assert_eq!(looks, [6, 12, 24, 48, 96, 192]);
    for cell in &results.cells {
        assert!(looks.contains(&cell.blocks()), "{} blocks", cell.blocks());
        assert_eq!(cell.blocks(), results.cells[0].blocks(), "arms of one block belong together");
    }
    let [low, high] = results.comparisons[0].interval.unwrap();
    assert!(low <= results.comparisons[0].ratio.unwrap() * 1.2 && low <= high, "{low} {high}");
    assert!(said.contains("All intervals hold together with 95 %"), "{said}");
}

#[test]
fn fixed_number_of_runs_is_looked_at_once() {
    let place = Place::new();
    let (results, _) = measured(&place, &["--runs", "3", "--same-within", "20%"]);
    assert_eq!(results.environment.same_within, 0.2);
    for cell in &results.cells {
        assert_eq!((cell.blocks(), cell.looks.len(), cell.looks[0].share), (3, 1, 1.0));
    }
    let (_, said) = measured(&place, &["--runs", "1"]);
    assert!(said.contains("One run of each version cannot decide anything"), "{said}");
    let refused = place.bench(&["--runs", "3", "--time", "3s", "--out", "none"]);
    assert_eq!(refused.status.code(), Some(3));
}

//! What follows from results: `bench diff` and `bench gate` on what was really measured.

use std::fs;
use std::process::Output;

use bench::results::Results;

use crate::support::Place;

const CREATE: &str =
    "[default]\nclients = 1\n[default.workload.create]\nthreads = 1\nfile_bytes = 0\nfiles = 20\n";

/// Three runs of creating files over both versions, in `before`.
fn measured() -> (Place, Results) {
    let place = Place::new();
    let experiment = place.experiment("create-few", "op/s", CREATE);
    let output =
        place.bench(&["--experiment", &experiment, "--runs", "3", "--rtt-ms", "0", "--out", "before"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let results = Results::load(&place.path("before").join("results.json")).unwrap();
    (place, results)
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn results_follow_the_published_schema() {
    let (place, results) = measured();
    let schema = serde_json::from_str(include_str!("../../../../docs/results.schema.json")).unwrap();
    let schema = jsonschema::draft202012::new(&schema).unwrap();
    let written = fs::read_to_string(place.path("before").join("results.json")).unwrap();
    let written = serde_json::from_str(&written).unwrap();
    let errors: Vec<String> =
        schema.iter_errors(&written).map(|error| format!("{error} at {}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    let used = results.cells[0].resources.unwrap();
    assert!(used.client_seconds > 0.0 && used.server_seconds.is_some(), "{used:?}");
}

#[test]
fn results_are_judged_again_under_another_profile() {
    let (place, _) = measured();
    let judged = |profile: &str| {
        let output = place.bench(&["report", "before", "--profile", profile]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let results = Results::load(&place.path("before").join("results.json")).unwrap();
        assert!(text(&output).contains(&results.verdict.text), "{}", text(&output));
        results.verdict
    };
    let own = judged("create-few=3");
    assert_eq!((own.profile.as_str(), own.weights["create-few"]), ("own weights", 3.0));
    let other = judged("media");
    assert!(other.text.starts_with("Nothing that counts for media was compared"), "{}", other.text);
    assert_eq!(judged("even").weights, Default::default());
}

#[test]
fn results_hold_against_themselves_and_fail_with_one_request_more() {
    let (place, mut results) = measured();
    assert!(results.comparisons.iter().all(|comparison| comparison.ci95.is_some()));
    let output = place.bench(&["gate", "--baseline", "before", "before"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(text(&output).contains("0 failed"), "{}", text(&output));

    let cell = results.cells.iter_mut().find(|cell| cell.setting.version == "3").unwrap();
    *cell.run_details[1].rpcs.get_mut("CREATE").unwrap() += 1;
    results.save(&place.path("after.json")).unwrap();
    let output = place.bench(&["gate", "--baseline", "before", "--max-slowdown", "50%", "after.json"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let expected =
        "FAILED: create-few at 0 ms over v3 sends 1.05 CREATE for each operation, and the baseline 1.00.\n";
    assert!(text(&output).starts_with(expected), "{}", text(&output));
    assert!(output.stderr.is_empty(), "it was said once");
    let tolerant = ["gate", "--baseline", "before", "--count-tolerance", "10%", "after.json"];
    assert_eq!(place.bench(&tolerant).status.code(), Some(0));

    let limit = |limit| place.bench(&["gate", "--max-requests", limit, "before"]).status.code();
    assert_eq!((limit("create-few:3=2"), limit("create-few:3=0.5")), (Some(0), Some(1)));
    assert_eq!(limit("create-few:3=few"), Some(3));
}

#[test]
fn gate_fails_on_missing_or_slower_results() {
    let (place, mut results) = measured();
    results.cells.retain(|cell| cell.setting.version == "4.1");
    for cell in &mut results.cells {
        // Too slow for any spread of three runs.
        cell.runs.iter_mut().zip([0.001, 0.00101, 0.00099]).for_each(|(run, value)| *run = value);
    }
    results.environment.kernel = "Another 1.0".to_owned();
    results.save(&place.path("after.json")).unwrap();
    let output = place.bench(&["gate", "--baseline", "before/results.json", "after.json"]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output);
    assert!(
        said.contains("FAILED: create-few at 0 ms over v3 is in the baseline and was not measured."),
        "{said}"
    );
    assert!(said.contains("not judged: The speed of create-few at 0 ms over v4.1 has no band"), "{said}");
    // Repeats of both sides, of which none is quite as fast as another.
    for (name, factor) in [("2", 1.01), ("3", 0.99)] {
        for side in ["before/results.json", "after.json"] {
            let mut repeat = Results::load(&place.path(side)).unwrap();
            repeat.cells.iter_mut().flat_map(|cell| &mut cell.runs).for_each(|value| *value *= factor);
            repeat.save(&place.path(&format!("{}-{name}.json", &side[..5]))).unwrap();
        }
    }
    let repeats = ["--baseline", "before", "--baseline", "befor-2.json", "--baseline", "befor-3.json"];
    let output = place.bench(&[&["gate"], &repeats[..], &["after.json"]].concat());
    let said = text(&output);
    assert!(said.contains("FAILED: create-few at 0 ms over v4.1 is slower by "), "{said}");

    let output = place.bench(&["diff", "before", "after.json"]);
    assert_eq!(output.status.code(), Some(0));
    let said = text(&output);
    assert!(said.lines().any(|line| line.contains("v4.1") && line.ends_with("not comparable")), "{said}");
    assert!(said.contains("Only in before: create-few at 0 ms over v3"), "{said}");
    assert!(said.contains("Warning: They have different kernels"), "{said}");
    let both = ["--before", "before", "befor-2.json", "--after", "after.json", "after-2.json"];
    let said = text(&place.bench(&[&["diff"], &both[..]].concat()));
    assert!(said.lines().any(|line| line.contains("v4.1") && line.ends_with("slower")), "{said}");
    let output = place.bench(&["diff", "--json", "before", "after.json"]);
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["cells"][0]["verdict"], "unclear");
    assert_eq!(found["documents"], serde_json::json!([1, 1]));
    assert_eq!(found["only_in_first"].as_array().unwrap().len(), 1);
}

#[test]
fn invalid_results_file_is_refused() {
    let place = Place::new();
    fs::write(place.path("nonsense.json"), "{}").unwrap();
    for arguments in [
        &["diff", "nonsense.json", "nonsense.json"][..],
        &["gate", "--baseline", "absent", "nonsense.json"],
        &["gate", "nonsense.json"],
        &["diff", "nonsense.json"],
        &["diff", "--before", "nonsense.json"],
    ] {
        let output = place.bench(arguments);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}");
    }
}

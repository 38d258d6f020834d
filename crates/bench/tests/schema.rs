//! The published schema and the types of the result document say the same.

#![allow(clippy::unwrap_used, reason = "a helper of a test may fail it")]

use bench::samples;
use serde_json::{Value, json};

fn schema() -> jsonschema::Validator {
    let text = include_str!("../../../docs/results.schema.json");
    let schema: Value = serde_json::from_str(text).unwrap();
    jsonschema::draft202012::meta::validate(&schema).unwrap();
    jsonschema::draft202012::new(&schema).unwrap()
}

fn sample() -> Value {
    serde_json::to_value(samples::results()).unwrap()
}

#[test]
fn a_result_follows_the_published_schema() {
    let sample = sample();
    let errors: Vec<String> =
        schema().iter_errors(&sample).map(|error| format!("{error} at {}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

#[test]
fn the_schema_allows_more_fields_than_there_are() {
    let mut document = sample();
    document["cells"][0]["moon_phase"] = json!("full");
    document["moon_phase"] = json!("new");
    assert!(schema().is_valid(&document));
}

#[test]
fn the_schema_refuses_what_is_no_result() {
    let schema = schema();
    for (pointer, wrong) in [
        ("/schema", json!(2)),
        ("/verdict/recommend", json!("5")),
        ("/comparisons/0/verdict", json!("better")),
        ("/comparisons/0/ci95", json!([1.0])),
        ("/comparisons/0/latency/p99/ratio", json!("2")),
        ("/cells/0/resources/disk/writes", json!(-1)),
        ("/cells/0/latency_histogram/0", json!([1.0])),
        ("/cells/0/rpcs_total", json!(-1)),
        ("/cells/0/metric/better", json!("more")),
        ("/cells/0/mean", json!(null)),
        ("/environment/links/0/rtt_ms", json!("10")),
    ] {
        let mut document = sample();
        *document.pointer_mut(pointer).unwrap() = wrong;
        assert!(!schema.is_valid(&document), "{pointer} is not checked");
    }
    let mut document = sample();
    document["cells"][0].as_object_mut().unwrap().remove("rpcs");
    assert!(!schema.is_valid(&document));
}

/// A field that the types write and the schema does not describe would be an undocumented name.
#[test]
fn every_field_that_is_written_is_described() {
    let text = include_str!("../../../docs/results.schema.json");
    let schema: Value = serde_json::from_str(text).unwrap();
    let sample = sample();
    for (written, described) in [
        (&sample, &schema["properties"]),
        (&sample["environment"], &schema["$defs"]["environment"]["properties"]),
        (&sample["cells"][0], &schema["$defs"]["cell"]["properties"]),
        (&sample["cells"][0]["run_details"][0], &schema["$defs"]["run"]["properties"]),
        (&sample["comparisons"][0], &schema["$defs"]["comparison"]["properties"]),
        (&sample["comparisons"][0]["latency"]["p50"], &schema["$defs"]["latency_ratio"]["properties"]),
        (&sample["cells"][0]["resources"], &schema["$defs"]["resources"]["properties"]),
        (&sample["cells"][0]["resources"]["disk"], &schema["$defs"]["disk"]["properties"]),
    ] {
        for name in written.as_object().unwrap().keys() {
            assert!(described.get(name).is_some(), "{name} is not in the schema");
        }
    }
}

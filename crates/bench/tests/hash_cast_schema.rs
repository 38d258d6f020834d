//! The published schema of hash-cast.json and the types of the document say the same.

#![allow(clippy::unwrap_used, reason = "a helper of a test may fail it")]

use bench::hash_cast::{HashCast, samples};
use serde_json::{Value, json};

fn schema() -> Value {
    serde_json::from_str(include_str!("../../../docs/hash-cast.schema.json")).unwrap()
}

fn validator() -> jsonschema::Validator {
    let schema = schema();
    jsonschema::draft202012::meta::validate(&schema).unwrap();
    jsonschema::draft202012::new(&schema).unwrap()
}

fn sample() -> Value {
    serde_json::to_value(samples::document()).unwrap()
}

#[test]
fn a_document_follows_the_published_schema_and_is_read_back_whole() {
    let sample = sample();
    let errors: Vec<String> = validator()
        .iter_errors(&sample)
        .map(|error| format!("{error} at {}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
    assert_eq!(serde_json::from_value::<HashCast>(sample).unwrap(), samples::document());
}

#[test]
fn the_schema_refuses_what_is_no_document() {
    let validator = validator();
    for (pointer, wrong) in [
        ("/schema", json!(2)),
        ("/verdict", json!("")),
        ("/cards/0/at_least_twice", json!(1.5)),
        ("/probabilities/curves/0/by_flows/3", json!(-0.1)),
        ("/measurements/0/scenario", json!("magic")),
        ("/measurements/0/runs", json!([])),
        ("/measurements/0/runs/0/fairness", json!(null)),
        ("/measurements/0/runs/0/max_min_ratio", json!(0.5)),
        ("/measurements/0/runs/0/queues/0/0", json!("first")),
        ("/setup/seconds", json!(0)),
    ] {
        let mut document = sample();
        *document.pointer_mut(pointer).unwrap() = wrong;
        assert!(!validator.is_valid(&document), "{pointer} is not checked");
    }
}

/// A field that the types write and the schema does not describe would be an undocumented name.
#[test]
fn every_field_that_is_written_is_described() {
    let (schema, sample) = (schema(), sample());
    let run = &sample["measurements"][0]["runs"][0];
    for (written, described) in [
        (&sample, &schema["properties"]),
        (&sample["probabilities"], &schema["$defs"]["probabilities"]["properties"]),
        (&sample["probabilities"]["curves"][0], &schema["$defs"]["curve"]["properties"]),
        (&sample["cards"][0], &schema["$defs"]["card"]["properties"]),
        (&sample["setup"], &schema["$defs"]["setup"]["properties"]),
        (&sample["measurements"][0], &schema["$defs"]["measurement"]["properties"]),
        (run, &schema["$defs"]["run"]["properties"]),
        (&run["groups"][0], &schema["$defs"]["group"]["properties"]),
    ] {
        for name in written.as_object().unwrap().keys() {
            assert!(described.get(name).is_some(), "{name} is not in the schema");
        }
    }
}

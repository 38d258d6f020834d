//! Replays what the fuzz targets have found worth keeping.

#![allow(missing_docs, clippy::unwrap_used)]

#[path = "../../../fuzz/bodies.rs"]
mod bodies;

use std::fs;
use std::path::Path;

fn replay(target: &str, body: fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut inputs = 0;
    for entry in fs::read_dir(&corpus).unwrap() {
        body(&fs::read(entry.unwrap().path()).unwrap());
        inputs += 1;
    }
    assert!(inputs > 10, "the corpus of {target} is there");
}

#[test]
fn records_of_the_corpus_do_no_harm() {
    replay("records", bodies::records);
}

#[test]
fn types_of_the_corpus_do_no_harm() {
    replay("types", bodies::types);
}

#[test]
fn calls_of_the_corpus_do_no_harm() {
    replay("calls", bodies::calls);
}

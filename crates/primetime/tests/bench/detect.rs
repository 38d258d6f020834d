//! `primetime bench detect`: what it plans, and its exit codes.

use crate::support::Place;

const FEW: &str =
    "[default]\nclients = 1\n[default.workload.create]\nthreads = 1\nfile_bytes = 0\nfiles = 5\n";
/// Opens and locks ten times, which a delegation makes a fraction of the requests: many times faster at 5 ms.
const LOCKED: &str = "[default]\nclients = 1\n[default.workload.locked-read]\nthreads = 1\nfiles = 2\nrounds \
                      = 10\n\
                      file_bytes = 4096\nreopen = true\n";

#[test]
fn slower_arm_ends_with_code_1_and_faster_one_with_0() {
    let place = Place::new();
    let experiment = place.experiment("locked-few", "op/s", LOCKED);
    let arms = ["a=builtin?version=4.1", "b=builtin?version=4.1&delegations=off"];
    let detect = |first: &str, second: &str| {
        let arguments = ["detect", "50%", "--experiment", &experiment, "--rtt-ms", "5", "--out", "out"];
        let output = place.bench(&[&arguments[..], &["--arm", first, "--arm", second]].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("A difference of 50 % is found with a chance of 95 % in 1 of 1"), "{said}");
        (output.status.code(), said)
    };
    let (code, said) = detect(arms[0], arms[1]);
    assert!(code == Some(1) && said.contains("1 of 1 comparisons are slower"), "{code:?} {said}");
    assert_eq!(detect(arms[1], arms[0]).0, Some(0), "what is faster is not slower");
}

#[test]
fn search_that_time_ends_is_not_decided() {
    let place = Place::new();
    let experiment = place.experiment("create-few", "op/s", FEW);
    let arguments = ["detect", "0.1%", "--experiment", &experiment, "--rtt-ms", "0", "--time", "2s"];
    let arms = ["--arm", "a=builtin?version=3", "--arm", "b=builtin?version=3"];
    let output = place.bench(&[&arguments[..], &arms[..], &["--out", "out"]].concat());
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("were not decided; give it more time"), "{said}");
}

//! Protections of requests, compared on the benchmark's own server.

use std::collections::BTreeSet;

use bench::results::Results;

use crate::support::{Place, requests};

#[test]
fn each_security_sends_the_same_requests_with_and_without_delay() {
    let place = Place::new();
    let sizes = "[default]\nclients = 2\ndata_cache = false\n\
                 [default.workload.random-read]\nfile_bytes = \"4 MiB\"\nio_bytes = \"64 KiB\"\nthreads = 2\n\
                 seconds = 0.2\n";
    let price = place.experiment("price", "op/s", sizes);
    let arguments = ["--experiment", &price, "--security", "sys,tls,mtls", "--runs", "1", "--rtt-ms", "0,1"];
    let output = place.bench(&[&arguments[..], &["--out", "out"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let results = Results::load(&place.path("out").join("results.json")).unwrap();
    let seen: BTreeSet<_> = results.cells.iter().map(|cell| cell.version_name()).collect();
    let expected = ["sys v3", "sys v4.1", "tls v3", "tls v4.1", "mtls v3", "mtls v4.1"];
    assert_eq!(seen, expected.map(str::to_owned).into());
    for cell in &results.cells {
        assert!(cell.operations > 0, "{}", cell.version_name());
        assert_eq!(requests(cell, &["READ"]), cell.operations, "{}: {:?}", cell.version_name(), cell.rpcs);
    }
}

#[test]
fn securities_that_cannot_be_compared_are_one_sentence() {
    let place = Place::new();
    for (arguments, reason) in [
        (&["--security", "sys,krb5p"][..], "needs Kerberos"),
        (&["--security", "ssl"], "use sys, tls or mtls"),
        (&["--experiment", "security-price", "--experiment", "create"], "--security"),
    ] {
        let output = place.bench(arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && said.contains(reason), "{arguments:?}: {said}");
    }
}

//! What it says when it cannot: one sentence with cause and mend, and the exit code.

use std::net::TcpListener;

use crate::support::Place;

fn sentence(place: &Place, arguments: &[&str], code: i32) -> String {
    let output = place.bench(arguments);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(!place.path("out").exists());
    stderr
}

#[test]
fn an_unknown_experiment_is_answered_with_the_nearest() {
    let place = Place::new();
    let text = sentence(&place, &["--experiment", "loked-read", "--out", "out"], 3);
    assert!(text.contains("did you mean `locked-read`?"), "{text}");
}

#[test]
fn an_unknown_version_is_answered_with_those_there_are() {
    let place = Place::new();
    let text = sentence(&place, &["--versions", "3,5", "--out", "out"], 3);
    assert!(text.contains("`5`") && text.contains("4.1"), "{text}");
}

#[test]
fn a_server_that_cannot_be_reached_is_named() {
    let place = Place::new();
    // Bound and closed again: nobody listens there.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let text = sentence(&place, &["--server", &format!("nfs://127.0.0.1:{port}/"), "--out", "out"], 3);
    assert!(text.contains(&port.to_string()), "{text}");
}

#[test]
fn an_export_that_does_not_exist_is_named() {
    let place = Place::new();
    let server = place.serve();
    let text = sentence(&place, &["--server", &format!("{}absent", server.url), "--out", "out"], 3);
    assert!(text.contains("absent"), "{text}");
}

#[test]
fn an_address_that_is_none_is_refused() {
    let place = Place::new();
    let text = sentence(&place, &["--server", "http://127.0.0.1/", "--out", "out"], 3);
    assert!(text.contains("nfs://"), "{text}");
}

//! What the server reports of its peers.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::Value;

use crate::process::{Place, Process};

/// Everything that is reported of a peer that connects five times, and each time sends a record that is too
/// long.
fn reports(arguments: &[&str]) -> String {
    let place = Place::new();
    let mut server = Process::start(place.command(arguments).stderr(Stdio::piped()));
    for _ in 0..5 {
        let mut peer = TcpStream::connect(server.address).unwrap();
        peer.write_all(&[0xff; 4]).unwrap();
        // Whatever is read, it has been closed at the other end.
        let _ = peer.read(&mut [0]);
    }
    let mut stderr = server.stderr();
    server.signal(Signal::TERM);
    assert!(server.ended().success());
    let mut text = String::new();
    stderr.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_peer_that_does_the_same_again_is_reported_once() {
    let text = reports(&["--log", "info"]);
    let lines: Vec<_> = text.lines().filter(|line| line.contains("connection ended")).collect();
    assert_eq!(lines.len(), 1, "{text}");
    assert!(lines[0].contains("peer=127.0.0.1 "), "{text}");
    assert_eq!(reports(&[]), "", "nothing of it without being asked");
}

#[test]
fn machines_are_told_in_json() {
    let text = reports(&["--log", "warn,rpc=info", "--log-format", "json"]);
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [report] = &lines[..] else { panic!("{text}") };
    assert_eq!((&report["level"], &report["peer"]), (&"INFO".into(), &"127.0.0.1".into()));
    assert_eq!(report["message"], "connection ended");
}

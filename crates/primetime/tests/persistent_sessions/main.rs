//! Persistent sessions from outside: a server is killed under load, and every request that had no answer is
//! sent again on the old session. Whatever the moment, each has run once (RFC 8881 §2.10.6.5).

#![allow(
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails"
)]

mod load;
mod peer;
mod process;

use std::thread;
use std::time::Duration;

use load::Load;
use process::Place;

/// How often the server is killed.
const KILLS: u64 = 20;

#[test]
fn every_request_runs_once_whenever_the_server_is_killed() {
    let place = Place::new();
    let mut load = Load::new(&place.export());
    let mut process = place.start(true);
    load.begin(process.address());
    for kill in 0..KILLS {
        load.run(20 + kill * 37 % 100);
        // Eight requests are on their way: each time the server has come to another place in them.
        thread::sleep(Duration::from_micros(kill * 7919 % 6000));
        process.kill();
        process = place.start(true);
        load.resume(process.address());
    }
    load.finish();
    assert!(load.repeated > 0, "of {} retries none was answered on its old session", load.retried);
    assert_eq!(load.retried, KILLS * 8);
    assert_eq!(place.names(), load.expected());
}

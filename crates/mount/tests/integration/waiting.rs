//! Processes that wait for an answer of a mount, and those that end.

use std::fs;
use std::process::Child;
use std::time::{Duration, Instant};

/// Until the process waits for an answer.
pub fn await_wait(child: &mut Child, patience: Duration) {
    let begun = Instant::now();
    let id = child.id();
    let holds = |file: &str, word: &str| {
        fs::read_to_string(format!("/proc/{id}/{file}")).is_ok_and(|text| text.contains(word))
    };
    while !holds("stack", "request_wait_answer") && !holds("wchan", "request_wait_answer") {
        if let Some(status) = child.try_wait().unwrap() {
            panic!("it does not wait, but has ended: {status}");
        }
        assert!(begun.elapsed() < patience, "it does not come to wait");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Until the process has ended. False when it does not.
pub fn await_end(child: &mut Child, patience: Duration) -> bool {
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() >= patience {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

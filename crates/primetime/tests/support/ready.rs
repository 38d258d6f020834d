//! A server process, and what it says when it accepts connections.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

/// Starts `primetime serve` and waits until it is ready. Returns where.
pub(crate) fn start(command: &mut Command) -> (Child, SocketAddr) {
    let mut server = command.stdout(Stdio::piped()).spawn().expect("serve");
    let mut line = String::new();
    let stdout = server.stdout.take().expect("piped");
    BufReader::new(stdout).read_line(&mut line).expect("ready line");
    let address = line
        .trim()
        .strip_prefix("ready nfs://")
        .and_then(|rest| rest.trim_end_matches('/').parse().ok())
        .unwrap_or_else(|| panic!("unexpected line {line:?}"));
    (server, address)
}

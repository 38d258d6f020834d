//! Finding the servers that run on this host.

use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use super::SOCKET_NAME;
use crate::state_directory::{base, runtime_directory};

/// Servers that are looked at.
const SERVERS_MAX: usize = 256;

/// The sockets of the caller's running servers, where servers have them unless told otherwise.
pub fn find_sockets() -> Vec<PathBuf> {
    let mut places: Vec<PathBuf> = runtime_directory().into_iter().collect();
    let states = base().and_then(|base| std::fs::read_dir(base).ok()).into_iter().flatten();
    places.extend(states.take(SERVERS_MAX).filter_map(|entry| Some(entry.ok()?.path())));
    places.sort();
    let sockets = places.into_iter().map(|place| place.join(SOCKET_NAME));
    // One that nobody listens at was left behind by a server that was killed.
    sockets.filter(|socket| UnixStream::connect(socket).is_ok()).collect()
}

//! Which congestion controls the kernel has.

use std::fs;
use std::io;

use rustix::net::sockopt::set_tcp_congestion;
use socket2::{Domain, Socket, Type};

/// The congestion controls that are loaded.
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// Returns whether the kernel has the congestion control `name`. As root it loads its module.
#[must_use]
pub fn has_congestion_control(name: &str) -> bool {
    let is_known = |socket: Socket| match set_tcp_congestion(&socket, name) {
        // One that is for privileged sockets only is there, and a route may name it.
        Err(error) => io::Error::from(error).kind() == io::ErrorKind::PermissionDenied,
        Ok(()) => true,
    };
    Socket::new(Domain::IPV4, Type::STREAM, None).is_ok_and(is_known)
}

/// Why `name` cannot be used.
pub(super) fn unavailable(name: &str) -> io::Error {
    let known = fs::read_to_string(AVAILABLE).unwrap_or_default();
    let known = known.trim();
    io::Error::other(format!("this kernel has no congestion control {name:?} (it has {known}); name another"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reno_is_in_every_kernel_and_an_invented_control_in_none() {
        assert!(has_congestion_control("reno"));
        assert!(!has_congestion_control("no-such-one"));
        assert!(!has_congestion_control(""));
    }
}

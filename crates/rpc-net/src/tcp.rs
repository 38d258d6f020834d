//! Settings of TCP for the sockets of connections: the congestion control and the sizes of the socket
//! buffers.

use std::fmt;
use std::io;
use std::os::fd::AsFd;
use std::str::FromStr;

use rustix::net::sockopt::{
    set_socket_recv_buffer_size, set_socket_send_buffer_size, set_tcp_congestion, socket_recv_buffer_size,
    socket_send_buffer_size,
};

/// The congestion controls that the kernel has loaded.
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
/// Those that processes without CAP_NET_ADMIN may use.
const ALLOWED: &str = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";

/// Settings of TCP. `None` leaves the value of the system.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TcpOptions {
    /// The congestion control (TCP_CONGESTION), also for connections that stay on the machine.
    pub congestion: Option<CongestionControl>,
    /// The size of each of the two socket buffers in bytes (SO_RCVBUF and SO_SNDBUF), within
    /// [`TcpOptions::SOCKET_BUFFER_BYTES`]. The kernel no longer adapts them. It reserves twice the size, and
    /// uses the other half for its own records.
    pub socket_buffer_bytes: Option<u32>,
}

impl TcpOptions {
    /// The least and the most bytes of a socket buffer.
    pub const SOCKET_BUFFER_BYTES: std::ops::RangeInclusive<u32> = 4 << 10..=64 << 20;

    /// Applies the settings to a socket that is not connected yet, or that listens: accepted connections
    /// inherit them.
    ///
    /// # Errors
    /// `InvalidInput` with a sentence for users: the kernel does not have the congestion control, this
    /// process may not use it, or the system's limit of socket buffers is lower. Otherwise those of
    /// setsockopt(2).
    pub fn apply(&self, socket: impl AsFd) -> io::Result<()> {
        if let Some(congestion) = &self.congestion {
            set_tcp_congestion(&socket, congestion.name())
                .map_err(|error| refusal(congestion, error.into()))?;
        }
        let Some(bytes) = self.socket_buffer_bytes else { return Ok(()) };
        let size = bytes as usize;
        set_socket_recv_buffer_size(&socket, size)?;
        check_size(size, socket_recv_buffer_size(&socket)?, "net.core.rmem_max")?;
        set_socket_send_buffer_size(&socket, size)?;
        check_size(size, socket_send_buffer_size(&socket)?, "net.core.wmem_max")
    }
}

/// Compares the requested size with what the kernel has set, which is twice the size that it allows.
fn check_size(asked: usize, set: usize, limit: &str) -> io::Result<()> {
    if set >= asked.saturating_mul(2) {
        return Ok(());
    }
    Err(invalid(format!(
        "the system allows socket buffers of {} bytes and not of {asked}; ask for less or raise {limit}",
        set / 2
    )))
}

fn refusal(congestion: &CongestionControl, error: io::Error) -> io::Error {
    let list = |path| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    match error.kind() {
        io::ErrorKind::NotFound => invalid(format!(
            "the kernel has no congestion control `{congestion}` (it has {}); name another, or load it with \
             modprobe tcp_{congestion}",
            list(AVAILABLE)
        )),
        io::ErrorKind::PermissionDenied => invalid(format!(
            "the congestion control `{congestion}` is for processes with CAP_NET_ADMIN only (for all are \
             {}); name another",
            list(ALLOWED)
        )),
        _ => error,
    }
}

fn invalid(sentence: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, sentence)
}

/// The longest name in bytes: `TCP_CA_NAME_MAX` of the kernel without the terminator.
const NAME_BYTES_MAX: usize = 15;

/// The name of a congestion control, such as `cubic`: 1 to 15 letters, digits, `-` and `_`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CongestionControl {
    bytes: [u8; NAME_BYTES_MAX],
    length: u8,
}

impl CongestionControl {
    /// Returns the name as the kernel knows it.
    pub fn name(&self) -> &str {
        std::str::from_utf8(&self.bytes[..usize::from(self.length)]).expect("names are ASCII")
    }
}

impl FromStr for CongestionControl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if !(1..=NAME_BYTES_MAX).contains(&text.len()) || !text.bytes().all(is_legal) {
            return Err(format!(
                "`{text}` is no name of a congestion control; a name has 1 to 15 letters, digits, - and _"
            ));
        }
        let mut bytes = [0; NAME_BYTES_MAX];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        Ok(Self { bytes, length: text.len() as u8 })
    }
}

impl fmt::Display for CongestionControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for CongestionControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.name(), f)
    }
}

#[cfg(test)]
mod tests {
    use rustix::net::sockopt::tcp_congestion;
    use tokio::net::{TcpListener, TcpSocket};

    use super::*;
    use crate::own_host;

    /// Smaller than what any system allows.
    const BYTES: u32 = 64 << 10;

    fn reno() -> TcpOptions {
        TcpOptions { congestion: Some("reno".parse().unwrap()), socket_buffer_bytes: Some(BYTES) }
    }

    #[tokio::test]
    async fn settings_reach_both_ends_of_a_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        reno().apply(&listener).unwrap();
        let connected = own_host::connect(listener.local_addr().unwrap(), &reno()).await.unwrap();
        let (accepted, _) = listener.accept().await.unwrap();
        for end in [&connected, &accepted] {
            assert_eq!(tcp_congestion(end).unwrap(), "reno");
            assert_eq!(socket_recv_buffer_size(end).unwrap(), 2 * BYTES as usize);
            assert_eq!(socket_send_buffer_size(end).unwrap(), 2 * BYTES as usize);
        }
    }

    #[tokio::test]
    async fn unknown_congestion_control_is_refused_with_those_of_the_kernel() {
        let socket = TcpSocket::new_v4().unwrap();
        let options = TcpOptions { congestion: Some("no-such-one".parse().unwrap()), ..reno() };
        let error = options.apply(&socket).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        let sentence = error.to_string();
        assert!(sentence.contains("`no-such-one` (it has ") && sentence.contains("reno"), "{sentence}");
    }

    #[test]
    fn socket_buffer_above_the_limit_of_the_system_is_refused() {
        check_size(4096, 8192, "net.core.rmem_max").unwrap();
        let error = check_size(8192, 8192, "net.core.rmem_max").unwrap_err().to_string();
        assert!(
            error.contains("4096 bytes and not of 8192") && error.contains("net.core.rmem_max"),
            "{error}"
        );
    }

    #[test]
    fn names_of_congestion_controls_are_bounded() {
        for name in ["c", "bbr", "tcp_vegas-2", "fifteen-letters"] {
            assert_eq!(name.parse::<CongestionControl>().unwrap().name(), name);
        }
        for name in ["", "sixteen-letters-", "../cubic", "cubic\n"] {
            assert!(name.parse::<CongestionControl>().unwrap_err().contains("1 to 15"), "{name}");
        }
    }
}

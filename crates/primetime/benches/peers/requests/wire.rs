//! Calls and replies of RPC.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use rustix::net::sockopt::set_tcp_congestion;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use xdr::{Decoder, Encoder};

/// Every Linux has it, and lets everybody use it.
pub const UNPACED: &str = "reno";
const ANSWER_LIMIT: Duration = Duration::from_secs(5);
pub const NFS: u32 = 100_003;
pub const MOUNT: u32 = 100_005;

/// A whole call with its record mark and AUTH_SYS of the superuser.
pub fn call(program: u32, version: u32, procedure: u32, arguments: impl FnOnce(&mut Encoder)) -> Vec<u8> {
    let mut e = Encoder::new();
    let mark = e.reserve_u32();
    for value in [0, 0, 2, program, version, procedure] {
        e.u32(value);
    }
    e.u32(1);
    e.opaque(&[0; 20]);
    e.u32(0);
    e.u32(0);
    arguments(&mut e);
    let length = u32::try_from(e.len() - 4).expect("a short request");
    e.fill_u32(mark, 0x8000_0000 | length);
    e.into_inner()
}

/// Not paced, whatever the system's congestion control does: servers are measured, and not timers.
pub fn connect(address: SocketAddr) -> TcpStream {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None).expect("socket");
    set_tcp_congestion(&socket, UNPACED).expect("congestion control");
    rustix::net::connect(&socket, &address).expect("connect");
    let stream = TcpStream::from(socket);
    stream.set_nodelay(true).expect("nodelay");
    // A server that has stopped to answer is told of, and not waited for.
    stream.set_read_timeout(Some(ANSWER_LIMIT)).expect("limit");
    stream.set_write_timeout(Some(ANSWER_LIMIT)).expect("limit");
    stream
}

/// Sends one call and returns its results.
pub fn exchange(stream: &mut TcpStream, request: &[u8]) -> Decoder {
    stream.write_all(request).expect("request");
    let mut mark = [0; 4];
    stream.read_exact(&mut mark).expect("mark");
    let mut reply = vec![0; (u32::from_be_bytes(mark) & 0x7fff_ffff) as usize];
    stream.read_exact(&mut reply).expect("reply");
    let mut decoder = Decoder::new(reply.into());
    for expected in [0, 1, 0, 0, 0, 0] {
        assert_eq!(decoder.u32(), Ok(expected), "header of the reply");
    }
    decoder
}

pub fn word(bytes: &[u8], index: usize) -> u32 {
    bytes[index * 4..].first_chunk().map_or(u32::MAX, |word| u32::from_be_bytes(*word))
}

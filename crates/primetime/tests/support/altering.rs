//! A relay that alters the answers of a server, as any machine on the path of a clear-text connection can.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;

/// What is replaced in answers, and by what; both are of the same length, so that everything around stays
/// as it is.
pub type Changes = &'static [(&'static [u8], &'static [u8])];

/// Relays connections to `server` until the process ends, and returns the address to connect to.
pub fn relay(server: SocketAddr, changes: Changes) -> SocketAddr {
    assert!(changes.iter().all(|(from, to)| from.len() == to.len()));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(server) = TcpStream::connect(server) else { return };
            let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            thread::spawn(move || carry(&from, &to, &[]));
            thread::spawn(move || carry(&server, &client, changes));
        }
    });
    address
}

fn carry(mut from: &TcpStream, mut to: &TcpStream, changes: Changes) {
    let (mut buffer, mut pending) = (vec![0; 64 << 10], Vec::new());
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        pending.extend_from_slice(&buffer[..count]);
        for (needle, replacement) in changes {
            alter(&mut pending, needle, replacement);
        }
        let held = held_back(&pending, changes);
        let rest = pending.split_off(pending.len() - held);
        if to.write_all(&pending).is_err() {
            break;
        }
        pending = rest;
    }
    let _ = to.write_all(&pending);
    let _ = to.shutdown(Shutdown::Write);
}

fn alter(bytes: &mut [u8], needle: &[u8], replacement: &[u8]) {
    let mut at = 0;
    while let Some(found) = bytes[at..].windows(needle.len()).position(|window| window == needle) {
        bytes[at + found..at + found + needle.len()].copy_from_slice(replacement);
        at += found + needle.len();
    }
}

/// How many bytes at the end may be the beginning of something to be replaced.
fn held_back(bytes: &[u8], changes: Changes) -> usize {
    let begins = |length: &usize| {
        let end = &bytes[bytes.len() - length..];
        changes.iter().any(|(needle, _)| needle.len() > *length && needle.starts_with(end))
    };
    let longest = changes.iter().map(|(needle, _)| needle.len()).max().unwrap_or(0);
    (1..longest.min(bytes.len() + 1)).rev().find(begins).unwrap_or(0)
}

//! A relay that alters the answers of a server, as any machine on the path of a clear-text connection can.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;

/// What is replaced in answers, and by what; both are of the same length, so that everything around stays
/// as it is.
pub type Changes = &'static [(&'static [u8], &'static [u8])];

/// The bit of a fragment's header that says that the record ends with it.
const LAST_FRAGMENT: u32 = 1 << 31;

/// Relays connections to `server` until the process ends, and returns the address to connect to.
pub fn relay(server: SocketAddr, changes: Changes) -> SocketAddr {
    assert!(changes.iter().all(|(from, to)| from.len() == to.len()));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(server) = TcpStream::connect(server) else { return };
            let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            thread::spawn(move || carry(&from, &to));
            thread::spawn(move || carry_altered(&server, &client, changes));
        }
    });
    address
}

/// Carries bytes as they come.
fn carry(mut from: &TcpStream, mut to: &TcpStream) {
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}

/// Carries whole fragments of records (RFC 5531, section 11). A relay that looked at the stream alone would
/// have to keep the last byte of an answer back wherever it may begin something to be replaced, and the
/// client would wait for it for ever.
fn carry_altered(mut from: &TcpStream, mut to: &TcpStream, changes: Changes) {
    let mut header = [0; 4];
    while from.read_exact(&mut header).is_ok() {
        let length = u32::from_be_bytes(header) & !LAST_FRAGMENT;
        let mut fragment = vec![0; length as usize];
        if from.read_exact(&mut fragment).is_err() {
            break;
        }
        for (needle, replacement) in changes {
            alter(&mut fragment, needle, replacement);
        }
        if to.write_all(&[&header, &fragment[..]].concat()).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

fn alter(bytes: &mut [u8], needle: &[u8], replacement: &[u8]) {
    let mut at = 0;
    while let Some(found) = bytes[at..].windows(needle.len()).position(|window| window == needle) {
        bytes[at + found..at + found + needle.len()].copy_from_slice(replacement);
        at += found + needle.len();
    }
}

//! A server that does no more than it must with what it receives.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::local::SyncedWriter;
use crate::requests::connect;
use crate::rows::KIB_64;

/// As long as the reply to a WRITE about is.
const ANSWER: [u8; 128] = [3; 128];

/// Blocks that are sent one at a time, each answered when it is on the disk.
pub fn synced_writes_per_second(directory: &Path, duration: Duration) -> f64 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
    let mut sender = connect(listener.local_addr().expect("address"));
    thread::scope(|scope| {
        scope.spawn(move || receive(listener.accept().expect("accept").0, SyncedWriter::new(directory)));
        let (block, mut answer) = (vec![2; KIB_64 as usize], ANSWER);
        let mut ask = || {
            sender.write_all(&block).expect("sent");
            sender.read_exact(&mut answer).expect("answered");
        };
        // The receiver makes its file before it answers.
        ask();
        let (start, mut writes) = (Instant::now(), 0u64);
        while start.elapsed() < duration {
            ask();
            writes += 1;
        }
        let per_second = writes as f64 / start.elapsed().as_secs_f64();
        drop(sender);
        per_second
    })
}

fn receive(mut stream: TcpStream, mut writer: SyncedWriter) {
    stream.set_nodelay(true).expect("nodelay");
    let mut block = vec![0; KIB_64 as usize];
    while stream.read_exact(&mut block).is_ok() {
        writer.write(&block);
        stream.write_all(&ANSWER).expect("answered");
    }
}

//! What waits as a LOOKUP does, but for a thread that does no more than one stat(2): what is left of its wait
//! is the machine's.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::thread;

use crate::lookups::{Waits, time_each};
use crate::wire::connect;

const RECORD_BYTES: usize = 128;

/// Asks, one time after the other, while `work` runs.
pub fn time(directory: &Path, work: Option<&(dyn Fn() + Sync)>) -> Waits {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
    let mut stream = connect(listener.local_addr().expect("address"));
    thread::scope(|scope| {
        scope.spawn(|| answer(listener.accept().expect("accept").0, directory));
        let mut record = [0; RECORD_BYTES];
        let waits = time_each(work, || {
            stream.write_all(&record).expect("sent");
            stream.read_exact(&mut record).expect("answered");
        });
        drop(stream);
        waits
    })
}

fn answer(mut stream: TcpStream, path: &Path) {
    stream.set_nodelay(true).expect("nodelay");
    let mut record = [0; RECORD_BYTES];
    while stream.read_exact(&mut record).is_ok() {
        assert!(fs::metadata(path).expect("stat").is_dir());
        stream.write_all(&record).expect("answered");
    }
}

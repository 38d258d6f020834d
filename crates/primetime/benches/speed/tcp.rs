//! The limits: one TCP stream over loopback between two threads, from memory and from a file in the page cache.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

const BLOCK_BYTES: usize = 1 << 20;

/// One block of memory, sent again and again.
pub fn memory_megabytes_per_second(duration: Duration) -> f64 {
    megabytes_per_second(duration, |_| {})
}

/// A block of the file is read before it is sent: what a server that copies can do at most.
pub fn file_megabytes_per_second(path: &Path, duration: Duration) -> f64 {
    let file = File::open(path).expect("file");
    megabytes_per_second(duration, move |block| file.read_exact_at(block, 0).expect("block"))
}

fn megabytes_per_second(duration: Duration, fill: impl Fn(&mut [u8]) + Send + 'static) -> f64 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
    let address = listener.local_addr().expect("address");
    let sender = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("accept");
        let mut block = vec![7u8; BLOCK_BYTES];
        while stream.write_all(&block).is_ok() {
            fill(&mut block);
        }
    });
    let mut stream = TcpStream::connect(address).expect("connect");
    let mut buffer = vec![0u8; BLOCK_BYTES];
    let mut bytes = 0usize;
    let start = Instant::now();
    while start.elapsed() < duration {
        bytes += stream.read(&mut buffer).expect("read");
    }
    let seconds = start.elapsed().as_secs_f64();
    drop(stream);
    sender.join().expect("sender");
    bytes as f64 / seconds / 1e6
}

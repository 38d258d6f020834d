//! The limit: one TCP stream over loopback between two threads.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

pub fn stream_megabytes_per_second(duration: Duration) -> f64 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
    let address = listener.local_addr().expect("address");
    let sender = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("accept");
        let block = vec![7u8; 1 << 20];
        while stream.write_all(&block).is_ok() {}
    });
    let mut stream = TcpStream::connect(address).expect("connect");
    let mut buffer = vec![0u8; 1 << 20];
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

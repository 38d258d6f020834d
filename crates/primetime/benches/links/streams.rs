//! Plain TCP streams over a link, as many and as large as it carries.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use crate::window::{Direction, Flows};

const BLOCK_BYTES: usize = 64 << 10;

pub struct Streams {
    stop: Arc<AtomicBool>,
    received: Vec<Arc<AtomicU64>>,
    /// Each ends with the number of bytes that it sent.
    sources: Vec<JoinHandle<u64>>,
    sinks: Vec<JoinHandle<()>>,
}

impl Streams {
    /// Between `listener` and the near end of a link that leads to it.
    pub fn start(listener: &TcpListener, link: SocketAddr, direction: Direction, crowd: usize) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let mut streams = Self { stop, received: Vec::new(), sources: Vec::new(), sinks: Vec::new() };
        for _ in 0..crowd {
            let client = TcpStream::connect(link).expect("connect");
            let (server, _) = listener.accept().expect("accept");
            let (source, sink) = match direction {
                Direction::ToClient => (server, client),
                Direction::ToServer => (client, server),
            };
            let (stop, received) = (Arc::clone(&streams.stop), Arc::new(AtomicU64::new(0)));
            streams.received.push(Arc::clone(&received));
            streams.sinks.push(thread::spawn(move || drain(sink, &received)));
            streams.sources.push(thread::spawn(move || pour(source, &stop)));
        }
        streams
    }
}

impl Flows for Streams {
    fn arrived(&self) -> Vec<u64> {
        self.received.iter().map(|received| received.load(Ordering::Relaxed)).collect()
    }

    fn finish(&mut self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        let sent = self.sources.drain(..).map(|source| source.join().expect("source")).sum();
        self.sinks.drain(..).for_each(|sink| sink.join().expect("sink"));
        sent
    }
}

/// Sends until told to stop, and then waits for the other end to have all of it.
fn pour(mut stream: TcpStream, stop: &AtomicBool) -> u64 {
    let block = vec![7; BLOCK_BYTES];
    let mut sent = 0;
    while !stop.load(Ordering::Relaxed) {
        stream.write_all(&block).expect("send");
        sent += block.len() as u64;
    }
    stream.shutdown(Shutdown::Write).expect("shutdown");
    let rest = stream.read(&mut [0]).expect("the other end closes");
    assert_eq!(rest, 0);
    sent
}

fn drain(mut stream: TcpStream, received: &AtomicU64) {
    let mut buffer = vec![0; BLOCK_BYTES];
    loop {
        match stream.read(&mut buffer).expect("receive") {
            0 => return,
            count => received.fetch_add(count as u64, Ordering::Relaxed),
        };
    }
}

//! One TCP stream over loopback between two threads, from memory, from a file in the page cache and into one,
//! in MB/s.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::sockopt::set_tcp_congestion;

use crate::load::LOW_WATER_BYTES;
use crate::requests::UNPACED;
use crate::target::FILE_BYTES;

const BLOCK_BYTES: usize = 1 << 20;

/// How a stream is sent and received.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// As the system has it, which may pace, and read as it comes.
    AsItComes,
    /// Not paced, and read in large pieces, as the generator of load does.
    InPieces,
}

/// One block of memory, sent again and again, and read as it comes.
pub fn of_memory(duration: Duration) -> f64 {
    megabytes_per_second(duration, How::AsItComes, |_| {}, |_| {})
}

/// The same, not paced and read in large pieces.
pub fn of_memory_in_pieces(duration: Duration) -> f64 {
    megabytes_per_second(duration, How::InPieces, |_| {}, |_| {})
}

/// One block after the other of a file as large as that of the servers is read before it is sent, and
/// received in large pieces.
pub fn of_file(directory: &Path, duration: Duration) -> f64 {
    let path = directory.join("file");
    fs::write(&path, vec![1; FILE_BYTES as usize]).expect("file");
    let file = File::open(path).expect("file");
    let mut offset = 0;
    let fill = move |block: &mut [u8]| {
        file.read_exact_at(block, offset).expect("block");
        offset = (offset + BLOCK_BYTES as u64) % u64::from(FILE_BYTES);
    };
    megabytes_per_second(duration, How::InPieces, fill, |_| {})
}

/// What has come in large pieces is written to a file as large as that of the servers, over what it holds.
pub fn to_file(directory: &Path, duration: Duration) -> f64 {
    let path = directory.join("file");
    fs::write(&path, vec![1; FILE_BYTES as usize]).expect("file");
    let file = File::options().write(true).open(path).expect("file");
    let mut offset = 0;
    let take = move |bytes: &[u8]| {
        file.write_all_at(bytes, offset).expect("bytes");
        offset = (offset + bytes.len() as u64) % u64::from(FILE_BYTES);
    };
    megabytes_per_second(duration, How::InPieces, |_| {}, take)
}

fn megabytes_per_second(
    duration: Duration,
    how: How,
    mut fill: impl FnMut(&mut [u8]) + Send + 'static,
    mut take: impl FnMut(&[u8]),
) -> f64 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
    if how == How::InPieces {
        set_tcp_congestion(&listener, UNPACED).expect("congestion control");
    }
    let address = listener.local_addr().expect("address");
    let sender = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("accept");
        let mut block = vec![7u8; BLOCK_BYTES];
        while stream.write_all(&block).is_ok() {
            fill(&mut block);
        }
    });
    let mut stream = TcpStream::connect(address).expect("connect");
    if how == How::InPieces {
        rpc_net::set_receive_low_water(&stream, LOW_WATER_BYTES).expect("low water");
    }
    let mut buffer = vec![0u8; BLOCK_BYTES];
    let mut bytes = 0usize;
    let start = Instant::now();
    while start.elapsed() < duration {
        let count = stream.read(&mut buffer).expect("read");
        take(&buffer[..count]);
        bytes += count;
    }
    let seconds = start.elapsed().as_secs_f64();
    drop(stream);
    sender.join().expect("sender");
    bytes as f64 / seconds / 1e6
}

//! A server that knows nothing: every record comes back after one stat(2).

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::load::Load;
use crate::requests::{Requests, connect, word};

const RECORD_BYTES: usize = 128;

pub fn per_second(load: &Load, directory: &Path, duration: Duration) -> f64 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
    let address = listener.local_addr().expect("address");
    thread::scope(|scope| {
        for _ in 0..load.connections {
            scope.spawn(|| answer(listener.accept().expect("accept").0, directory));
        }
        load.run(duration, None, || Echo { address }).per_second()
    })
}

/// Offers `work` that many connections to a server of its own, and waits until all were made and closed.
pub fn with_echo(directory: &Path, connections: usize, work: impl FnOnce(&dyn Fn() -> Box<dyn Requests>)) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
    let address = listener.local_addr().expect("address");
    thread::scope(|scope| {
        scope.spawn(move || {
            let answered = listener.incoming().take(connections);
            answered.for_each(|stream| {
                scope.spawn(move || answer(stream.expect("accept"), directory));
            });
        });
        work(&|| Box::new(Echo { address }));
    });
}

fn answer(mut stream: TcpStream, path: &Path) {
    stream.set_nodelay(true).expect("nodelay");
    let (mut buffer, mut filled) = (vec![0; 64 << 10], 0);
    while let Ok(count @ 1..) = stream.read(&mut buffer[filled..]) {
        filled += count;
        let whole = filled - filled % RECORD_BYTES;
        for _ in 0..whole / RECORD_BYTES {
            assert!(fs::metadata(path).expect("stat").is_dir());
        }
        if stream.write_all(&buffer[..whole]).is_err() {
            return;
        }
        buffer.copy_within(whole..filled, 0);
        filled -= whole;
    }
}

struct Echo {
    address: SocketAddr,
}

impl Requests for Echo {
    fn server(&self) -> &'static str {
        "echo"
    }

    fn connect(&mut self) -> TcpStream {
        connect(self.address)
    }

    fn append(&mut self, lane: usize, to: &mut Vec<u8>) {
        to.extend(rpc::mark(RECORD_BYTES - 4));
        to.extend((lane as u32).to_be_bytes());
        to.resize(to.len() + RECORD_BYTES - 8, 0);
    }

    fn lane_of(&self, reply: &[u8]) -> usize {
        word(reply, 0) as usize
    }
}

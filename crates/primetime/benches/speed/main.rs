//! Speed of the server beside the limits of the machine, in one run: `cargo bench -p primetime --bench speed`.
//!
//! The load generator is raw sockets and prepared bytes, so that what is measured is the server. It runs on the same
//! cores. Nothing here is asserted: it prints figures and ratios.

#![allow(missing_docs, unreachable_pub, clippy::print_stdout)]

mod load;
mod requests;
mod serve;
mod tcp;

use std::time::Duration;

use load::{Load, Pipeline};
use requests::{V3, V4};
use serve::Server;

const SECONDS: Duration = Duration::from_secs(1);
const ROUNDS: usize = 3;
const READ_BYTES: u32 = 1 << 20;

fn main() {
    let server = Server::start();
    println!("idle memory of `serve`: {:.1} MB (goal: at most 30)", server.resident_bytes() as f64 / 1e6);

    println!("\nGETATTR, 5 connections x 16 in flight (goal: at least 200,000/s)");
    for round in 1..=ROUNDS {
        let v3 = Load { connections: 5, in_flight: 16 }.run(SECONDS, || V3::getattr(&server));
        let v4 = Load { connections: 5, in_flight: 16 }.run(SECONDS, || V4::getattr(&server));
        println!("  round {round}: NFSv3 {:>9.0}/s   NFSv4.1 {:>9.0}/s", v3.per_second(), v4.per_second());
    }
    println!("\nGETATTR, 1 connection, one at a time");
    let v3 = Load { connections: 1, in_flight: 1 }.run(SECONDS, || V3::getattr(&server));
    let v4 = Load { connections: 1, in_flight: 1 }.run(SECONDS, || V4::getattr(&server));
    println!("  NFSv3 {:>9.0}/s   NFSv4.1 {:>9.0}/s", v3.per_second(), v4.per_second());

    println!(
        "\nREAD 1 MiB of a cached file, 1 connection x 8 in flight, beside one TCP stream (goal: at least 1.0)"
    );
    for round in 1..=ROUNDS {
        let stream = tcp::memory_megabytes_per_second(SECONDS);
        let copied = tcp::file_megabytes_per_second(&server.file(), SECONDS);
        let v3 = Load { connections: 1, in_flight: 8 }
            .run(SECONDS, || V3::read(&server, READ_BYTES))
            .megabytes_per_second(READ_BYTES);
        let v4 = Load { connections: 1, in_flight: 8 }
            .run(SECONDS, || V4::read(&server, READ_BYTES))
            .megabytes_per_second(READ_BYTES);
        println!(
            "  round {round}: one TCP stream from memory {stream:.0} MB/s, from a cached file {copied:.0} MB/s"
        );
        for (version, rate) in [("NFSv3", v3), ("NFSv4.1", v4)] {
            println!(
                "    {version:<8} {rate:>6.0} MB/s   {:.2} of the stream, {:.2} of the file's",
                rate / stream,
                rate / copied
            );
        }
    }
}

/// What a prepared connection offers the load loop.
pub trait Requests: Send {
    fn connect(&self) -> std::net::TcpStream;
    /// Appends one request that answers the use of `lane` (0 … in flight − 1).
    fn append(&mut self, lane: usize, to: &mut Vec<u8>);
    /// The lane that a reply, given by its first bytes after the record mark, belongs to; checks its status.
    fn lane_of(&self, reply_start: &[u8]) -> usize;
    fn pipeline(self) -> Pipeline<Self>
    where
        Self: Sized,
    {
        Pipeline::new(self)
    }
}

//! Sequential data over links of a given rate and round trip, beside plain TCP streams on equal links: `cargo
//! bench -p primetime --bench links [-- [--rounds N] [--seconds S] [--rtt-ms 0.2,1,10,40] [--mbit 1000]
//! [--folder DIR]]`.
//!
//! A relay with that rate and round trip stands in front of `primetime serve`; the client library reads and
//! writes large files through it over NFSv3 and NFSv4.1, one client alone, then five at once. TCP streams go
//! the same ways over a relay of the same options. In every round each of them has its turn on a link of its
//! own; ratios are of runs of the same round, with 95 % intervals. Nothing here is asserted but that what was
//! read and written has crossed the link.

#![allow(missing_docs, unreachable_pub, clippy::print_stdout, clippy::unwrap_used)]

mod nfs;
mod options;
mod server;
mod streams;
mod table;
mod window;

use client::Version;
use mimalloc::MiMalloc;
use netlab::relay::Relay;

use nfs::Nfs;
use options::Options;
use server::Server;
use streams::Streams;
use table::Table;
use window::{Direction, Run};

/// As the command has it: the library is measured as its users meet it.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

pub const VERSIONS: [Version; 2] = [Version::V3, Version::V4_1];
/// How many go the same way at once: alone, and those whose shares are compared.
pub const CROWDS: [usize; 2] = [1, 5];

fn main() {
    let options = Options::from_arguments();
    let server = Server::start(&options);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("runtime");
    println!(
        "{} rounds, {:.1} seconds each, links of {} Mbit/s ({:.1} MB/s); rates are means, ratios have 95 % \
         intervals\n",
        options.rounds,
        options.duration.as_secs_f64(),
        options.mbit,
        options.bytes_per_second() as f64 / 1e6,
    );
    let table = Table::new();
    for &round_trip_ms in &options.round_trips_ms {
        let bench = Bench { options: &options, server: &server, runtime: &runtime, round_trip_ms };
        for direction in [Direction::ToClient, Direction::ToServer] {
            table.print(round_trip_ms, direction, &bench.measure(direction));
        }
    }
}

/// What was measured in one direction of one link, round by round: by crowd, the streams and then the
/// versions.
pub type Measured = [[Vec<Run>; 1 + VERSIONS.len()]; CROWDS.len()];

struct Bench<'a> {
    options: &'a Options,
    server: &'a Server,
    runtime: &'a tokio::runtime::Runtime,
    round_trip_ms: f64,
}

impl Bench<'_> {
    fn measure(&self, direction: Direction) -> Measured {
        let mut measured = Measured::default();
        let turns = 1 + VERSIONS.len();
        for round in 0..self.options.rounds {
            for (crowd, runs) in CROWDS.into_iter().zip(&mut measured) {
                // Whoever went first goes last next time.
                for turn in 0..turns {
                    let place = (round + turn) % turns;
                    runs[place].push(match place.checked_sub(1) {
                        None => self.run_streams(direction, crowd),
                        Some(version) => self.run_clients(direction, crowd, VERSIONS[version]),
                    });
                }
            }
        }
        measured
    }

    fn run_streams(&self, direction: Direction, crowd: usize) -> Run {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("listener");
        let link = self.link(listener.local_addr().expect("address"));
        let mut streams = Streams::start(&listener, link.address(), direction, crowd);
        window::measure(&mut streams, &link, direction, self.options.duration)
    }

    fn run_clients(&self, direction: Direction, crowd: usize, version: Version) -> Run {
        let link = self.link(self.server.address());
        let mut nfs = Nfs::start(self.runtime, link.address(), version, direction, crowd);
        let run = window::measure(&mut nfs, &link, direction, self.options.duration);
        Run { requests_per_megabyte: nfs.end(&link), ..run }
    }

    fn link(&self, target: std::net::SocketAddr) -> Relay {
        Relay::start(target, self.options.link(self.round_trip_ms)).expect("link")
    }
}

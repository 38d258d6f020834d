//! What a caller with one request under way gets beside one with hundreds, at the same server.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::latency::{Percentiles, means, one_by_one};
use crate::limits::with_echo;
use crate::load::Pipeline;
use crate::options::Options;
use crate::ours::Ours;
use crate::requests::{Ask, Requests, requests};
use crate::rows::KIB_4;
use crate::table::{VERSIONS, ratio};
use crate::target::Target;

/// As rows are named.
pub const NAME: &str = "fairness";
/// Of the busy caller, or as many as the server gives it.
const BUSY_IN_FLIGHT: usize = 512;
/// Over how many connections it has them.
const BUSY_CONNECTIONS: [usize; 2] = [1, 4];
const ASKED: [(&str, Ask); 2] = [("GETATTR", Ask::GetAttr), ("READ of 4 KiB", Ask::Read { bytes: KIB_4 })];

/// Who has [`BUSY_IN_FLIGHT`] requests under way.
struct Busy {
    name: &'static str,
    ask: Ask,
    connections: usize,
}

impl Busy {
    fn all() -> impl Iterator<Item = Self> {
        let over = |connections| ASKED.map(|(name, ask)| Self { name, ask, connections });
        BUSY_CONNECTIONS.into_iter().flat_map(over)
    }
}

/// Alone and beside the busy one, round by round.
#[derive(Default)]
struct Measured {
    alone: Vec<Percentiles>,
    beside: Vec<Percentiles>,
}

impl Measured {
    fn add(&mut self, make: impl Fn(Ask) -> Box<dyn Requests>, busy: &Busy, duration: Duration) {
        self.alone.push(one_by_one(make(Ask::GetAttr), duration));
        let connections = (0..busy.connections).map(|_| make(busy.ask)).collect();
        self.beside.push(beside(connections, make(Ask::GetAttr), duration));
    }

    fn print(&self, busy: &Busy, version: &str, server: &str) {
        let busy = format!("{} over {}", busy.name, busy.connections);
        let p99 = |all: &[Percentiles]| all.iter().map(|it| it.p99_us).collect::<Vec<_>>();
        let slower = ratio(&p99(&self.alone), &p99(&self.beside));
        let (alone, beside) = (means(&self.alone), means(&self.beside));
        println!("| {busy} | {version} | {server} | {alone} | {beside} | {slower} |");
    }
}

/// Prints the times of single GETATTRs, alone and beside the busy one's requests.
pub fn measure(options: &Options, targets: &[Target], ours: &Ours) {
    println!(
        "\n| {BUSY_IN_FLIGHT} in flight, over how many connections | version | server | one GETATTR alone: \
         median, 99th percentile | beside them | 99th percentiles, beside ÷ alone |"
    );
    println!("|---|---|---|---|---|---|");
    for busy in Busy::all() {
        for (version, label) in VERSIONS.into_iter().enumerate() {
            let mut measured: Vec<_> = targets.iter().map(|_| Measured::default()).collect();
            for round in 0..options.rounds {
                for turn in 0..targets.len() {
                    let place = (round + turn) % targets.len();
                    let make = |ask| requests(&targets[place], version, None, ask);
                    measured[place].add(make, &busy, options.duration);
                }
            }
            for (measured, target) in measured.iter().zip(targets) {
                measured.print(&busy, label, target.name);
            }
        }
    }
    for connections in BUSY_CONNECTIONS {
        let busy = Busy { name: "128 bytes", ask: Ask::GetAttr, connections };
        let mut measured = Measured::default();
        for _ in 0..options.rounds {
            // One connection for each time that somebody is measured, alone and beside, and those of the one
            // beside.
            let all = 2 + connections;
            with_echo(ours.folder(), all, |make| measured.add(|_| make(), &busy, options.duration));
        }
        measured.print(&busy, "–", "echo with stat(2)");
    }
}

/// Times single requests beside the busy one's, which are under way on all of its connections.
fn beside(busy: Vec<Box<dyn Requests>>, requests: Box<dyn Requests>, duration: Duration) -> Percentiles {
    let in_flight = BUSY_IN_FLIGHT / busy.len();
    let (stop, replies) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for requests in busy {
            let (mut pipeline, stop, replies) = (Pipeline { requests }, &stop, &replies);
            scope.spawn(move || {
                let stream = pipeline.requests.connect();
                pipeline.drive(stream, in_flight, (stop, replies));
            });
        }
        while replies.load(Ordering::Relaxed) < 10 * BUSY_IN_FLIGHT as u64 {
            thread::sleep(Duration::from_millis(1));
        }
        let times = one_by_one(requests, duration);
        stop.store(true, Ordering::Relaxed);
        times
    })
}

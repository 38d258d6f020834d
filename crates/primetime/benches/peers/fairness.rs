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
const BUSY: [(&str, Ask); 2] = [("GETATTR", Ask::GetAttr), ("READ of 4 KiB", Ask::Read { bytes: KIB_4 })];

/// Alone and beside the busy one, round by round.
#[derive(Default)]
struct Measured {
    alone: Vec<Percentiles>,
    beside: Vec<Percentiles>,
}

impl Measured {
    fn add(&mut self, make: impl Fn(Ask) -> Box<dyn Requests>, busy: Ask, duration: Duration) {
        self.alone.push(one_by_one(make(Ask::GetAttr), duration));
        self.beside.push(beside(make(busy), make(Ask::GetAttr), duration));
    }

    fn print(&self, busy: &str, version: &str, server: &str) {
        let p99 = |all: &[Percentiles]| all.iter().map(|it| it.p99_us).collect::<Vec<_>>();
        let slower = ratio(&p99(&self.alone), &p99(&self.beside));
        let (alone, beside) = (means(&self.alone), means(&self.beside));
        println!("| {busy} | {version} | {server} | {alone} | {beside} | {slower} |");
    }
}

/// Prints the times of single GETATTRs, alone and beside the busy one's requests.
pub fn measure(options: &Options, targets: &[Target], ours: &Ours) {
    println!(
        "\n| {BUSY_IN_FLIGHT} in flight of | version | server | one GETATTR alone: median, 99th percentile | beside them | 99th percentiles, beside ÷ alone |"
    );
    println!("|---|---|---|---|---|---|");
    for (name, busy) in BUSY {
        for (version, label) in VERSIONS.into_iter().enumerate() {
            let mut measured: Vec<_> = targets.iter().map(|_| Measured::default()).collect();
            for round in 0..options.rounds {
                for turn in 0..targets.len() {
                    let place = (round + turn) % targets.len();
                    measured[place].add(
                        |ask| requests(&targets[place], version, None, ask),
                        busy,
                        options.duration,
                    );
                }
            }
            for (measured, target) in measured.iter().zip(targets) {
                measured.print(name, label, target.name);
            }
        }
    }
    let mut measured = Measured::default();
    for _ in 0..options.rounds {
        // One connection for each time that somebody is measured: alone, beside, and the one beside.
        with_echo(ours.folder(), 3, |make| measured.add(|_| make(), Ask::GetAttr, options.duration));
    }
    measured.print("128 bytes", "–", "echo with stat(2)");
}

fn beside(busy: Box<dyn Requests>, requests: Box<dyn Requests>, duration: Duration) -> Percentiles {
    let (stop, replies) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        let mut busy = Pipeline { requests: busy };
        let (stop, replies) = (&stop, &replies);
        scope.spawn(move || {
            let stream = busy.requests.connect();
            busy.drive(stream, BUSY_IN_FLIGHT, (stop, replies));
        });
        while replies.load(Ordering::Relaxed) < 10 * BUSY_IN_FLIGHT as u64 {
            thread::sleep(Duration::from_millis(1));
        }
        let times = one_by_one(requests, duration);
        stop.store(true, Ordering::Relaxed);
        times
    })
}

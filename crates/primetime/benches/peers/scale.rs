//! What becomes of the rate, and of the slowest of a hundred requests, with more connections, more requests
//! in flight and more clients.

use std::time::Duration;

use crate::load::Load;
use crate::options::Options;
use crate::requests::{Ask, Crowd, Requests, Timed, Times, requests};
use crate::table::{VERSIONS, rate};
use crate::target::Target;

/// As rows are named.
pub const NAME: &str = "scale";
/// Connections, and requests in flight on each.
const LOADS: [(usize, usize); 9] =
    [(1, 1), (1, 16), (1, 512), (8, 1), (8, 16), (8, 512), (64, 1), (64, 16), (64, 512)];
/// Clients of NFSv4.1, spread over these connections.
const CLIENTS: [usize; 3] = [16, 1_000, 10_000];
const CROWD_LOAD: Load = Load { connections: 16, in_flight: 8 };

/// Means over the rounds.
#[derive(Default)]
struct Measured {
    per_second: Vec<f64>,
    p50_us: Vec<f64>,
    p99_us: Vec<f64>,
}

impl Measured {
    fn add<R: Requests>(&mut self, load: &Load, duration: Duration, make: impl Fn() -> R) {
        let times = Times::default();
        let outcome = load.run(duration, None, || Timed::new(make(), &times));
        self.per_second.push(outcome.per_second());
        let [p50_us, p99_us] = times.percentiles_us([0.5, 0.99]);
        self.p50_us.push(p50_us);
        self.p99_us.push(p99_us);
    }

    fn cell(&self) -> String {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        format!(
            " {} /s, {:.0} µs, {:.0} µs |",
            rate(&self.per_second),
            mean(&self.p50_us),
            mean(&self.p99_us)
        )
    }
}

/// Prints rates of GETATTR, and its median and 99th percentile.
pub fn measure(options: &Options, targets: &[Target]) {
    let names: String = targets.iter().map(|target| format!(" {} |", target.name)).collect();
    println!("\n| connections × in flight | version |{names}\n|---|---|{}", "---|".repeat(targets.len()));
    for (connections, in_flight) in LOADS {
        let load = Load { connections, in_flight };
        for (version, label) in VERSIONS.into_iter().enumerate() {
            let mut measured: Vec<_> = targets.iter().map(|_| Measured::default()).collect();
            for round in 0..options.rounds {
                for turn in 0..targets.len() {
                    let place = (round + turn) % targets.len();
                    let make = || requests(&targets[place], version, None, Ask::GetAttr);
                    measured[place].add(&load, options.duration, make);
                }
            }
            let cells: String = measured.iter().map(Measured::cell).collect();
            println!("| {connections} × {in_flight} | {label} |{cells}");
        }
    }
    crowds(options, &targets[0]);
}

/// The same of many clients, each with a session, at our server.
fn crowds(options: &Options, ours: &Target) {
    let Load { connections, in_flight } = CROWD_LOAD;
    println!("\n| clients of NFSv4.1, {connections} × {in_flight} in flight | {} |\n|---|---|", ours.name);
    for clients in CLIENTS {
        let mut measured = Measured::default();
        for _ in 0..options.rounds {
            measured.add(&CROWD_LOAD, options.duration, || Crowd::new(ours, clients / connections));
        }
        println!("| {clients} |{}", measured.cell());
    }
}

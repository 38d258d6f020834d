//! What a request costs who makes it: GETATTRs that the client's RPC sends to a server that does nothing, for
//! each second of this process's own processor time: `cargo bench -p primetime-client --bench generator [--
//! --seconds S] [--rounds N]`.
//!
//! The null server is a process of its own, so that its time is not counted. The goal, 300,000 for each
//! second, is what keeps the generator of load from being the limit of what it measures.

#![allow(missing_docs, unreachable_pub, clippy::print_stdout)]

mod load;
mod null_server;

use std::time::Duration;

use load::{Load, Rate, Version};
use null_server::NullServer;

/// Connections, and requests in flight on each.
const LOADS: [(usize, usize); 3] = [(1, 64), (5, 16), (1, 1)];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.iter().any(|argument| argument == null_server::ARGUMENT) {
        return null_server::serve();
    }
    let number = |name: &str, default: f64| {
        let at = arguments.iter().position(|argument| argument == name);
        at.and_then(|at| arguments.get(at + 1)).map_or(default, |text| text.parse().expect("a number"))
    };
    let duration = Duration::from_secs_f64(number("--seconds", 1.0));
    let rounds = number("--rounds", 5.0) as usize;
    let server = NullServer::start();
    println!(
        "medians of {rounds} rounds of {duration:?}; the goal is 300,000 GETATTR for each second of \
         processor time\n"
    );
    println!("| connections × in flight | version | GETATTR for each second of processor time | GETATTR/s |");
    println!("|---|---|---|---|");
    for (connections, in_flight) in LOADS {
        let mut rates = [Vec::new(), Vec::new()];
        for _ in 0..rounds {
            for (version, rates) in [Version::V3, Version::V4_1].into_iter().zip(&mut rates) {
                let load = Load { address: server.address, version, connections, in_flight };
                rates.push(load.run(duration));
            }
        }
        for (name, rates) in ["3", "4.1"].into_iter().zip(rates) {
            let median = |of: fn(&Rate) -> f64| {
                let mut values: Vec<_> = rates.iter().map(of).collect();
                values.sort_by(f64::total_cmp);
                values[values.len() / 2]
            };
            let (per_cpu, per_second) = (median(|rate| rate.per_cpu_second), median(|rate| rate.per_second));
            println!("| {connections} × {in_flight} | {name} | {per_cpu:.0} | {per_second:.0} |");
        }
    }
}

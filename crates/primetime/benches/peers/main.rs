//! The server beside those that a user would take instead, and beside the limits of the machine:
//! `cargo bench -p primetime --bench peers [-- [--guest] [--older EXECUTABLE] [--rounds N] [--seconds S]
//! [ROW...]]`.
//!
//! primetime and NFS-Ganesha serve fresh directories of one file system, on the same cores as the generator
//! of load, and so does, with `--guest`, the kernel's server in a guest, which has its files in memory and
//! which being a guest costs speed. `--older` adds the server of another executable of primetime: before and
//! after in the same rounds. In every round each row is run once with each server, version and limit, in
//! turns; ratios are of runs of the same round, with 95 % intervals. The generator is raw sockets and
//! prepared bytes, the same for all, so that what is measured is the servers. Nothing here is asserted but
//! that every request succeeds.

#![allow(missing_docs, unreachable_pub, clippy::print_stdout, clippy::unwrap_used)]

mod alone;
mod fairness;
#[allow(dead_code, reason = "a part is for the tests")]
#[path = "../../tests/support/foreign/mod.rs"]
mod foreign;
mod instructions;
mod latency;
mod limits;
mod load;
mod options;
mod ours;
mod process;
mod requests;
mod rows;
mod scale;
mod table;
mod target;
#[allow(dead_code, reason = "a part is for others")]
#[path = "../../../client/benches/creates/world.rs"]
mod world;

use std::time::Duration;

use foreign::ganesha::Ganesha;
use foreign::knfsd::{Knfsd, KnfsdOptions};
use netlab::guest::Lab;

use options::Options;
use ours::Ours;
use process::Process;
use rows::{ROWS, Rate, Row};
use table::Table;
use target::Target;

/// Then the other servers are killed, whatever became of this process.
const TIME_LIMIT: Duration = Duration::from_secs(7200);

fn main() {
    if std::env::args().nth(1).as_deref() == Some(instructions::SERVE) {
        return instructions::serve();
    }
    let options = Options::from_arguments();
    let lab = match Lab::new() {
        Ok(lab) => lab,
        Err(reason) => {
            println!("without other servers: {reason}\n");
            return measure(&options, None, None);
        }
    };
    let ganesha = Ganesha::start(&lab, TIME_LIMIT);
    let knfsd = options.guest.then(|| Knfsd::start(&lab, TIME_LIMIT, &KnfsdOptions::default()));
    lab.inside(|| measure(&options, ganesha.as_ref(), knfsd.as_ref())).expect("the lab's network");
    if let Some(knfsd) = knfsd {
        knfsd.stop();
    }
}

/// Runs in the network of the lab, if there is one.
fn measure(options: &Options, ganesha: Option<&Ganesha>, knfsd: Option<&Knfsd>) {
    let ours = Ours::start();
    let older = options.older.as_deref().map(Ours::start_older);
    let mut targets = vec![ours.target()];
    targets.extend(older.as_ref().map(Ours::target));
    targets.extend(
        ganesha.map(|server| Target::foreign("NFS-Ganesha", server.place(), Process::of_ganesha(server))),
    );
    targets.extend(knfsd.map(|server| Target::foreign("knfsd in a guest", server.place(), None)));
    let resident_bytes =
        || targets.iter().map(|target| target.process.map(Process::resident_bytes)).collect();
    let idle: Vec<Option<u64>> = resident_bytes();
    targets.iter().for_each(Target::prepare);
    let (rounds, duration) = (options.rounds, options.duration);
    println!(
        "{rounds} rounds, {:.1} seconds each; rates are means, ratios have 95 % intervals\n",
        duration.as_secs_f64()
    );
    let mut table = Table::new(&targets);
    for row in ROWS.iter().filter(|row| options.wants(row.name)) {
        table.print(row, &measure_row(row, options, &targets, &ours));
    }
    table.print_processor();
    if options.wants(alone::NAME) {
        alone::measure(options, &targets, &ours);
    }
    if options.wants(fairness::NAME) {
        fairness::measure(options, &targets, &ours);
    }
    if options.wants(scale::NAME) {
        scale::measure(options, &targets);
    }
    if options.wants(instructions::NAME) {
        instructions::measure();
    }
    println!("\n| resident memory | idle | after |\n|---|---|---|");
    for ((target, idle), after) in targets.iter().zip(idle).zip(resident_bytes()) {
        if let Some((idle, after)) = idle.zip(after) {
            println!("| {} | {:.1} MB | {:.1} MB |", target.name, idle as f64 / 1e6, after as f64 / 1e6);
        }
    }
}

/// What was measured, round by round: of each target both versions, and of each limit.
#[derive(Default)]
pub struct Measured {
    pub targets: Vec<[Vec<Rate>; 2]>,
    pub limits: Vec<Vec<f64>>,
}

fn measure_row(row: &Row, options: &Options, targets: &[Target], ours: &Ours) -> Measured {
    let mut measured = Measured {
        targets: vec![[Vec::new(), Vec::new()]; targets.len()],
        limits: vec![Vec::new(); row.limits.len()],
    };
    for round in 0..options.rounds {
        // Whoever went first goes last next time.
        for turn in 0..targets.len() {
            let place = (round + turn) % targets.len();
            for (version, rates) in measured.targets[place].iter_mut().enumerate() {
                write_everything_back();
                rates.push(row.run(targets[place].for_row(row), version, round, options.duration));
            }
        }
        for (limit, rates) in row.limits.iter().zip(&mut measured.limits) {
            write_everything_back();
            rates.push(limit.run(row, ours.folder(), options.duration));
        }
    }
    measured
}

/// What one run has left to be written is not to be written in the next.
fn write_everything_back() {
    rustix::fs::sync();
}

//! How long a request takes whose caller has nothing else under way, and nobody else has, beside an echo.

use crate::latency::{Percentiles, means, one_by_one};
use crate::limits::with_echo;
use crate::options::Options;
use crate::ours::Ours;
use crate::requests::{Ask, requests};
use crate::rows::KIB_4;
use crate::table::VERSIONS;
use crate::target::Target;

/// As rows are named.
pub const NAME: &str = "alone";
const ASKS: [(&str, Ask); 3] =
    [("GETATTR", Ask::GetAttr), ("LOOKUP", Ask::Lookup), ("READ of 4 KiB", Ask::Read { bytes: KIB_4 })];

/// Prints medians and 99th percentiles.
pub fn measure(options: &Options, targets: &[Target], ours: &Ours) {
    let names: String = targets.iter().map(|target| format!(" {} |", target.name)).collect();
    println!("\n| one at a time | version |{names} echo with stat(2) |");
    println!("|---|---|{}---|", "---|".repeat(targets.len()));
    for (name, ask) in ASKS {
        for (version, label) in VERSIONS.into_iter().enumerate() {
            let mut servers: Vec<Vec<Percentiles>> = vec![Vec::new(); targets.len()];
            let mut echo = Vec::new();
            for round in 0..options.rounds {
                for turn in 0..targets.len() {
                    let place = (round + turn) % targets.len();
                    let asked = requests(&targets[place], version, None, ask);
                    servers[place].push(one_by_one(asked, options.duration));
                }
                with_echo(ours.folder(), 1, |make| echo.push(one_by_one(make(), options.duration)));
            }
            let cells: String = servers.iter().map(|all| format!(" {} |", means(all))).collect();
            println!("| {name} | {label} |{cells} {} |", means(&echo));
        }
    }
}

//! The server among clients, networks and disks that fail: everything from one seed.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]
#![allow(dead_code)] // The faults that use the rest come next.

mod action;
mod checks;
mod history;
mod host;
mod machine;
mod promise;
mod random;

mod simulation;
mod wire;

use simulation::Simulation;

#[test]
fn the_rules_hold_for_many_seeds() {
    for seed in 0..100 {
        let history = Simulation::new(seed).run();
        if let Err(violation) = checks::all(&history) {
            panic!("seed {seed}: {violation}");
        }
    }
}

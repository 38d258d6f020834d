//! Random steps through a mount while its server is killed and started again. `PRIMETIME_SEEDS=50` takes more
//! of them, `PRIMETIME_FIRST_SEED=7` others, and `PRIMETIME_TELL_STEPS=1` tells of each step as it begins.

use std::time::Duration;

use crate::mounted::{Mounted, can_mount};
use crate::processes::Server;
use crate::random::Random;
use crate::steps::Orders;
use crate::walk::Walk;

/// Seeds when no number is given.
const SEEDS: u64 = 3;
/// Of each thread.
const STEPS: usize = 200;
const KILLS: usize = 5;

#[test]
fn nfsv3_bytes_are_right_while_the_server_is_killed_repeatedly() {
    run_seeds("vers=3", false);
}

#[test]
fn nfsv4_1_bytes_are_right_while_the_server_is_killed_repeatedly() {
    run_seeds("vers=4.1", false);
}

#[test]
fn nfsv4_2_bytes_are_right_while_the_server_is_killed_repeatedly() {
    run_seeds("vers=4.2", true);
}

fn run_seeds(options: &str, sparse: bool) {
    if !can_mount() {
        return;
    }
    let number = |name| std::env::var(name).ok().and_then(|text: String| text.parse().ok());
    let first: u64 = number("PRIMETIME_FIRST_SEED").unwrap_or(1);
    for seed in first..first + number("PRIMETIME_SEEDS").unwrap_or(SEEDS) {
        eprintln!("{options}, seed {seed}");
        run(options, sparse, seed);
    }
}

fn run(options: &str, sparse: bool, seed: u64) {
    let mut server = Server::start();
    let mounted = Mounted::start(&server.url(), options);
    let export = server.export();
    let mut walk =
        Walk::start(&Orders { mount: mounted.root().to_owned(), export, seed, steps: STEPS, sparse });
    let mut random = Random(seed);
    for kill in 0..KILLS {
        let part = STEPS / (KILLS + 1);
        let step = part * kill + random.below(part as u64) as usize;
        walk.until(&mounted, step);
        server.kill();
        // Steps that need no server go on meanwhile.
        std::thread::sleep(Duration::from_millis(random.below(100)));
        server.start_again();
    }
    walk.until(&mounted, STEPS - 1);
    walk.end(&mounted);
    assert!(mounted.unmount(), "not everything arrived");
}

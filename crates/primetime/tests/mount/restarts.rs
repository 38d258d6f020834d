//! Random steps through a mount while its server is killed and started again. `PRIMETIME_SEEDS=50` takes more of them,
//! `PRIMETIME_FIRST_SEED=7` others, and `PRIMETIME_TELL_STEPS=1` tells of each step as it begins.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use crate::processes::{Mounted, Server, can_mount, wait};
use crate::random::Random;
use crate::steps::{MARK, ORDERS, Orders};

/// Seeds when no number is given.
const SEEDS: u64 = 3;
/// Of each thread.
const STEPS: usize = 200;
const KILLS: usize = 5;
/// A step that takes longer waits for what does not come. Grace ends when all clients are back, which takes far less.
const PATIENCE: Duration = Duration::from_secs(100);

#[test]
fn over_nfsv3_every_byte_is_right_while_the_server_is_killed_again_and_again() {
    run_seeds("vers=3", false);
}

#[test]
fn over_nfsv4_1_every_byte_is_right_while_the_server_is_killed_again_and_again() {
    run_seeds("vers=4.1", false);
}

#[test]
fn over_nfsv4_2_every_byte_is_right_while_the_server_is_killed_again_and_again() {
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
    let mounted = Mounted::start(&server, options);
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

/// The process that takes the steps; killed when it is dropped.
struct Walk {
    child: Child,
    reached: Receiver<usize>,
}

impl Walk {
    fn start(orders: &Orders) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "steps::takes_the_steps_it_is_told_to_take", "--nocapture", "--test-threads=1"])
            .env(ORDERS, orders.words())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, reached) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if let Some((_, step)) = line.split_once(MARK) {
                    let _ = sender.send(step.parse().unwrap());
                }
            }
        });
        Self { child, reached }
    }

    /// Waits until it has taken that step.
    fn until(&mut self, mounted: &Mounted, step: usize) {
        loop {
            match self.reached.recv_timeout(PATIENCE) {
                Ok(reached) if reached >= step => return,
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("it ended before step {step}, and says why above")
                }
                Err(RecvTimeoutError::Timeout) => {
                    mounted.abort();
                    panic!("a step before {step} does not end");
                }
            }
        }
    }

    fn end(mut self, mounted: &Mounted) {
        match wait(&mut self.child, PATIENCE) {
            Some(status) => assert!(status.success(), "it ended with {status}"),
            None => {
                mounted.abort();
                panic!("its last checks do not end");
            }
        }
    }
}

impl Drop for Walk {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

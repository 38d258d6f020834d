//! The process that takes random steps, seen from who ordered them.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use crate::mounted::{Mounted, wait};
use crate::steps::{MARK, ORDERS, Orders};

/// A step that takes longer waits for what does not come. Grace ends when all clients are back, which takes
/// far less.
const PATIENCE: Duration = Duration::from_secs(100);

/// The process that takes the steps; killed when it is dropped.
pub struct Walk {
    child: Child,
    reached: Receiver<usize>,
}

impl Walk {
    pub fn start(orders: &Orders) -> Self {
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
    pub fn until(&mut self, mounted: &Mounted, step: usize) {
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

    pub fn end(mut self, mounted: &Mounted) {
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

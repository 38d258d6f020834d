//! What is counted of flows, and when: the same for clients and for streams.

use std::thread;
use std::time::{Duration, Instant};

use netlab::relay::Relay;

/// Before anything counts: queues fill, windows open, readers are seen to be sequential.
pub const WARM_UP: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Reading.
    ToClient,
    /// Writing, until all of it is where it belongs and the writer knows.
    ToServer,
}

/// Data that go one way over one link, in some flows at once.
pub trait Flows {
    /// Bytes of each that have arrived.
    fn arrived(&self) -> Vec<u64>;

    /// Ends them and returns when the last byte has arrived for good: how many were sent.
    fn finish(&mut self) -> u64;
}

/// What one run gave.
pub struct Run {
    pub megabytes_per_second: f64,
    /// What each flow had, of the time in which all went on.
    pub shares: Vec<f64>,
    pub requests_per_megabyte: f64,
}

/// Counts for `duration` after the warm-up. What is written counts up to the end, and so does the time of
/// making it stable.
pub fn measure(flows: &mut impl Flows, link: &Relay, direction: Direction, duration: Duration) -> Run {
    thread::sleep(WARM_UP);
    let (before, start) = (flows.arrived(), Instant::now());
    // What was taken earlier and is still on its way counts as well, as the end waits for it.
    let crossed_before = link.stats().bytes_to_target;
    thread::sleep(duration);
    let (after, window) = (flows.arrived(), start.elapsed());
    let sent = flows.finish();
    let shares: Vec<f64> = after.iter().zip(&before).map(|(after, before)| (after - before) as f64).collect();
    let (bytes, time) = match direction {
        Direction::ToClient => (shares.iter().sum(), window),
        Direction::ToServer => ((sent - crossed_before) as f64, start.elapsed()),
    };
    Run { megabytes_per_second: bytes / time.as_secs_f64() / 1e6, shares, requests_per_megabyte: 0.0 }
}

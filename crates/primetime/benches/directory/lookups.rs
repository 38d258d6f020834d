//! How long LOOKUPs wait, alone and while something else goes on.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bench::statistics::percentile;

use crate::entries::name;
use crate::listing::{Place, connect};
use crate::options::Options;

/// So long when nothing goes on.
const ALONE: Duration = Duration::from_secs(1);
/// Names that are asked for in turns, spread over the directory.
const NAMES: usize = 1000;

/// Of all requests of a time.
pub struct Waits {
    pub median_us: f64,
    pub percentile_99_us: f64,
    pub count: usize,
}

/// Looks names up, one after the other, while `work` runs.
pub fn time(version: usize, place: &Place, options: &Options, work: Option<&(dyn Fn() + Sync)>) -> Waits {
    let mut client = connect(version, place);
    let step = (options.entries / NAMES).max(1);
    let names: Vec<_> = (0..options.entries).step_by(step).map(name).collect();
    // Each once before: here it is not the first look that is of interest.
    names.iter().for_each(|name| client.look_up(name.as_bytes()));
    let mut next = names.iter().cycle();
    let waits = time_each(work, || client.look_up(next.next().expect("a name").as_bytes()));
    client.finish();
    waits
}

/// Asks, one time after the other, while `work` runs.
pub fn time_each(work: Option<&(dyn Fn() + Sync)>, mut ask: impl FnMut()) -> Waits {
    let (is_over, start) = (AtomicBool::new(false), Instant::now());
    let mut waits_us = Vec::new();
    thread::scope(|scope| {
        if let Some(work) = work {
            scope.spawn(|| {
                work();
                is_over.store(true, Ordering::Relaxed);
            });
        }
        let goes_on = || match work {
            Some(_) => !is_over.load(Ordering::Relaxed),
            None => start.elapsed() < ALONE,
        };
        while goes_on() {
            let begun = Instant::now();
            ask();
            waits_us.push(begun.elapsed().as_secs_f64() * 1e6);
        }
    });
    let of = |percent| percentile(&waits_us, percent).expect("some requests");
    Waits { median_us: of(50.0), percentile_99_us: of(99.0), count: waits_us.len() }
}

//! A thousand cuts: whatever the moment at which connections are lost, everything is done once.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use netlab::{LinkOptions, Relay};

use crate::lane::Lane;
use crate::peer::Peer;
use crate::process::Place;
use crate::random::Random;

const CUTS: usize = 1000;
const LANES: u64 = 6;

#[test]
fn a_thousand_cuts_and_everything_is_done_once() {
    let place = Place::new();
    let process = place.start(false);
    // Long enough that a cut finds requests and replies on their way.
    let relay = Relay::start(process.address(), LinkOptions::round_trip_ms(1.0)).unwrap();
    let mut lanes: Vec<_> = (0..LANES)
        .map(|number| Lane::new(Peer::new(relay.address(), 1000 * number as u32), number))
        .collect();
    let (stop, steps) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        let workers: Vec<_> = lanes
            .iter_mut()
            .map(|lane| {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        lane.step();
                        steps.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        cut_often(&relay, || workers.iter().any(thread::ScopedJoinHandle::is_finished));
        stop.store(true, Ordering::Relaxed);
    });
    let retries: u64 = lanes.iter().map(Lane::retries).sum();
    assert!(retries >= CUTS as u64, "only {retries} calls were sent again");
    let expected: BTreeMap<_, _> = lanes.iter().flat_map(Lane::expected).collect();
    let found: BTreeMap<_, _> = place
        .names()
        .into_iter()
        .map(|name| {
            let text = fs::read_to_string(place.export().join(&name)).ok();
            (name, text)
        })
        .collect();
    assert_eq!(found, expected);
}

/// Cuts all connections a thousand times, each time after another number of bytes. Ends early when a worker
/// has failed.
fn cut_often(relay: &Relay, mut have_failed: impl FnMut() -> bool) {
    let mut random = Random(1);
    let mut cuts = 0;
    while cuts < CUTS && !have_failed() {
        let crossed = || {
            let stats = relay.stats();
            stats.bytes_to_target + stats.bytes_to_clients
        };
        let enough = crossed() + random.below(4000);
        while crossed() < enough && !have_failed() {
            thread::sleep(Duration::from_micros(50));
        }
        cuts += usize::from(relay.cut() > 0);
    }
}

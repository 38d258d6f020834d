//! The load loop: every connection has a thread that keeps a fixed number of requests in flight.

use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::Requests;

pub struct Load {
    pub connections: usize,
    pub in_flight: usize,
}

pub struct Outcome {
    replies: u64,
    seconds: f64,
}

impl Outcome {
    pub fn per_second(&self) -> f64 {
        self.replies as f64 / self.seconds
    }

    pub fn megabytes_per_second(&self, bytes_each: u32) -> f64 {
        self.per_second() * f64::from(bytes_each) / 1e6
    }
}

impl Load {
    /// Counts the replies of `duration`, after a short warm-up.
    pub fn run<R: Requests>(&self, duration: Duration, make: impl Fn() -> R) -> Outcome {
        let pipelines: Vec<_> = (0..self.connections).map(|_| make().pipeline()).collect();
        let (stop, replies) = (AtomicBool::new(false), AtomicU64::new(0));
        thread::scope(|scope| {
            for mut pipeline in pipelines {
                let (stop, replies, in_flight) = (&stop, &replies, self.in_flight);
                scope.spawn(move || pipeline.drive(in_flight, stop, replies));
            }
            thread::sleep(Duration::from_millis(300));
            let (before, start) = (replies.load(Ordering::Relaxed), Instant::now());
            thread::sleep(duration);
            let outcome = Outcome {
                replies: replies.load(Ordering::Relaxed) - before,
                seconds: start.elapsed().as_secs_f64(),
            };
            stop.store(true, Ordering::Relaxed);
            outcome
        })
    }
}

/// One connection under load.
pub struct Pipeline<R> {
    requests: R,
}

impl<R: Requests> Pipeline<R> {
    pub fn new(requests: R) -> Self {
        Self { requests }
    }

    fn drive(&mut self, in_flight: usize, stop: &AtomicBool, replies: &AtomicU64) {
        let mut stream = self.requests.connect();
        let mut out = Vec::new();
        (0..in_flight).for_each(|lane| self.requests.append(lane, &mut out));
        stream.write_all(&out).expect("first requests");
        let mut input = vec![0u8; INPUT_BYTES];
        let (mut filled, mut skip) = (0, 0);
        while !stop.load(Ordering::Relaxed) {
            let count = stream.read(&mut input[filled..]).expect("replies");
            assert!(count > 0, "the server closed the connection");
            filled += count;
            let mut at = skip.min(filled);
            skip -= at;
            out.clear();
            let mut done = 0;
            while let Some(length) = record_at(&input[at..filled]) {
                let lane = self.requests.lane_of(&input[at + 4..filled]);
                self.requests.append(lane, &mut out);
                // The data of a reply is dropped where it lies, as the plain stream's is.
                let here = (4 + length).min(filled - at);
                skip = 4 + length - here;
                at += here;
                done += 1;
            }
            if at > 0 {
                input.copy_within(at..filled, 0);
                filled -= at;
            }
            if done > 0 {
                replies.fetch_add(done, Ordering::Relaxed);
                stream.write_all(&out).expect("requests");
            }
        }
    }
}

/// As much as the plain stream reads at a time.
const INPUT_BYTES: usize = 1 << 20;
/// Bytes of a record, its mark included, that tell which request it answers and how that ended.
const HEAD_BYTES: usize = 32;

/// The length of the record that starts here, when it is complete or long and begun. The server sends one fragment a
/// record.
fn record_at(bytes: &[u8]) -> Option<usize> {
    let mark = u32::from_be_bytes(*bytes.first_chunk()?);
    let length = (mark & 0x7fff_ffff) as usize;
    (bytes.len() >= (4 + length).min(HEAD_BYTES)).then_some(length)
}

//! The load loop: every connection has a thread that keeps a fixed number of requests in flight.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::process::Process;
use crate::requests::Requests;

pub struct Load {
    pub connections: usize,
    pub in_flight: usize,
}

pub struct Outcome {
    replies: u64,
    seconds: f64,
    /// Of the server's processor, where it can be told.
    processor_seconds: Option<f64>,
}

impl Outcome {
    /// What a request takes of the server's processor, in microseconds.
    pub fn processor_us(&self) -> Option<f64> {
        self.processor_seconds.map(|seconds| seconds * 1e6 / self.replies.max(1) as f64)
    }

    pub fn per_second(&self) -> f64 {
        self.replies as f64 / self.seconds
    }
}

impl Load {
    /// Counts the replies of `duration`, after a short warm-up, and what they take of `server`.
    pub fn run<R: Requests>(
        &self,
        duration: Duration,
        server: Option<Process>,
        make: impl Fn() -> R,
    ) -> Outcome {
        let pipelines: Vec<_> = (0..self.connections).map(|_| Pipeline { requests: make() }).collect();
        let (stop, replies) = (AtomicBool::new(false), AtomicU64::new(0));
        let connected = Barrier::new(self.connections + 1);
        thread::scope(|scope| {
            for mut pipeline in pipelines {
                let (stop, replies, connected, in_flight) = (&stop, &replies, &connected, self.in_flight);
                scope.spawn(move || {
                    let stream = pipeline.requests.connect();
                    connected.wait();
                    pipeline.drive(stream, in_flight, (stop, replies));
                });
            }
            connected.wait();
            thread::sleep(Duration::from_millis(300));
            let processor_seconds = || server.map(Process::processor_seconds);
            let (before, start, used) =
                (replies.load(Ordering::Relaxed), Instant::now(), processor_seconds());
            thread::sleep(duration);
            let outcome = Outcome {
                processor_seconds: processor_seconds().zip(used).map(|(now, before)| now - before),
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
    pub requests: R,
}

impl<R: Requests> Pipeline<R> {
    /// Keeps so many requests in flight, or as many as the server gives, until `stop`; counts the `replies`.
    pub fn drive(
        &mut self,
        mut stream: TcpStream,
        in_flight: usize,
        (stop, replies): (&AtomicBool, &AtomicU64),
    ) {
        let in_flight = in_flight.min(self.requests.lanes_max());
        let mut out = Vec::new();
        (0..in_flight).for_each(|lane| self.requests.append(lane, &mut out));
        stream.write_all(&out).expect("first requests");
        let mut input = vec![0u8; INPUT_BYTES];
        let (mut filled, mut skip, mut under_way) = (0, 0, in_flight);
        let mut low_water = LowWater(1);
        // What is under way at the end is waited for: sessions are to end in order.
        while under_way > 0 || filled > 0 || skip > 0 {
            low_water.set(&stream, skip);
            let count = match stream.read(&mut input[filled..]) {
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    eprintln!("{}: {under_way} requests are not answered", self.requests.server());
                    return;
                }
                Err(error) => panic!("{}: {error}", self.requests.server()),
            };
            assert!(count > 0, "the server closed the connection");
            filled += count;
            let mut at = skip.min(filled);
            skip -= at;
            out.clear();
            let mut done = 0;
            let goes_on = !stop.load(Ordering::Relaxed);
            while let Some(length) = record_at(&input[at..filled]) {
                assert!(length >= self.requests.reply_bytes_min(), "a reply of {length} bytes");
                let lane = self.requests.lane_of(&input[at + 4..filled]);
                if goes_on {
                    self.requests.append(lane, &mut out);
                } else {
                    under_way -= 1;
                }
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
        low_water.set(&stream, 0);
        self.requests.finish(stream);
    }
}

/// How much a read waits for: of the data of a large reply as much as is worth it. Who reads each piece as it
/// comes contends with the sender for the socket, and would itself be what is measured.
struct LowWater(usize);

impl LowWater {
    fn set(&mut self, stream: &TcpStream, missing: usize) {
        let wanted = if missing < LOW_WATER_BYTES / 4 { 1 } else { missing.min(LOW_WATER_BYTES) };
        if self.0 != wanted {
            rpc_net::set_receive_low_water(stream, wanted).expect("low water");
            self.0 = wanted;
        }
    }
}

/// The most that a read waits for, in bytes.
pub const LOW_WATER_BYTES: usize = 512 << 10;
/// As much as the plain stream reads at a time.
const INPUT_BYTES: usize = 1 << 20;
/// Bytes of a record, its mark included, that tell which request it answers and how that ended.
const HEAD_BYTES: usize = 32;

/// The length of the record that starts here, when it is complete or long and begun. The server sends one
/// fragment a record.
pub fn record_at(bytes: &[u8]) -> Option<usize> {
    let mark = u32::from_be_bytes(*bytes.first_chunk()?);
    let length = (mark & 0x7fff_ffff) as usize;
    (bytes.len() >= (4 + length).min(HEAD_BYTES)).then_some(length)
}

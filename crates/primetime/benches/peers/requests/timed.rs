//! Requests whose time is taken.

use std::cell::RefCell;
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::Requests;

/// From request to reply, of all connections of a load.
#[derive(Clone, Default)]
pub struct Times(Arc<Mutex<Vec<Duration>>>);

impl Times {
    pub fn percentiles_us<const N: usize>(&self, shares: [f64; N]) -> [f64; N] {
        let mut times = self.0.lock().unwrap();
        times.sort_unstable();
        shares.map(|share| times[(times.len() as f64 * share) as usize].as_secs_f64() * 1e6)
    }
}

/// Notes how long the requests of one connection take.
pub struct Timed<R> {
    requests: R,
    /// Of each lane.
    asked: Vec<Instant>,
    took: RefCell<Vec<Duration>>,
    times: Times,
}

impl<R: Requests> Timed<R> {
    pub fn new(requests: R, times: &Times) -> Self {
        Self { requests, asked: Vec::new(), took: RefCell::default(), times: times.clone() }
    }
}

impl<R: Requests> Requests for Timed<R> {
    fn server(&self) -> &'static str {
        self.requests.server()
    }

    fn connect(&mut self) -> TcpStream {
        let stream = self.requests.connect();
        self.asked = vec![Instant::now(); self.requests.lanes_max()];
        stream
    }

    fn lanes_max(&self) -> usize {
        self.requests.lanes_max()
    }

    fn append(&mut self, lane: usize, to: &mut Vec<u8>) {
        self.requests.append(lane, to);
        self.asked[lane] = Instant::now();
    }

    fn lane_of(&self, reply_start: &[u8]) -> usize {
        let lane = self.requests.lane_of(reply_start);
        self.took.borrow_mut().push(self.asked[lane].elapsed());
        lane
    }

    fn reply_bytes_min(&self) -> usize {
        self.requests.reply_bytes_min()
    }

    fn finish(&mut self, stream: TcpStream) {
        self.times.0.lock().unwrap().append(self.took.get_mut());
        self.requests.finish(stream);
    }
}

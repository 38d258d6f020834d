//! What each thread of a run has done so far, for who looks on while it works.
//!
//! Owns counters that one thread writes and anybody reads. Nobody waits for anybody, each meter has cache
//! lines of its own, and threads have them only where somebody looks on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Four for each doubling, up to the longest time that is counted (an hour).
const TIMES: usize = 128;

/// What one thread does.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Meter {
    /// Microseconds from the origin of all meters to the thread's start; zero before it.
    began_us: AtomicU64,
    /// From there to its last completion.
    worked_us: AtomicU64,
    operations: AtomicU64,
    bytes: AtomicU64,
    /// Sum of the times of all calls.
    call_us: AtomicU64,
    /// How many calls took how long.
    calls: [AtomicU32; TIMES],
}

impl Meter {
    fn new() -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            began_us: zero(),
            worked_us: zero(),
            operations: zero(),
            bytes: zero(),
            call_us: zero(),
            calls: std::array::from_fn(|_| AtomicU32::new(0)),
        }
    }

    /// One call that took `call_us` microseconds is complete, `worked` after the thread's start.
    pub(super) fn complete(&self, call_us: u64, worked: Duration, bytes: u64) {
        self.worked_us.store(micros(worked), Relaxed);
        add(&self.operations, 1);
        add(&self.bytes, bytes);
        add(&self.call_us, call_us);
        let calls = &self.calls[slot(call_us)];
        calls.store(calls.load(Relaxed).saturating_add(1), Relaxed);
    }

    /// A call did so many operations more than the one that [`Meter::complete`] counts.
    pub(super) fn add_operations(&self, more: u64) {
        add(&self.operations, more);
    }
}

/// Adds where nobody else does, which costs less than where others may.
fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(more), Relaxed);
}

/// The meters of all threads of a run.
#[derive(Debug)]
pub(crate) struct Meters {
    origin: Instant,
    clients: Vec<OfClient>,
}

#[derive(Debug)]
struct OfClient {
    meters: Vec<Arc<Meter>>,
    taken: AtomicUsize,
}

impl Meters {
    /// For `clients` clients of at most `threads` threads at the same time; times count from `origin`.
    pub(crate) fn new(clients: u32, threads: u32, origin: Instant) -> Self {
        let of_client = |_| OfClient {
            meters: (0..threads.max(1)).map(|_| Arc::new(Meter::new())).collect(),
            taken: AtomicUsize::new(0),
        };
        Self { origin, clients: (0..clients).map(of_client).collect() }
    }

    /// The meter of a thread of `client` that begins at `start`. The threads of a later part have those of an
    /// earlier one again.
    pub(super) fn take(&self, client: u32, start: Instant) -> Option<Arc<Meter>> {
        let OfClient { meters, taken } = self.clients.get(client as usize)?;
        let meter = meters[taken.fetch_add(1, Relaxed) % meters.len()].clone();
        let began_us = micros(start.saturating_duration_since(self.origin)).max(1);
        meter.began_us.store(began_us, Relaxed);
        meter.worked_us.store(0, Relaxed);
        Some(meter)
    }

    /// What all of them show now.
    pub(crate) fn read(&self) -> Reading {
        let mut reading = Reading::default();
        for OfClient { meters, .. } in &self.clients {
            let mut operations = 0;
            for meter in meters {
                operations += meter.operations.load(Relaxed);
                reading.bytes += meter.bytes.load(Relaxed);
                reading.add_times(meter);
            }
            reading.clients.push(operations);
        }
        reading
    }
}

/// What the meters showed at one moment. Threads do not stand still for it: it is about right, and right when
/// all have finished.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Reading {
    /// From the origin of the meters to the first start of the threads; none before that.
    pub(crate) began: Option<Duration>,
    /// From there to the last completion.
    pub(crate) until: Duration,
    /// Operations of each client.
    pub(crate) clients: Vec<u64>,
    /// Bytes of all.
    pub(crate) bytes: u64,
    /// Sum of the times of all calls, in microseconds.
    pub(crate) call_us: u64,
    /// How many calls took how long.
    pub(crate) calls: Vec<u64>,
}

impl Reading {
    fn add_times(&mut self, meter: &Meter) {
        let began_us = meter.began_us.load(Relaxed);
        if began_us == 0 {
            return;
        }
        let began = Duration::from_micros(began_us);
        self.began = Some(self.began.map_or(began, |first| first.min(began)));
        self.until = self.until.max(began + Duration::from_micros(meter.worked_us.load(Relaxed)));
        self.call_us += meter.call_us.load(Relaxed);
        self.calls.resize(TIMES, 0);
        for (sum, calls) in self.calls.iter_mut().zip(&meter.calls) {
            *sum += u64::from(calls.load(Relaxed));
        }
    }

    /// Nothing done by the same clients, at the first start of the threads.
    pub(crate) fn at_start(&self) -> Self {
        Self { began: self.began, clients: vec![0; self.clients.len()], ..Self::default() }
    }

    /// Operations of all clients.
    pub(crate) fn operations(&self) -> u64 {
        self.clients.iter().sum()
    }

    /// The mean time of the calls since `earlier`, in milliseconds; none without any.
    pub(crate) fn mean_ms(&self, earlier: &Self) -> Option<f64> {
        let calls: u64 = self.calls_since(earlier).sum();
        let call_us = self.call_us.saturating_sub(earlier.call_us);
        (calls > 0).then(|| call_us as f64 / calls as f64 / 1000.0)
    }

    /// The time within which `share` of the calls since `earlier` were complete, in milliseconds, up to a
    /// quarter too long; none without calls.
    pub(crate) fn percentile_ms(&self, earlier: &Self, share: f64) -> Option<f64> {
        let calls: u64 = self.calls_since(earlier).sum();
        let wanted = (calls as f64 * share).ceil() as u64;
        let mut seen = 0;
        let within = self.calls_since(earlier).position(|calls| {
            seen += calls;
            seen >= wanted
        })?;
        (calls > 0).then(|| slot_end_us(within) as f64 / 1000.0)
    }

    fn calls_since<'a>(&'a self, earlier: &'a Self) -> impl Iterator<Item = u64> + 'a {
        let before = earlier.calls.iter().copied().chain(std::iter::repeat(0));
        self.calls.iter().zip(before).map(|(now, before)| now.saturating_sub(before))
    }
}

fn micros(time: Duration) -> u64 {
    time.as_secs().saturating_mul(1_000_000).saturating_add(u64::from(time.subsec_micros()))
}

/// Where a call of `call_us` microseconds counts: the power of two and the two binary digits after the first.
fn slot(call_us: u64) -> usize {
    if call_us < 4 {
        return call_us as usize;
    }
    let power = call_us.ilog2() as usize;
    let digits = (call_us >> (power - 2)) as usize & 3;
    ((power - 1) * 4 + digits).min(TIMES - 1)
}

/// The longest time that counts there, in microseconds.
fn slot_end_us(slot: usize) -> u64 {
    let next = slot + 1;
    if next < 4 {
        return slot as u64;
    }
    ((4 + next as u64 % 4) << (next / 4 - 1)) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_has_its_slot_and_none_is_wider_than_a_quarter() {
        for call_us in (0..5000).chain([1 << 20, 3_600_000_000]) {
            let (slot, end) = (slot(call_us), slot_end_us(slot(call_us)));
            assert!(slot < TIMES && end >= call_us, "{call_us}: {slot} ends at {end}");
            assert!(end as f64 <= (call_us as f64 * 1.25).max(4.0), "{call_us}: {slot} ends at {end}");
            assert!(slot == 0 || slot_end_us(slot - 1) < call_us, "{call_us} is in {slot} and below");
        }
        assert_eq!(slot(u64::MAX), TIMES - 1);
    }

    #[test]
    fn meter_sums_threads_by_client() {
        let origin = Instant::now();
        let meters = Meters::new(2, 2, origin);
        assert_eq!(meters.read().began, None);
        let at = |ms| origin + Duration::from_millis(ms);
        let threads = [(0, 10), (0, 20), (1, 30)].map(|(client, ms)| meters.take(client, at(ms)).unwrap());
        let before = meters.read();
        for thread in &threads {
            for _ in 0..10 {
                thread.complete(1000, Duration::from_millis(5), 100);
            }
        }
        threads[2].add_operations(7);
        threads[2].complete(9000, Duration::from_millis(9), 0);
        let reading = meters.read();
        assert_eq!((&reading.clients[..], reading.operations(), reading.bytes), (&[20, 18][..], 38, 3000));
        assert_eq!(reading.began, Some(Duration::from_millis(10)));
        assert_eq!(reading.until, Duration::from_millis(39));
        assert!((reading.mean_ms(&before).unwrap() - 39.0 / 31.0).abs() < 1e-9);
        let median = reading.percentile_ms(&before, 0.5).unwrap();
        let longest = reading.percentile_ms(&before, 1.0).unwrap();
        assert!((1.0..1.25).contains(&median) && (9.0..11.25).contains(&longest), "{median} {longest}");
        assert_eq!((reading.mean_ms(&reading), reading.percentile_ms(&reading, 0.95)), (None, None));
    }

    #[test]
    fn threads_of_a_later_part_go_on_where_those_of_an_earlier_one_stopped() {
        let origin = Instant::now();
        let meters = Meters::new(1, 3, origin);
        for threads in [2, 3, 1] {
            let taken: Vec<_> = (0..threads).map(|_| meters.take(0, origin).unwrap()).collect();
            for (index, meter) in taken.iter().enumerate() {
                assert!(taken[..index].iter().all(|other| !Arc::ptr_eq(other, meter)), "one for two threads");
                meter.complete(1, Duration::ZERO, 1);
            }
        }
        assert_eq!(meters.read().operations(), 6);
        assert!(meters.take(1, origin).is_none());
    }
}

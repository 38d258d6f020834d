//! How far one thread was at what time.
//!
//! Owns counting over time in bounded memory. Between two marks the thread is taken to work evenly, so an
//! operation that crosses the edge of a window counts with the share of it that lies inside. Without that, a
//! short run of long operations would be wrong by up to one operation for each thread.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::meter::Meter;

/// Marks that are kept; when there are more, every second one is dropped.
const MARKS_MAX: usize = 4096;

/// Longer operations count as this, in microseconds: an hour.
const LATENCY_MAX_MICROS: u64 = 3_600_000_000;

/// Work done up to some moment.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Work {
    /// Operations of the application.
    pub(crate) operations: f64,
    /// Bytes that it read or wrote.
    pub(crate) bytes: f64,
}

#[derive(Debug, Clone, Copy)]
struct Mark {
    after: Duration,
    operations: u64,
    bytes: u64,
}

/// The operations of one thread over time.
#[derive(Debug, Clone)]
pub(crate) struct Curve {
    start: Instant,
    marks: Vec<Mark>,
    last: Mark,
    /// Completions for each mark.
    stride: u64,
    latency: Histogram<u32>,
    bytes_read: u64,
    meter: Option<Arc<Meter>>,
}

impl Curve {
    /// A thread that begins at `start`.
    pub(crate) fn new(start: Instant) -> Self {
        let zero = Mark { after: Duration::ZERO, operations: 0, bytes: 0 };
        Self {
            start,
            marks: vec![zero],
            last: zero,
            stride: 1,
            latency: empty_histogram(),
            bytes_read: 0,
            meter: None,
        }
    }

    /// The same, whose work is shown by `meter` at once.
    pub(super) fn told_to(self, meter: Option<Arc<Meter>>) -> Self {
        Self { meter, ..self }
    }

    /// One operation over `bytes` bytes is complete at `now`; it began when the one before it was.
    pub(crate) fn complete(&mut self, now: Instant, bytes: u64) {
        self.complete_since(self.stop(), now, bytes);
    }

    /// So many of the bytes of the operations were read.
    pub(crate) fn read(&mut self, bytes: u64) {
        self.bytes_read += bytes;
    }

    /// Bytes read in all.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// The thread did something until `now` that is no operation.
    pub(crate) fn busy_until(&mut self, now: Instant) {
        self.last.after = now.saturating_duration_since(self.start);
    }

    /// As [`Curve::complete`] for an operation that `began` later.
    pub(crate) fn complete_since(&mut self, began: Instant, now: Instant, bytes: u64) {
        let micros = u64::try_from(now.saturating_duration_since(began).as_micros()).unwrap_or(u64::MAX);
        self.latency.record(micros.clamp(1, LATENCY_MAX_MICROS)).expect("the histogram grows to its bound");
        self.last = Mark {
            after: now.saturating_duration_since(self.start),
            operations: self.last.operations + 1,
            bytes: self.last.bytes + bytes,
        };
        if let Some(meter) = &self.meter {
            meter.complete(micros, self.last.after, bytes);
        }
        if self.last.operations.is_multiple_of(self.stride) {
            self.marks.push(self.last);
            if self.marks.len() > MARKS_MAX {
                self.stride *= 2;
                let stride = self.stride;
                self.marks.retain(|mark| mark.operations.is_multiple_of(stride));
            }
        }
    }

    /// One call did `operations` operations, and is complete at `now`. What each of them took is not known,
    /// so the time of the call counts once.
    pub(crate) fn complete_together(&mut self, now: Instant, operations: u64) {
        let Some(others) = operations.checked_sub(1) else { return };
        self.last.operations += others;
        if let Some(meter) = &self.meter {
            meter.add_operations(others);
        }
        self.complete(now, 0);
        if self.marks.last().is_none_or(|mark| mark.operations != self.last.operations) {
            self.marks.push(self.last);
        }
    }

    /// When the thread began.
    pub(crate) fn start(&self) -> Instant {
        self.start
    }

    /// How long its operations took, in microseconds.
    pub(crate) fn latency(&self) -> &Histogram<u32> {
        &self.latency
    }

    /// When it had done all of its work; its start when it did nothing.
    pub(crate) fn stop(&self) -> Instant {
        self.start + self.last.after
    }

    /// Operations in all.
    pub(crate) fn operations(&self) -> u64 {
        self.last.operations
    }

    /// Bytes in all.
    pub(crate) fn bytes(&self) -> u64 {
        self.last.bytes
    }

    /// The work done between two moments.
    pub(crate) fn between(&self, from: Instant, to: Instant) -> Work {
        let (before, after) = (self.at(from), self.at(to));
        Work {
            operations: (after.operations - before.operations).max(0.0),
            bytes: (after.bytes - before.bytes).max(0.0),
        }
    }

    fn at(&self, moment: Instant) -> Work {
        let after = moment.saturating_duration_since(self.start);
        if after >= self.last.after {
            return Work { operations: self.last.operations as f64, bytes: self.last.bytes as f64 };
        }
        let next = self.marks.partition_point(|mark| mark.after <= after);
        // The first mark is at zero, so one is always before.
        let left = self.marks[next - 1];
        let right = self.marks.get(next).copied().unwrap_or(self.last);
        let share = (after - left.after).as_secs_f64()
            / (right.after - left.after).as_secs_f64().max(f64::MIN_POSITIVE);
        let between = |left: u64, right: u64| left as f64 + (right - left) as f64 * share;
        Work {
            operations: between(left.operations, right.operations),
            bytes: between(left.bytes, right.bytes),
        }
    }
}

/// A curve on its way from another machine; times are nanoseconds of that machine's clock.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Recorded {
    start_ns: u64,
    /// Nanoseconds after the start, operations and bytes by then.
    marks: Vec<(u64, u64, u64)>,
    last: (u64, u64, u64),
    /// Microseconds, and how many operations took them.
    latency: Vec<(u64, u32)>,
    bytes_read: u64,
}

impl Mark {
    fn recorded(self) -> (u64, u64, u64) {
        (u64::try_from(self.after.as_nanos()).unwrap_or(u64::MAX), self.operations, self.bytes)
    }

    fn of((after_ns, operations, bytes): (u64, u64, u64)) -> Self {
        Self { after: Duration::from_nanos(after_ns), operations, bytes }
    }
}

impl Curve {
    /// With about as many marks, by a clock that stood at zero at `origin`.
    pub(crate) fn recorded(&self, origin: Instant, marks_max: usize) -> Recorded {
        let start = self.start.saturating_duration_since(origin);
        let step = self.marks.len().div_ceil(marks_max.max(2)).max(1);
        Recorded {
            start_ns: u64::try_from(start.as_nanos()).unwrap_or(u64::MAX),
            marks: self.marks.iter().step_by(step).map(|mark| mark.recorded()).collect(),
            last: self.last.recorded(),
            latency: self
                .latency
                .iter_recorded()
                .map(|it| (it.value_iterated_to(), it.count_at_value()))
                .collect(),
            bytes_read: self.bytes_read,
        }
    }
}

impl Recorded {
    /// The curve, with times of our own clock.
    pub(crate) fn into_curve(self, here: impl FnOnce(u64) -> Instant) -> Curve {
        let mut curve = Curve::new(here(self.start_ns));
        // The first one is at zero.
        curve.marks.extend(self.marks.into_iter().skip(1).map(Mark::of));
        curve.last = Mark::of(self.last);
        for (micros, count) in self.latency {
            let micros = micros.clamp(1, LATENCY_MAX_MICROS);
            curve.latency.record_n(micros, count).expect("the histogram grows to its bound");
        }
        curve.bytes_read = self.bytes_read;
        curve
    }
}

/// A histogram of times in microseconds with three significant digits. It grows with the longest time:
/// thousands of threads have one each.
pub(crate) fn empty_histogram() -> Histogram<u32> {
    Histogram::new(3).expect("three digits are valid")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(ends_ms: &[u64]) -> (Instant, Curve) {
        let start = Instant::now();
        let mut curve = Curve::new(start);
        for end in ends_ms {
            curve.complete(start + Duration::from_millis(*end), 100);
        }
        (start, curve)
    }

    #[test]
    fn an_operation_across_the_edge_counts_with_its_share() {
        let (start, curve) = curve(&[10, 20, 40]);
        let work = curve.between(start + Duration::from_millis(5), start + Duration::from_millis(30));
        assert!((work.operations - 2.0).abs() < 1e-9 && (work.bytes - 200.0).abs() < 1e-6, "{work:?}");
    }

    #[test]
    fn all_of_it_is_counted_once() {
        let (start, curve) = curve(&[10, 20, 40]);
        let work = curve.between(start, start + Duration::from_secs(9));
        assert_eq!((work.operations, work.bytes), (3.0, 300.0));
        assert_eq!((curve.operations(), curve.bytes()), (3, 300));
        assert_eq!(curve.stop(), start + Duration::from_millis(40));
    }

    #[test]
    fn call_counts_once_and_takes_its_time_once() {
        let (start, mut curve) = curve(&[10]);
        curve.complete_together(start + Duration::from_millis(50), 40);
        curve.complete_together(start + Duration::from_millis(60), 0);
        assert_eq!((curve.operations(), curve.latency().len()), (41, 2));
        assert_eq!(curve.stop(), start + Duration::from_millis(50));
        let work = curve.between(start + Duration::from_millis(30), start + Duration::from_millis(50));
        assert!((work.operations - 20.0).abs() < 1e-9, "{work:?}");
    }

    #[test]
    fn a_thread_with_short_operations_needs_little_memory() {
        let (start, mut curve) = curve(&[5, 100]);
        assert!(curve.latency().distinct_values() <= 10 * 1024, "{}", curve.latency().distinct_values());
        curve.complete(start + Duration::from_secs(1 << 20), 1);
        assert_eq!(curve.latency().len(), 3, "what is far too long counts as an hour");
        assert!(curve.latency().max() < LATENCY_MAX_MICROS + LATENCY_MAX_MICROS / 1000);
    }

    #[test]
    fn a_curve_from_elsewhere_is_what_it_was_there() {
        let ends: Vec<u64> = (1..=2_000).collect();
        let (start, mut curve) = curve(&ends);
        curve.read(77);
        let origin = start.checked_sub(Duration::from_secs(5)).unwrap();
        let recorded = curve.recorded(origin, 100);
        assert!(recorded.marks.len() <= 101 && recorded.start_ns == 5_000_000_000);
        let here = start + Duration::from_secs(60);
        let back = recorded.into_curve(|_| here);
        assert_eq!((back.operations(), back.bytes(), back.bytes_read()), (2_000, 200_000, 77));
        assert_eq!((back.start(), back.stop()), (here, here + Duration::from_secs(2)));
        assert_eq!((back.latency().len(), back.latency().max()), (2_000, curve.latency().max()));
        let work = back.between(here + Duration::from_millis(505), here + Duration::from_millis(1505));
        assert!((work.operations - 1_000.0).abs() < 1e-6, "{work:?}");
    }

    #[test]
    fn a_thread_that_completed_nothing_did_nothing() {
        let (start, curve) = curve(&[]);
        assert_eq!(curve.between(start, start + Duration::from_secs(1)), Work::default());
        assert_eq!(curve.stop(), start);
    }

    #[test]
    fn many_operations_keep_few_marks_and_the_right_count() {
        let ends: Vec<u64> = (1..=20_000).collect();
        let (start, curve) = curve(&ends);
        assert!(curve.marks.len() <= MARKS_MAX);
        let work = curve.between(start + Duration::from_secs(5), start + Duration::from_secs(15));
        assert!((work.operations - 10_000.0).abs() < 1e-6, "{work:?}");
    }
}

//! From what the threads did to the numbers of a run: the window in which all worked, and what was done in
//! it.
//!
//! Owns pure functions over curves.

use std::time::{Duration, Instant};

use super::Error;
use crate::results::{Histogram, Latency, Timeline};
use crate::statistics::jain_index;
use crate::workload::{Curve, empty_histogram};

/// A start skew above this share of the window is a doubt.
const SKEW_SHARE_MAX: f64 = 0.01;

/// A timeline has a slice for each second, within these bounds.
const SLICES_MIN: u32 = 20;
const SLICES_MAX: u32 = 600;

/// What a metric counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quantity {
    /// Operations of the application for each second.
    Operations,
    /// 10⁶ bytes of the application for each second.
    Megabytes,
    /// The mean time of an operation, in milliseconds.
    MeanMilliseconds,
    /// The time for all of the work, in seconds.
    Seconds,
}

impl Quantity {
    /// What `unit` stands for.
    pub(crate) fn of_unit(experiment: &str, unit: &str) -> Result<Self, Error> {
        match unit {
            "op/s" => Ok(Self::Operations),
            "MB/s" => Ok(Self::Megabytes),
            "ms" => Ok(Self::MeanMilliseconds),
            "s" => Ok(Self::Seconds),
            _ => Err(Error::Unit { experiment: experiment.to_owned(), unit: unit.to_owned() }),
        }
    }
}

/// Which rates over time are recorded.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Recording<'a> {
    /// None.
    Nothing,
    /// Of all clients together, where the metric is a rate.
    Together,
    /// Of each client too, and what all clients read from the server, where `fetched` tells.
    Clients {
        /// Bytes over time.
        fetched: Option<&'a Curve>,
    },
}

/// The numbers of one run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) value: f64,
    pub(crate) seconds: f64,
    pub(crate) operations: u64,
    pub(crate) application_bytes: u64,
    pub(crate) application_read_bytes: u64,
    pub(crate) latency_ms: Option<Latency>,
    pub(crate) latency_histogram: Histogram,
    pub(crate) timeline: Option<Timeline>,
    pub(crate) start_skew_ms: f64,
    pub(crate) client_values: Vec<f64>,
    pub(crate) fairness: Option<f64>,
    pub(crate) doubts: Vec<String>,
}

/// Sums up the curves of all threads of all clients. Threads that found nothing to do are left out; none when
/// nobody completed anything.
///
/// The value is that of the window from the last start to the first stop; operations and bytes are all that
/// were completed, because they are set against the requests of the whole run.
///
/// `stagger` is how much later than the one before it each client was meant to start.
pub(crate) fn outcome(
    clients: &[Vec<Curve>],
    quantity: Quantity,
    stagger: Duration,
    recording: Recording<'_>,
) -> Option<Outcome> {
    let clients: Vec<&Vec<Curve>> = clients.iter().filter(|curves| !curves.is_empty()).collect();
    let working = || clients.iter().flat_map(|curves| *curves).filter(|curve| curve.operations() > 0);
    let mut doubts = Vec::new();
    let mut from = working().map(Curve::start).max()?;
    let mut to = working().map(Curve::stop).min()?;
    if from >= to {
        // Little work may be done by one before the other has begun.
        (from, to) = (working().map(Curve::start).min()?, working().map(Curve::stop).max()?);
        doubts.push(
            "The threads did not work at the same time; the rate is that of the whole time.".to_owned(),
        );
    }
    let window = to.saturating_duration_since(from);
    if window.is_zero() {
        return None;
    }
    let client_values: Vec<f64> =
        clients.iter().map(|curves| rate(curves, from, to, window, quantity)).collect();
    let skew = start_skew(&clients, stagger);
    if skew.as_secs_f64() > window.as_secs_f64() * SKEW_SHARE_MAX {
        doubts
            .push("The clients did not start together: the skew is more than 1 % of the window.".to_owned());
    }
    if client_values.contains(&0.0) {
        doubts.push("A client completed nothing while the others worked.".to_owned());
    }
    let mut latency = empty_histogram();
    for curve in working() {
        latency.add(curve.latency()).expect("a histogram grows to what is added");
    }
    let value = match quantity {
        Quantity::Operations | Quantity::Megabytes => client_values.iter().sum(),
        Quantity::MeanMilliseconds => latency.mean() / 1000.0,
        Quantity::Seconds => all_of_it(&clients).as_secs_f64(),
    };
    Some(Outcome {
        value,
        seconds: window.as_secs_f64(),
        operations: working().map(Curve::operations).sum(),
        application_bytes: working().map(Curve::bytes).sum(),
        application_read_bytes: working().map(Curve::bytes_read).sum(),
        latency_ms: Latency::of(&latency),
        latency_histogram: Histogram::of(&latency),
        timeline: recorded(&clients, quantity, recording),
        start_skew_ms: skew.as_secs_f64() * 1000.0,
        fairness: jain_index(&client_values),
        client_values,
        doubts,
    })
}

fn rate(curves: &[Curve], from: Instant, to: Instant, window: Duration, quantity: Quantity) -> f64 {
    let done: f64 = curves
        .iter()
        .map(|curve| {
            let work = curve.between(from, to);
            match quantity {
                Quantity::Megabytes => work.bytes / 1e6,
                _ => work.operations,
            }
        })
        .sum();
    done / window.as_secs_f64()
}

/// The timeline that is kept of a run.
fn recorded(clients: &[&Vec<Curve>], quantity: Quantity, recording: Recording<'_>) -> Option<Timeline> {
    match recording {
        Recording::Nothing => None,
        Recording::Together => {
            let is_rate = matches!(quantity, Quantity::Operations | Quantity::Megabytes);
            is_rate.then(|| Timeline { clients: Vec::new(), ..timeline(clients, quantity) })
        }
        Recording::Clients { fetched } => {
            let timeline = timeline(clients, quantity);
            let client_reads =
                fetched.and_then(|fetched| client_reads(clients, fetched, &timeline, quantity));
            Some(Timeline { client_reads: client_reads.unwrap_or_default(), ..timeline })
        }
    }
}

/// The clients' reads from the server in each slice of `timeline`, in its unit: an operation is as many
/// bytes as the applications read with one on average. None where they read nothing, or the metric is no
/// rate.
fn client_reads(
    clients: &[&Vec<Curve>],
    fetched: &Curve,
    timeline: &Timeline,
    quantity: Quantity,
) -> Option<Vec<f64>> {
    let curves = || clients.iter().flat_map(|curves| *curves);
    let read: u64 = curves().map(Curve::bytes_read).sum();
    let operations: u64 = curves().map(Curve::operations).sum();
    let unit_bytes = match quantity {
        Quantity::Megabytes => 1e6,
        Quantity::Operations if operations > 0 => read as f64 / operations as f64,
        _ => return None,
    };
    if read == 0 || fetched.bytes() == 0 {
        return None;
    }
    let first = curves().map(Curve::start).min()?;
    let slice = Duration::try_from_secs_f64(timeline.slice_seconds).ok()?;
    let slices = u32::try_from(timeline.values.len()).ok()?;
    // The counters are looked at a moment before the first thread starts and after the last one stops.
    let edge = |nth: u32| match nth {
        0 => first.min(fetched.start()),
        nth if nth == slices => (first + slice * nth).max(fetched.stop()),
        nth => first + slice * nth,
    };
    let bytes = |nth: u32| fetched.between(edge(nth), edge(nth + 1)).bytes;
    Some((0..slices).map(|nth| bytes(nth) / unit_bytes / timeline.slice_seconds).collect())
}

/// The rates over the whole time, from the first start to the last stop.
fn timeline(clients: &[&Vec<Curve>], quantity: Quantity) -> Timeline {
    let time = all_of_it(clients);
    let Some(first) = clients.iter().flat_map(|curves| *curves).map(Curve::start).min() else {
        return Timeline::default();
    };
    let slices = (time.as_secs_f64() as u32).clamp(SLICES_MIN, SLICES_MAX);
    let slice = time / slices;
    let of_client = |curves: &Vec<Curve>| -> Vec<f64> {
        (0..slices)
            .map(|nth| rate(curves, first + slice * nth, first + slice * (nth + 1), slice, quantity))
            .collect()
    };
    let by_client: Vec<Vec<f64>> = clients.iter().map(|curves| of_client(curves)).collect();
    let all = |nth: usize| by_client.iter().filter_map(|values| values.get(nth)).sum();
    Timeline {
        slice_seconds: slice.as_secs_f64(),
        values: (0..slices as usize).map(all).collect(),
        clients: by_client,
        client_reads: Vec::new(),
    }
}

/// From the first start to the last stop.
fn all_of_it(clients: &[&Vec<Curve>]) -> Duration {
    let curves = || clients.iter().flat_map(|curves| *curves);
    match (curves().map(Curve::start).min(), curves().map(Curve::stop).max()) {
        (Some(first), Some(last)) => last.saturating_duration_since(first),
        _ => Duration::ZERO,
    }
}

/// From the first to the last client's start, a client's start being that of its first thread, and what it
/// was meant to be later taken off.
fn start_skew(clients: &[&Vec<Curve>], stagger: Duration) -> Duration {
    let starts = || {
        let first = clients.iter().filter_map(|curves| curves.iter().map(Curve::start).min());
        let meant = (0..).map(|client| stagger * client);
        first.zip(meant).filter_map(|(start, meant)| start.checked_sub(meant))
    };
    match (starts().min(), starts().max()) {
        (Some(first), Some(last)) => last.saturating_duration_since(first),
        _ => Duration::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread that starts `start` ms after `origin` and completes an operation of 1 MB every `each` ms,
    /// `count` times.
    fn curve(origin: Instant, start: u64, each: u64, count: u64) -> Curve {
        let at = |ms| origin + Duration::from_millis(ms);
        let mut curve = Curve::new(at(start));
        for done in 1..=count {
            curve.complete(at(start + each * done), 1_000_000);
        }
        curve
    }

    #[test]
    fn the_window_is_where_all_clients_work() {
        let origin = Instant::now();
        let clients = [vec![curve(origin, 0, 10, 100)], vec![curve(origin, 100, 10, 50)]];
        let outcome = outcome(&clients, Quantity::Operations, Duration::ZERO, Recording::Nothing).unwrap();
        assert!((outcome.seconds - 0.5).abs() < 1e-9);
        assert!((outcome.value - 200.0).abs() < 1e-6, "{outcome:?}");
        assert_eq!((outcome.operations, outcome.application_bytes), (150, 150_000_000));
        assert!((outcome.start_skew_ms - 100.0).abs() < 1e-6);
        assert_eq!(outcome.doubts.len(), 1, "a skew of a fifth of the window is a doubt");
    }

    #[test]
    fn a_slow_client_shows_in_values_and_fairness() {
        let origin = Instant::now();
        let clients = [vec![curve(origin, 0, 10, 100)], vec![curve(origin, 0, 100, 10)]];
        let outcome = outcome(&clients, Quantity::Megabytes, Duration::ZERO, Recording::Nothing).unwrap();
        assert!((outcome.client_values[0] - 100.0).abs() < 1e-6, "{outcome:?}");
        assert!((outcome.client_values[1] - 10.0).abs() < 1e-6, "{outcome:?}");
        assert!(outcome.fairness.unwrap() < 0.7);
        assert_eq!(outcome.doubts, Vec::<String>::new());
    }

    #[test]
    fn threads_in_step_are_not_rounded_to_whole_operations() {
        let origin = Instant::now();
        let clients = [vec![curve(origin, 0, 60, 3), curve(origin, 0, 70, 3)]];
        let outcome = outcome(&clients, Quantity::Operations, Duration::ZERO, Recording::Nothing).unwrap();
        assert!((outcome.value - (1000.0 / 60.0 + 1000.0 / 70.0)).abs() < 1e-6, "{outcome:?}");
    }

    #[test]
    fn idle_threads_do_not_end_the_window_and_nothing_done_is_no_outcome() {
        let origin = Instant::now();
        let clients = [vec![curve(origin, 0, 10, 10), curve(origin, 0, 1, 0)]];
        assert_eq!(
            outcome(&clients, Quantity::Operations, Duration::ZERO, Recording::Nothing).unwrap().operations,
            10
        );
        assert_eq!(
            outcome(
                &[vec![curve(origin, 0, 1, 0)]],
                Quantity::Operations,
                Duration::ZERO,
                Recording::Nothing
            ),
            None
        );
    }

    #[test]
    fn work_without_a_common_window_has_the_rate_of_the_whole_time() {
        let origin = Instant::now();
        let clients = [vec![curve(origin, 0, 10, 5)], vec![curve(origin, 50, 10, 5)]];
        let outcome =
            outcome(&clients, Quantity::Operations, Duration::from_millis(50), Recording::Nothing).unwrap();
        assert!((outcome.value - 100.0).abs() < 1e-6 && (outcome.seconds - 0.1).abs() < 1e-9, "{outcome:?}");
        assert!(outcome.doubts[0].contains("at the same time"), "{outcome:?}");
    }

    #[test]
    fn a_unit_that_no_workload_counts_is_refused() {
        assert_eq!(Quantity::of_unit("own", "MB/s").unwrap(), Quantity::Megabytes);
        assert!(Quantity::of_unit("own", "h").unwrap_err().to_string().contains("`h`"));
    }

    #[test]
    fn a_timeline_shows_who_did_how_much_when() {
        let origin = Instant::now();
        let clients = [vec![curve(origin, 0, 10, 100)], vec![curve(origin, 500, 10, 50)]];
        let outcome =
            outcome(&clients, Quantity::Operations, Duration::ZERO, Recording::Clients { fetched: None })
                .unwrap();
        let timeline = outcome.timeline.unwrap();
        assert_eq!((timeline.values.len(), timeline.clients.len()), (20, 2));
        assert!((timeline.slice_seconds - 0.05).abs() < 1e-9);
        assert!((timeline.values[0] - 100.0).abs() < 1e-6 && (timeline.values[19] - 200.0).abs() < 1e-6);
        assert_eq!(timeline.clients[1][3], 0.0);
    }

    #[test]
    fn rates_together_have_no_clients_and_no_times() {
        let origin = Instant::now();
        let clients = [vec![curve(origin, 0, 10, 100)], vec![curve(origin, 500, 10, 50)]];
        let of =
            |quantity| outcome(&clients, quantity, Duration::ZERO, Recording::Together).unwrap().timeline;
        let timeline = of(Quantity::Operations).unwrap();
        assert_eq!((timeline.values.len(), timeline.clients.len()), (20, 0));
        let sum = timeline.values.iter().sum::<f64>() * timeline.slice_seconds;
        assert!((sum - 150.0).abs() < 1e-6, "{sum}");
        assert_eq!(of(Quantity::MeanMilliseconds), None, "a time is no rate");
    }

    #[test]
    fn reads_of_the_clients_stand_in_the_unit_of_the_application() {
        let origin = Instant::now();
        let mut application = curve(origin, 0, 10, 100);
        application.read(100_000_000);
        // All of it within the first half of the time.
        let mut fetched = Curve::new(origin);
        for step in 1..=10 {
            fetched.complete(origin + Duration::from_millis(50 * step), 2_500_000);
        }
        let reads = |fetched: &Curve, quantity| {
            let recording = Recording::Clients { fetched: Some(fetched) };
            let clients = [vec![application.clone()]];
            outcome(&clients, quantity, Duration::ZERO, recording).unwrap().timeline.unwrap().client_reads
        };
        for quantity in [Quantity::Megabytes, Quantity::Operations] {
            let rates = reads(&fetched, quantity);
            assert_eq!(rates.len(), 20);
            assert!((rates[0] - 50.0).abs() < 1e-6 && rates[19] == 0.0, "{rates:?}");
        }
        assert_eq!(reads(&Curve::new(origin), Quantity::Megabytes), [] as [f64; 0], "nothing was read");
    }

    #[test]
    fn a_start_that_was_meant_to_be_later_is_no_skew() {
        let origin = Instant::now();
        let clients = [vec![curve(origin, 0, 10, 100)], vec![curve(origin, 100, 10, 90)]];
        let outcome =
            outcome(&clients, Quantity::Operations, Duration::from_millis(100), Recording::Nothing).unwrap();
        assert_eq!((outcome.start_skew_ms, outcome.doubts.len()), (0.0, 0));
        assert!((outcome.seconds - 0.9).abs() < 1e-9);
    }

    #[test]
    fn times_are_those_of_one_operation_and_of_all() {
        let origin = Instant::now();
        let clients = [vec![curve(origin, 0, 10, 100)], vec![curve(origin, 200, 10, 100)]];
        let of = |quantity| outcome(&clients, quantity, Duration::ZERO, Recording::Nothing).unwrap().value;
        assert!((of(Quantity::MeanMilliseconds) - 10.0).abs() < 0.01);
        assert!((of(Quantity::Seconds) - 1.2).abs() < 1e-9);
    }
}

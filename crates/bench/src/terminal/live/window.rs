//! The last seconds of a run, from readings of its meters.

use std::collections::VecDeque;
use std::time::Duration;

use crate::workload::Reading;

/// Figures are those of so much time.
const FIGURES_OF: Duration = Duration::from_secs(2);
/// Rates that are kept, one for each reading.
const RATES_MAX: usize = 512;
/// Readings that are nearer to each other say nothing about a rate.
const APART: Duration = Duration::from_millis(20);

/// What is known of a run while it works.
#[derive(Debug, Default)]
pub(super) struct Window {
    /// The latest of [`FIGURES_OF`], with when they were taken, and the one before them.
    readings: VecDeque<(Duration, Reading)>,
    rates: VecDeque<f64>,
}

/// What was done in the last seconds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Figures {
    /// Operations for each second, of all clients.
    pub(super) rate: f64,
    /// The same of each client.
    pub(super) clients: Vec<f64>,
    pub(super) bytes_per_second: f64,
    /// How long a call took; none when none was complete.
    pub(super) mean_ms: Option<f64>,
    /// What 95 of 100 calls stayed below.
    pub(super) p95_ms: Option<f64>,
}

impl Window {
    /// Takes what the meters showed at `at`, which counts from the same moment as their own times.
    pub(super) fn push(&mut self, at: Duration, reading: Reading) {
        let Some(began) = reading.began else { return };
        if self.readings.is_empty() {
            self.readings.push_back((began, reading.at_start()));
        }
        let Some((last_at, last)) = self.readings.back() else { return };
        let apart = at.saturating_sub(*last_at);
        if apart < APART {
            return;
        }
        let operations = reading.operations().saturating_sub(last.operations());
        self.rates.push_back(operations as f64 / apart.as_secs_f64());
        self.readings.push_back((at, reading));
        while self.rates.len() > RATES_MAX {
            self.rates.pop_front();
        }
        while self.readings.get(1).is_some_and(|(second, _)| *second + FIGURES_OF <= at) {
            self.readings.pop_front();
        }
    }

    /// Operations for each second from reading to reading, the latest last.
    pub(super) fn rates(&self) -> impl DoubleEndedIterator<Item = f64> + ExactSizeIterator + '_ {
        self.rates.iter().copied()
    }

    /// None until something can be said.
    pub(super) fn figures(&self) -> Option<Figures> {
        let (from, before) = self.readings.front()?;
        let (to, now) = self.readings.back()?;
        let seconds = to.saturating_sub(*from).as_secs_f64();
        if seconds == 0.0 {
            return None;
        }
        let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
        Some(Figures {
            rate: rate(now.operations(), before.operations()),
            clients: now
                .clients
                .iter()
                .zip(&before.clients)
                .map(|(now, before)| rate(*now, *before))
                .collect(),
            bytes_per_second: rate(now.bytes, before.bytes),
            mean_ms: now.mean_ms(before),
            p95_ms: now.percentile_ms(before, 0.95),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(clients: [u64; 2], calls: Vec<u64>) -> Reading {
        Reading {
            began: Some(Duration::from_secs(1)),
            clients: clients.to_vec(),
            bytes: 1000 * clients.iter().sum::<u64>(),
            call_us: 2000 * calls.iter().sum::<u64>(),
            calls,
            ..Reading::default()
        }
    }

    #[test]
    fn figures_are_those_of_the_last_two_seconds() {
        let mut window = Window::default();
        window.push(Duration::from_secs(1), Reading::default());
        assert_eq!(window.figures(), None, "nobody has begun");
        for second in 2..10 {
            // From the sixth second on it is three times as fast.
            let done = if second < 6 { second - 1 } else { 5 + (second - 6) * 3 };
            window.push(Duration::from_secs(second), reading([100 * done, 20 * done], vec![0, 120 * done]));
        }
        let figures = window.figures().unwrap();
        assert_eq!((figures.rate, &figures.clients[..]), (360.0, &[300.0, 60.0][..]));
        assert_eq!((figures.bytes_per_second, figures.mean_ms), (360_000.0, Some(2.0)));
        assert_eq!(figures.p95_ms, Some(0.001));
        assert_eq!(
            window.rates().collect::<Vec<_>>(),
            [120.0, 120.0, 120.0, 120.0, 120.0, 360.0, 360.0, 360.0]
        );
    }

    #[test]
    fn the_first_figures_count_from_the_start_of_the_threads() {
        let mut window = Window::default();
        window.push(Duration::from_millis(1500), reading([10, 0], vec![]));
        let figures = window.figures().unwrap();
        assert_eq!((figures.rate, figures.mean_ms, figures.p95_ms), (20.0, None, None));
        window.push(Duration::from_millis(1501), reading([11, 0], vec![]));
        assert_eq!(window.rates().len(), 1, "a thousandth of a second says nothing");
    }

    #[test]
    fn a_long_run_is_kept_in_little_memory() {
        let mut window = Window::default();
        for quarter in 4..10_000 {
            window.push(Duration::from_millis(quarter * 250), reading([quarter, 0], vec![quarter]));
        }
        assert_eq!(window.rates().len(), RATES_MAX);
        assert!(window.readings.len() <= 10, "{}", window.readings.len());
    }
}

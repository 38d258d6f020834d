//! The clock of another machine beside our own. Pure.

use std::time::{Duration, Instant};

/// A clock that moves against ours by more than this share of the time is no good one: those that are
/// disciplined are slewed by half of it at most.
const DRIFT_SHARE_MAX: f64 = 0.001;

/// Where its clock stood at a moment of ours.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    here: Instant,
    there_ns: u64,
    /// By how much that may be wrong.
    pub(super) error: Duration,
}

/// One question for the time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exchange {
    pub(super) asked: Instant,
    pub(super) answered: Instant,
    pub(super) there_ns: u64,
}

impl Clock {
    /// By the quickest of several questions: the answer was given at some time between, and the middle is
    /// wrong by half of the way at most. None without any.
    pub(super) fn of(exchanges: &[Exchange]) -> Option<Self> {
        let took = |exchange: &Exchange| exchange.answered.saturating_duration_since(exchange.asked);
        let best = exchanges.iter().min_by_key(|exchange| took(exchange))?;
        let error = took(best) / 2;
        Some(Self { here: best.asked + error, there_ns: best.there_ns, error })
    }

    /// How it has run beside ours until `later`.
    pub(super) fn drift(&self, later: &Self) -> Drift {
        let off_ns = self.there(later.here).abs_diff(later.there_ns);
        let moved = Duration::from_nanos(off_ns).saturating_sub(self.error + later.error);
        Drift { moved, over: later.here.saturating_duration_since(self.here) }
    }

    /// What its clock shows at a moment of ours.
    pub(super) fn there(&self, here: Instant) -> u64 {
        match here.checked_duration_since(self.here) {
            Some(later) => self.there_ns.saturating_add(nanos(later)),
            None => self.there_ns.saturating_sub(nanos(self.here - here)),
        }
    }

    /// When its clock showed that.
    pub(super) fn here(&self, there_ns: u64) -> Instant {
        match there_ns.checked_sub(self.there_ns) {
            Some(later) => self.here + Duration::from_nanos(later),
            None => {
                let earlier = Duration::from_nanos(self.there_ns - there_ns);
                self.here.checked_sub(earlier).unwrap_or(self.here)
            }
        }
    }
}

/// By how much two clocks have moved against each other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drift {
    /// At least this much: what both comparisons may be wrong by is taken off.
    pub(super) moved: Duration,
    /// Within this time.
    over: Duration,
}

impl Drift {
    /// Why what was done on `host` in that time deserves less trust; none when its clock kept pace.
    pub(super) fn doubt(&self, host: &str) -> Option<String> {
        (self.moved > self.over.mul_f64(DRIFT_SHARE_MAX)).then(|| {
            format!(
                "The clock of {host} moved by {:.1} ms against this machine's within {:.1} s, more than 0.1 \
                 % of the time: it was set, or runs badly, and when its clients worked is not known \
                 well.",
                self.moved.as_secs_f64() * 1000.0,
                self.over.as_secs_f64()
            )
        })
    }
}

/// The longest duration is longer than any benchmark.
pub(super) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quickest_answer_tells_the_time_and_how_well() {
        let now = Instant::now() + Duration::from_secs(100);
        let ms = Duration::from_millis;
        let exchange = |asked, took, there_ms: u64| Exchange {
            asked: now + ms(asked),
            answered: now + ms(asked + took),
            there_ns: there_ms * 1_000_000,
        };
        let clock =
            Clock::of(&[exchange(0, 50, 5_000), exchange(100, 4, 5_102), exchange(200, 8, 5_300)]).unwrap();
        assert_eq!(clock.error, ms(2));
        assert_eq!(clock.there(now + ms(102)), 5_102_000_000);
        assert_eq!(clock.there(now), 5_000_000_000);
        assert_eq!(clock.here(5_112_000_000), now + ms(112));
        assert_eq!(clock.here(5_092_000_000), now + ms(92));
        assert!(Clock::of(&[]).is_none());
    }

    #[test]
    fn a_clock_that_does_not_keep_pace_is_a_doubt_when_it_is_sure() {
        let start = Instant::now();
        let ms = Duration::from_millis;
        // Asked at `asked_ms`, it says `there_ms` after `way_ms` in all; so it may be wrong by half of that.
        let clock = |asked_ms, way_ms, there_ms: u64| {
            let (asked, answered) = (start + ms(asked_ms), start + ms(asked_ms + way_ms));
            Clock::of(&[Exchange { asked, answered, there_ns: there_ms * 1_000_000 }]).unwrap()
        };
        let first = clock(0, 4, 70_002);
        let steady = first.drift(&clock(10_000, 4, 80_002));
        assert_eq!((steady.moved, steady.doubt("node1")), (Duration::ZERO, None));
        // Half a thousandth fast: known to be 1 ms ahead at least, of 10 that would be a doubt.
        let slewed = first.drift(&clock(10_000, 4, 80_007));
        assert_eq!((slewed.moved, slewed.doubt("node1")), (ms(1), None));
        // It may be that nothing has moved.
        assert_eq!(first.drift(&clock(10_000, 100, 80_080)).moved, Duration::ZERO);
        for later in [clock(10_000, 4, 80_022), clock(10_000, 4, 79_982)] {
            let doubt = first.drift(&later).doubt("node1").unwrap();
            assert!(doubt.starts_with("The clock of node1 moved by 16.0 ms"), "{doubt}");
            assert!(doubt.contains("within 10.0 s"), "{doubt}");
        }
    }
}

//! The clock of another machine beside our own. Pure.

use std::time::{Duration, Instant};

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
    /// By the quickest of several questions: the answer was given at some time between, and the middle is wrong by half of the
    /// way at most. None without any.
    pub(super) fn of(exchanges: &[Exchange]) -> Option<Self> {
        let took = |exchange: &Exchange| exchange.answered.saturating_duration_since(exchange.asked);
        let best = exchanges.iter().min_by_key(|exchange| took(exchange))?;
        let error = took(best) / 2;
        Some(Self { here: best.asked + error, there_ns: best.there_ns, error })
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
}

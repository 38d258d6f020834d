//! Whether the machine's clock ran evenly while it was measured.

use std::time::{Duration, Instant, SystemTime};

/// Clocks that are disciplined are slewed by at most half a thousandth, which is this much in a quarter of an
/// hour.
const STEP_MIN: Duration = Duration::from_millis(500);

/// Both clocks at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    wall: SystemTime,
    steady: Instant,
}

impl Clock {
    /// Both clocks now.
    pub(crate) fn now() -> Self {
        Self { wall: SystemTime::now(), steady: Instant::now() }
    }

    /// Why what was measured since `self` deserves less trust; none when both clocks have moved on alike.
    pub(crate) fn doubt(&self, later: &Self) -> Option<String> {
        let steady = later.steady.saturating_duration_since(self.steady);
        let off = match later.wall.duration_since(self.wall) {
            Ok(wall) => wall.abs_diff(steady),
            Err(back) => back.duration() + steady,
        };
        // Long benchmarks may see more of the slewing.
        (off > STEP_MIN.max(steady / 1000)).then(|| {
            format!(
                "The clock of this machine was off by {:.1} s from the time that passed: it was set, or the \
                 machine slept, during the benchmark.",
                off.as_secs_f64()
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_set_is_a_doubt_in_both_directions() {
        let start = Clock::now();
        let later = |wall: f64, steady: f64| {
            let (start_wall, steady) = (start.wall, Duration::from_secs_f64(steady));
            let moved = Duration::from_secs_f64(wall.abs());
            let wall = if wall < 0.0 { start_wall - moved } else { start_wall + moved };
            start.doubt(&Clock { wall, steady: start.steady + steady })
        };
        assert_eq!(later(60.0, 60.2), None);
        assert_eq!(later(3600.0, 3602.0), None);
        assert!(later(62.0, 60.0).unwrap().contains("2.0 s"));
        assert!(later(-5.0, 60.0).unwrap().contains("65.0 s"));
    }
}

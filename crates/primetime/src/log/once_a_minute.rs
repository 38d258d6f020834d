//! Lets the same report through once in a minute, so that no peer can fill a disk with lines.
//!
//! Two reports are the same when they come from the same place in the program with the same values. Peers are
//! reported by their address without the port, so one that connects again and again is one peer.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata};
use tracing_subscriber::layer::{Context, Filter};

/// How long the same report is held back.
const PAUSE: Duration = Duration::from_secs(60);
/// Different reports in that time; more are left out.
const REPORTS_MAX: usize = 1024;

/// See the module. Reports below [`Level::INFO`] are for those who look for something, and are never held
/// back.
#[derive(Debug, Default)]
pub(super) struct OnceAMinute(Mutex<HashMap<u64, Instant>>);

impl OnceAMinute {
    /// True when a report with this key is due at `now`.
    fn admits(&self, key: u64, now: Instant) -> bool {
        // A report is no reason to fail where another thread has.
        let mut seen = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if seen.get(&key).is_some_and(|last| now.duration_since(*last) < PAUSE) {
            return false;
        }
        if seen.len() >= REPORTS_MAX {
            seen.retain(|_, last| now.duration_since(*last) < PAUSE);
        }
        if seen.len() >= REPORTS_MAX {
            return false;
        }
        seen.insert(key, now);
        true
    }
}

impl<S> Filter<S> for OnceAMinute {
    fn enabled(&self, _: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        true
    }

    fn event_enabled(&self, event: &Event<'_>, _: &Context<'_, S>) -> bool {
        if *event.metadata().level() > Level::INFO {
            return true;
        }
        let mut key = Key(DefaultHasher::new());
        event.metadata().callsite().hash(&mut key.0);
        event.record(&mut key);
        self.admits(key.0.finish(), Instant::now())
    }
}

/// Of the values of a report.
struct Key(DefaultHasher);

impl Visit for Key {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        field.name().hash(&mut self.0);
        format!("{value:?}").hash(&mut self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_report_comes_again_after_a_minute() {
        let filter = OnceAMinute::default();
        let start = Instant::now();
        assert!(filter.admits(1, start));
        assert!(filter.admits(2, start));
        assert!(!filter.admits(1, start + PAUSE / 2));
        assert!(filter.admits(1, start + PAUSE));
    }

    #[test]
    fn different_reports_are_bounded_and_old_ones_make_room() {
        let filter = OnceAMinute::default();
        let start = Instant::now();
        let admitted = |from: u64, at| (from..from + 2000).filter(|key| filter.admits(*key, at)).count();
        assert_eq!(admitted(0, start), REPORTS_MAX);
        assert_eq!(admitted(10_000, start + PAUSE / 2), 0);
        assert_eq!(admitted(20_000, start + PAUSE), REPORTS_MAX);
        assert_eq!(filter.0.lock().unwrap().len(), REPORTS_MAX);
    }
}

//! When the time of the last change, which NFSv3 and some servers of NFSv4 tell states of an object by, has
//! become certain.
//!
//! A kernel that takes times from its tick (Linux before 6.13) gives all changes within 1 to 10 ms the same
//! one. What was read in the tick of the last change may therefore be older than the next change, although
//! the times agree for ever. It is certain once the server's clock was seen to have moved on before it was
//! asked for.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::attributes::{Attributes, Time};

const SECOND_NS: i128 = 1_000_000_000;
/// Longer than any tick.
const TICK_MAX_NS: i128 = 100_000_000;
/// The longest step of times without fractions: FAT's.
const COARSEST_NS: i128 = 2 * SECOND_NS;
/// No tick is as short: times that differ by less are not taken from one.
const FINE_NS: i128 = 500_000;
/// The lengths of ticks, of which others are multiples: 2,000, 1,024, 300 and 64 in a second.
const TICKS_NS: [i128; 4] = [500_000, 976_562, 3_333_333, 15_625_000];
/// Times that are further apart say nothing: clocks that are being set run up to 0.05 % fast or slow.
const COMPARED_NS: i128 = 50_000_000;
/// How far a clock may be out after [`COMPARED_NS`].
const SLACK_NS: i128 = 25_000;
/// How far the clocks of client and server may be apart, where nothing newer was seen of the server's.
const CLOCKS_APART_NS: i128 = 60 * SECOND_NS;
/// File systems whose times are judged by what was seen of them; those of others count as coarse.
const FILE_SYSTEMS_MAX: usize = 64;
/// Times of a file system that the next one is compared with.
const TIMES_KEPT: usize = 32;

/// What was seen of a server's clock.
#[derive(Debug)]
pub(crate) struct ServerClock {
    /// All instants are counted from here.
    start: Instant,
    /// What it shows at `start`, at least, in nanoseconds since 1970.
    start_min_ns: Option<i128>,
    file_systems: BTreeMap<u64, Times>,
}

/// The times that a file system gives.
#[derive(Debug)]
enum Times {
    /// As far as is known. The last that were seen, the oldest first.
    Coarse(VecDeque<i128>),
    /// Two were apart by what is no multiple of a tick.
    Fine,
}

impl Times {
    fn saw(&mut self, changed_ns: i128) {
        let Self::Coarse(seen) = self else { return };
        if seen.iter().any(|other| is_between_ticks((changed_ns - other).abs())) {
            *self = Self::Fine;
            return;
        }
        if seen.len() >= TIMES_KEPT {
            seen.pop_front();
        }
        seen.push_back(changed_ns);
    }
}

impl ServerClock {
    pub(crate) fn new(start: Instant) -> Self {
        Self { start, start_min_ns: None, file_systems: BTreeMap::new() }
    }

    /// Attributes came `now`.
    pub(crate) fn saw(&mut self, attributes: &Attributes, now: Instant) {
        let changed_ns = nanoseconds(attributes.changed);
        self.start_min_ns = self.start_min_ns.max(Some(changed_ns - self.since_start_ns(now)));
        if let Some(times) = self.file_systems.get_mut(&attributes.fsid) {
            times.saw(changed_ns);
        } else if self.file_systems.len() < FILE_SYSTEMS_MAX {
            self.file_systems.insert(attributes.fsid, Times::Coarse([changed_ns].into()));
        }
    }

    /// True when no two changes of the object have the same time.
    pub(crate) fn is_fine(&self, attributes: &Attributes) -> bool {
        attributes.changed.nanoseconds != 0
            && matches!(self.file_systems.get(&attributes.fsid), Some(Times::Fine))
    }

    /// True when whatever changes the object after `asked` is sure to give it another time than these
    /// attributes have. `wall` is what the client's own clock shows at `asked`.
    pub(crate) fn has_passed(&self, attributes: &Attributes, asked: Instant, wall: SystemTime) -> bool {
        if self.is_fine(attributes) {
            return true;
        }
        let step_ns = if attributes.changed.nanoseconds == 0 { COARSEST_NS } else { TICK_MAX_NS };
        let certain_ns = nanoseconds(attributes.changed) + step_ns;
        let seen_ns = self.start_min_ns.map(|start| start + self.since_start_ns(asked));
        let wall_ns = wall.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_nanos().cast_signed();
        seen_ns.is_some_and(|seen| seen > certain_ns) || wall_ns - CLOCKS_APART_NS > certain_ns
    }

    fn since_start_ns(&self, instant: Instant) -> i128 {
        instant.saturating_duration_since(self.start).as_nanos().cast_signed()
    }
}

/// True of times that are so far apart and come from no tick.
fn is_between_ticks(apart_ns: i128) -> bool {
    let is_off = |tick: &i128| {
        let rest = apart_ns % tick;
        rest.min(tick - rest) > SLACK_NS
    };
    (1..FINE_NS).contains(&apart_ns) || (apart_ns < COMPARED_NS && TICKS_NS.iter().all(is_off))
}

fn nanoseconds(time: Time) -> i128 {
    i128::from(time.seconds) * SECOND_NS + i128::from(time.nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attributes::FileType;

    const MS: Duration = Duration::from_millis(1);

    fn changed(at: Duration) -> Attributes {
        let changed = Time { seconds: at.as_secs().cast_signed(), nanoseconds: at.subsec_nanos() };
        Attributes { changed, ..Attributes::empty(FileType::Regular) }
    }

    /// When the server's clock shows 1,000.123 s, and the client's the same.
    fn setting() -> (ServerClock, Instant, Duration, impl Fn(Duration) -> SystemTime) {
        let start = Instant::now();
        let server = Duration::from_millis(1_000_123);
        (ServerClock::new(start), start, server, move |later| UNIX_EPOCH + server + later)
    }

    #[test]
    fn read_within_the_tick_of_a_change_is_uncertain() {
        let (mut clock, start, now, wall) = setting();
        clock.saw(&changed(now), start);
        assert!(!clock.has_passed(&changed(now), start, wall(MS)));
        assert!(!clock.has_passed(&changed(now), start + 100 * MS, wall(100 * MS)));
        assert!(clock.has_passed(&changed(now), start + 101 * MS, wall(101 * MS)));
    }

    #[test]
    fn a_later_change_of_anything_else_makes_it_certain() {
        let (mut clock, start, now, wall) = setting();
        clock.saw(&changed(now), start);
        clock.saw(&changed(now + 200 * MS), start + MS);
        assert!(clock.has_passed(&changed(now), start + MS, wall(MS)));
        assert!(!clock.has_passed(&changed(now + 200 * MS), start + MS, wall(MS)));
    }

    #[test]
    fn old_change_is_certain_unless_the_own_clock_may_be_ahead() {
        let (mut clock, start, now, wall) = setting();
        clock.saw(&changed(now), start);
        assert!(clock.has_passed(&changed(now), start, wall(61 * 1000 * MS)));
        assert!(!clock.has_passed(&changed(now), start, wall(59 * 1000 * MS)));
    }

    #[test]
    fn a_file_system_that_gives_times_between_ticks_is_always_certain() {
        let (mut clock, start, now, wall) = setting();
        for tick in 0..5 {
            clock.saw(&changed(now + tick * MS), start);
            clock.saw(&changed(now + tick * MS), start);
        }
        assert!(!clock.has_passed(&changed(now + 5 * MS), start, wall(MS)), "ticks of a thousandth");
        clock.saw(&changed(now + 2 * MS + MS / 10), start);
        assert!(clock.has_passed(&changed(now + 5 * MS), start, wall(MS)));
        let elsewhere = Attributes { fsid: 7, ..changed(now + 5 * MS) };
        assert!(!clock.has_passed(&elsewhere, start, wall(MS)));
    }

    #[test]
    fn times_that_are_apart_by_ticks_may_come_from_them() {
        for hertz in [64, 100, 250, 300, 1000, 1024] {
            for ticks in 1..10 {
                let apart_ns = ticks * SECOND_NS / hertz;
                for slewed_ns in [apart_ns, apart_ns - apart_ns / 2000, apart_ns + apart_ns / 2000] {
                    assert!(!is_between_ticks(slewed_ns), "{ticks} of {hertz} Hz: {slewed_ns}");
                }
            }
        }
        assert!(!is_between_ticks(0));
        for apart_ns in [7, 300_000, 723_456, 5_210_000, 49_770_000] {
            assert!(is_between_ticks(apart_ns), "{apart_ns}");
        }
        assert!(!is_between_ticks(50_123_456), "too far apart to tell");
    }

    #[test]
    fn times_without_fractions_take_two_seconds() {
        let (mut clock, start, ..) = setting();
        let second = Duration::from_secs(1000);
        clock.saw(&changed(second), start);
        assert!(!clock.has_passed(&changed(second), start + 2000 * MS, UNIX_EPOCH));
        assert!(clock.has_passed(&changed(second), start + 2001 * MS, UNIX_EPOCH));
    }

    #[test]
    fn clocks_of_file_systems_are_bounded() {
        let (mut clock, start, now, _) = setting();
        for fsid in 0..1000 {
            clock.saw(&Attributes { fsid, ..changed(now) }, start);
        }
        assert_eq!(clock.file_systems.len(), FILE_SYSTEMS_MAX);
    }
}

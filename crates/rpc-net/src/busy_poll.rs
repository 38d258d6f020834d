//! Looking for the next call instead of sleeping until it comes.
//!
//! Who has one call at a time waits for two threads to be woken in each: the server's, and its own. On idle
//! cores either takes longer than most calls do. Where calls come soon after the replies to those before, the
//! thread that serves the connection therefore goes on looking for a while, out of the runtime's way: another
//! thread takes over everything else. It gives up when nothing comes, and when somebody else wants its core.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::{available_parallelism, yield_now};
use std::time::{Duration, Instant};

use tokio::runtime::{Handle, RuntimeFlavor};

/// So many calls in a row that were alone and came soon make it likely that the next one does as well.
const QUICK_CALLS_MIN: u32 = 16;
/// A try with so many calls was worth it, if it ended since no more came.
const CALLS_WORTH_A_TRY: u32 = 16;
/// After tries that were not, no more than so many are asked for.
const QUICK_CALLS_MAX: u32 = 1024;
/// A try with so many calls was worth it, if it ended since somebody else took the core: where several want
/// it, who sleeps gets it sooner than who looks.
const CALLS_WORTH_A_CORE: u32 = 4096;
/// After tries that were not, no more than so many are asked for.
const QUICK_CALLS_MAX_DISPLACED: u32 = 16 << 10;
/// A thread that was away from its core for longer has it taken by somebody else.
const AWAY_MAX: Duration = Duration::from_micros(50);

/// What the connections of a server share: how long they look, and how many threads may.
#[derive(Debug)]
pub(crate) struct BusyPolls {
    limit: Duration,
    threads: AtomicUsize,
    threads_max: usize,
}

impl BusyPolls {
    /// For connections on this runtime. Half the cores may look at the same time, each for up to `limit`;
    /// zero is never.
    pub(crate) fn new(limit: Duration) -> Self {
        // Elsewhere there is no other thread to take over.
        let has_threads =
            Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
        let cores = available_parallelism().map_or(1, NonZero::get);
        let threads_max = if has_threads && !limit.is_zero() { cores / 2 } else { 0 };
        Self { limit, threads: AtomicUsize::new(0), threads_max }
    }

    /// Nobody looks.
    pub(crate) const fn never() -> Self {
        Self { limit: Duration::ZERO, threads: AtomicUsize::new(0), threads_max: 0 }
    }

    /// A place among those who look; none if there are enough of them.
    pub(crate) fn enter(&self) -> Option<PollPermit<'_>> {
        let is_free = |threads| (threads < self.threads_max).then_some(threads + 1);
        self.threads.fetch_update(Relaxed, Relaxed, is_free).is_ok().then(|| PollPermit(&self.threads))
    }

    /// Asks `poll` again and again until it gives something.
    ///
    /// # Errors
    /// Those of `poll`.
    pub(crate) fn look<T, E>(&self, mut poll: impl FnMut() -> Result<Option<T>, E>) -> Result<Looked<T>, E> {
        let began = Instant::now();
        let (mut last, mut was_displaced) = (began, false);
        loop {
            let found = poll()?;
            if found.is_some() || was_displaced || last - began >= self.limit {
                return Ok(Looked { found, was_displaced });
            }
            // Who waits for this core gets it.
            yield_now();
            let now = Instant::now();
            was_displaced = now - last > AWAY_MAX;
            last = now;
        }
    }
}

/// What looking has brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Looked<T> {
    pub(crate) found: Option<T>,
    /// Somebody else took the core.
    pub(crate) was_displaced: bool,
}

/// Held by who looks.
#[derive(Debug)]
pub(crate) struct PollPermit<'a>(&'a AtomicUsize);

impl Drop for PollPermit<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// How soon the calls of a connection come, and whether looking for them was worth it. Pure.
#[derive(Debug)]
pub(crate) struct Habit {
    /// When the last reply left, if nothing was under way then.
    rested: Option<Instant>,
    quick_calls: u32,
    /// How many make it worth to look for the next.
    wanted: u32,
    /// How many came in the try that is under way.
    found: Option<u32>,
}

impl Habit {
    pub(crate) const fn new() -> Self {
        Self { rested: None, quick_calls: 0, wanted: QUICK_CALLS_MIN, found: None }
    }

    /// A call that is alone has come.
    pub(crate) fn note_lone_call(&mut self, now: Instant, polls: &BusyPolls) {
        let is_quick =
            self.rested.take().is_some_and(|rested| now.saturating_duration_since(rested) <= polls.limit);
        self.quick_calls = if is_quick { self.quick_calls.saturating_add(1) } else { 0 };
        self.found = self.found.map(|found| found.saturating_add(1));
    }

    /// Calls come together.
    pub(crate) fn note_others(&mut self) {
        (self.rested, self.quick_calls) = (None, 0);
    }

    /// All that has come is answered.
    pub(crate) fn note_rest(&mut self, now: Instant) {
        self.rested.get_or_insert(now);
    }

    /// True when the next call is likely to come soon.
    pub(crate) fn is_quick(&self) -> bool {
        self.quick_calls >= self.wanted
    }

    /// Begins a try to find calls by looking for them, or goes on with it.
    pub(crate) fn begin_try(&mut self) {
        self.found.get_or_insert(0);
    }

    /// Ends it; if few calls came, the next is put off.
    pub(crate) fn end_try(&mut self, was_displaced: bool) {
        let found = self.found.take().unwrap_or_default();
        let (worth, wanted_max) = match was_displaced {
            false => (CALLS_WORTH_A_TRY, QUICK_CALLS_MAX),
            true => (CALLS_WORTH_A_CORE, QUICK_CALLS_MAX_DISPLACED),
        };
        self.wanted = if found < worth { (self.wanted * 2).min(wanted_max) } else { QUICK_CALLS_MIN };
        (self.rested, self.quick_calls) = (None, 0);
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    const LIMIT: Duration = Duration::from_micros(100);

    fn polls(limit: Duration) -> BusyPolls {
        BusyPolls { limit, threads: AtomicUsize::new(0), threads_max: 1 }
    }

    fn quick(habit: &mut Habit, calls: u32, now: Instant) {
        for _ in 0..calls {
            habit.note_rest(now);
            habit.note_lone_call(now + LIMIT, &polls(LIMIT));
        }
    }

    #[test]
    fn calls_that_come_soon_and_alone_make_a_habit() {
        let (mut habit, now) = (Habit::new(), Instant::now());
        quick(&mut habit, QUICK_CALLS_MIN - 1, now);
        assert!(!habit.is_quick());
        quick(&mut habit, 1, now);
        assert!(habit.is_quick());
        habit.note_others();
        assert!(!habit.is_quick(), "together with others");
        quick(&mut habit, QUICK_CALLS_MIN, now);
        habit.note_rest(now);
        habit.note_lone_call(now + LIMIT + LIMIT, &polls(LIMIT));
        assert!(!habit.is_quick(), "late");
        quick(&mut habit, QUICK_CALLS_MIN, now);
        habit.note_lone_call(now, &polls(LIMIT));
        assert!(!habit.is_quick(), "while another was under way");
    }

    /// Lets calls come until the next is looked for, and so many more; tells how many it took.
    fn habit_after(habit: &mut Habit, now: Instant, found: u32) -> u32 {
        let mut asked = 0;
        while !habit.is_quick() {
            quick(habit, 1, now);
            asked += 1;
        }
        habit.begin_try();
        quick(habit, found, now);
        asked
    }

    #[test]
    fn vain_tries_ask_for_more_up_to_a_bound_until_one_is_worth_it() {
        for (was_displaced, worth, most) in [
            (false, CALLS_WORTH_A_TRY, QUICK_CALLS_MAX),
            (true, CALLS_WORTH_A_CORE, QUICK_CALLS_MAX_DISPLACED),
        ] {
            let (mut habit, now) = (Habit::new(), Instant::now());
            let mut wanted = QUICK_CALLS_MIN;
            for _ in 0..12 {
                assert_eq!(habit_after(&mut habit, now, worth - 1), wanted);
                habit.end_try(was_displaced);
                wanted = (wanted * 2).min(most);
            }
            assert_eq!(habit_after(&mut habit, now, worth - 1), most);
            // The same try, after others had their turn.
            habit.begin_try();
            quick(&mut habit, 1, now);
            habit.end_try(was_displaced);
            assert_eq!(habit_after(&mut habit, now, 0), QUICK_CALLS_MIN);
        }
    }

    #[test]
    fn no_more_than_the_most_look() {
        let polls = polls(LIMIT);
        let place = polls.enter();
        assert!(place.is_some() && polls.enter().is_none());
        drop(place);
        assert!(polls.enter().is_some());
        assert!(BusyPolls::never().enter().is_none());
        assert!(BusyPolls::new(LIMIT).enter().is_none(), "there is no runtime");
    }

    #[test]
    fn busy_poll_finds_input_gives_up_or_fails() {
        let patient = polls(Duration::from_secs(3600));
        let mut polled = 0;
        let found = patient.look(|| {
            polled += 1;
            Ok::<_, Infallible>((polled == 2).then_some("it"))
        });
        // The thread may have been away after the first time, and looks once more then.
        assert_eq!((found.map(|looked| looked.found), polled), (Ok(Some("it")), 2));
        assert_eq!(patient.look(|| Err::<Option<()>, _>("broken")), Err("broken"));
        let nothing = polls(LIMIT).look(|| Ok::<Option<()>, Infallible>(None));
        assert_eq!(nothing.map(|looked| looked.found), Ok(None));
        for late in [None, Some("late")] {
            let mut polled = 0;
            let looked = patient.look(|| {
                polled += 1;
                std::thread::sleep(AWAY_MAX * 2);
                Ok::<_, Infallible>(late.filter(|_| polled == 2))
            });
            assert_eq!(looked, Ok(Looked { found: late, was_displaced: true }));
        }
    }
}

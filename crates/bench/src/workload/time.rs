//! The time, for loops that ask for it after every operation.
//!
//! Where the kernel's clock can be read without a call this saves little. In a guest whose kernel has to be
//! called for it, or on a machine without a clock that programs may read, a look costs as much as a small
//! read from memory. So the processor's counter is read, and set by the kernel's clock again and again, so
//! that what is wrong with its rate does not add up.

use std::cell::Cell;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use quanta::Clock;

/// Where the processor has no counter that runs evenly, this is the kernel's clock itself.
static COUNTER: LazyLock<Clock> = LazyLock::new(Clock::new);

/// How long a thread goes by the counter alone. Its rate is known to some millionths.
const BELIEVED: Duration = Duration::from_millis(100);

thread_local! {
    static LAST: Cell<Option<Setting>> = const { Cell::new(None) };
}

/// What the counter showed at a moment of the kernel's clock.
#[derive(Debug, Clone, Copy)]
struct Setting {
    at: Instant,
    shown: u64,
}

/// Measures the rate of the counter, which takes up to a fifth of a second the first time.
pub(super) fn settle() {
    LazyLock::force(&COUNTER);
}

/// As [`Instant::now`], by the processor's counter; wrong by some microseconds at most.
pub(super) fn now() -> Instant {
    let shown = COUNTER.raw();
    if let Some(last) = LAST.get() {
        let passed = Duration::from_nanos(COUNTER.delta_as_nanos(last.shown, shown));
        if passed < BELIEVED {
            return last.at + passed;
        }
    }
    let setting = Setting { at: Instant::now(), shown };
    LAST.set(Some(setting));
    setting.at
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the counter and the kernel's clock may differ by.
    const OFF_MAX: Duration = Duration::from_millis(1);

    #[test]
    fn the_counter_tells_the_time_of_the_clock() {
        settle();
        let begun = Instant::now();
        // Past where it is set again.
        while begun.elapsed() < 3 * BELIEVED {
            let before = Instant::now();
            let told = now();
            let after = Instant::now();
            assert!(told + OFF_MAX > before && told < after + OFF_MAX, "{before:?} {told:?} {after:?}");
        }
    }
}

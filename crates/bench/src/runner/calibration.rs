//! A fixed amount of work, whose time shows how fast a processor is at the moment.

use std::hint::black_box;
use std::time::Instant;

/// Steps that depend on each other: some 5 ms for each look on processors of today, so 10 ms around each run.
const STEPS: u64 = if cfg!(debug_assertions) { 200_000 } else { 4_000_000 };

/// Returns how long the work takes now, in milliseconds.
pub(crate) fn look() -> f64 {
    let started = Instant::now();
    let mut state = black_box(0x9e37_79b9_7f4a_7c15_u64);
    for _ in 0..STEPS {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    }
    black_box(state);
    started.elapsed().as_secs_f64() * 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_time() {
        assert!(look() > 0.0);
    }
}

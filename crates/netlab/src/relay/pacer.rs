//! Serialisation: when a byte leaves a link of a given rate. Knows no sockets and no clock.

use std::time::{Duration, Instant};

/// One direction of a link. All its connections share it, first come, first served.
#[derive(Debug)]
pub(super) struct Pacer {
    bytes_per_second: Option<u64>,
    free_at: Instant,
}

impl Pacer {
    pub(super) fn new(bytes_per_second: Option<u64>, now: Instant) -> Self {
        Self { bytes_per_second, free_at: now }
    }

    /// The longest piece that should leave as one: what the link carries in half a millisecond, and at least
    /// a frame.
    pub(super) fn piece_bytes_max(&self) -> usize {
        self.bytes_per_second.map_or(usize::MAX, |rate| (rate / 2_000).max(1_500) as usize)
    }

    /// The time at which the last of `bytes` that arrived at `now` has left.
    pub(super) fn leave(&mut self, now: Instant, bytes: usize) -> Instant {
        let Some(rate) = self.bytes_per_second else { return now };
        self.free_at = self.free_at.max(now) + Duration::from_secs_f64(bytes as f64 / rate as f64);
        self.free_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_rate_bytes_leave_when_they_arrive() {
        let start = Instant::now();
        assert_eq!(Pacer::new(None, start).leave(start, 1 << 30), start);
    }

    #[test]
    fn bytes_queue_behind_those_before_them_and_an_idle_link_saves_nothing_up() {
        let start = Instant::now();
        let mut pacer = Pacer::new(Some(1_000_000), start);
        let ms = |count| start + Duration::from_millis(count);
        assert_eq!(pacer.leave(start, 1_000), ms(1));
        assert_eq!(pacer.leave(start, 2_000), ms(3));
        assert_eq!(pacer.leave(ms(10), 1_000), ms(11));
    }
}

//! How far to fetch ahead of a reader: as far as it makes the reader faster, and no further. What is asked for beyond that
//! waits in queues on the way, where a reply that comes late holds its reader up for as long as the queue takes.

use std::time::Instant;

/// The reader is faster with a window of twice the size if its rate grows by this factor.
const GAIN: f64 = 1.1;
/// A rate is judged by as many windows of data: the first of them was asked for under the window before.
const JUDGED_WINDOWS: u64 = 2;
/// After so many windows another size is tried: other readers, or the path, may have changed.
const SETTLED_WINDOWS: u64 = 16;

#[derive(Debug)]
pub(super) struct Window {
    bytes: u64,
    bytes_max: u64,
    /// When and where the reader was when the window got this size.
    begun: Option<(Instant, u64)>,
    /// The reader's rate before that, in bytes per second.
    rate_before: Option<f64>,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It grows as long as that helps.
    Growing,
    /// It is as large as it need be.
    Settled,
    /// Another size is tried, and this was the one before.
    Trying { before: u64 },
}

impl Window {
    /// None yet, and never more than `bytes_max`.
    pub(super) fn new(bytes_max: u64) -> Self {
        Self { bytes: 0, bytes_max, begun: None, rate_before: None, state: State::Growing }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// True when there never is one.
    pub(super) fn is_off(&self) -> bool {
        self.bytes_max == 0
    }

    /// Begins with `bytes`.
    pub(super) fn open(&mut self, bytes: u64) {
        *self = Self { bytes: bytes.min(self.bytes_max), ..Self::new(self.bytes_max) };
    }

    pub(super) fn close(&mut self) {
        *self = Self::new(self.bytes_max);
    }

    /// The reader, who has read up to `at`, had to wait for data that should have been there.
    pub(super) fn reader_waited(&mut self, at: u64, now: Instant) {
        let Some((since, from)) = self.begun else {
            self.begun = Some((now, at));
            return;
        };
        let windows = if self.state == State::Settled { SETTLED_WINDOWS } else { JUDGED_WINDOWS };
        let read = at.saturating_sub(from);
        if self.bytes == 0 || read < self.bytes.saturating_mul(windows) {
            return;
        }
        let rate = read as f64 / now.saturating_duration_since(since).as_secs_f64().max(1e-9);
        let is_faster = self.rate_before.is_none_or(|before| rate > before * GAIN);
        let larger = self.bytes.saturating_mul(2).min(self.bytes_max);
        (self.bytes, self.state) = match self.state {
            State::Growing | State::Trying { .. } if is_faster => (larger, State::Growing),
            State::Growing => (self.bytes, State::Settled),
            State::Trying { before } => (before, State::Settled),
            State::Settled if larger == self.bytes => (larger, State::Settled),
            State::Settled => (larger, State::Trying { before: self.bytes }),
        };
        self.rate_before = Some(rate);
        self.begun = Some((now, at));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const MIB: u64 = 1 << 20;

    /// A reader of `bytes` over a path that brings a window in each round trip, and no more bytes per second than it can.
    fn read(
        window: &mut Window,
        start: &mut (u64, Instant),
        bytes: u64,
        rate_max: f64,
        round_trip: Duration,
    ) {
        let end = start.0 + bytes;
        while start.0 < end {
            let rate = (window.bytes() as f64 / round_trip.as_secs_f64()).min(rate_max);
            start.0 += MIB;
            start.1 += Duration::from_secs_f64(MIB as f64 / rate);
            window.reader_waited(start.0, start.1);
        }
    }

    #[test]
    fn a_window_is_as_large_as_the_path_needs_and_follows_it() {
        let (mut window, mut reader) = (Window::new(64 * MIB), (0, Instant::now()));
        window.open(MIB);
        // 5 MB are on the way at 125 MB/s and 40 ms.
        read(&mut window, &mut reader, 256 * MIB, 125e6, Duration::from_millis(40));
        assert_eq!(window.bytes(), 16 * MIB, "8 MiB are enough, and that more are not faster shows with 16");
        read(&mut window, &mut reader, 4096 * MIB, 125e6, Duration::from_millis(40));
        assert!((16..=32).contains(&(window.bytes() / MIB)), "one size is tried");
        read(&mut window, &mut reader, 4096 * MIB, 500e6, Duration::from_millis(80));
        assert!(window.bytes() >= 32 * MIB, "the path has become longer and wider: {}", window.bytes());
    }

    #[test]
    fn a_window_that_brings_nothing_is_taken_back() {
        let (mut window, mut reader) = (Window::new(64 * MIB), (0, Instant::now()));
        window.open(8 * MIB);
        let mut sizes = Vec::new();
        for _ in 0..4096 {
            read(&mut window, &mut reader, MIB, 50e6, Duration::from_millis(1));
            sizes.push(window.bytes() / MIB);
        }
        sizes.dedup();
        assert_eq!(sizes[..6], [8, 16, 32, 16, 32, 16]);
    }

    #[test]
    fn it_never_grows_beyond_its_bound() {
        let (mut window, mut reader) = (Window::new(3 * MIB), (0, Instant::now()));
        window.open(MIB);
        read(&mut window, &mut reader, 256 * MIB, 1e9, Duration::from_millis(40));
        assert_eq!(window.bytes(), 3 * MIB);
        let mut off = Window::new(0);
        off.open(MIB);
        assert!(off.is_off() && off.bytes() == 0);
    }
}

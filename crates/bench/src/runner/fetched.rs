//! How much the clients of a run have read from their server at what time.
//!
//! Owns samples of the clients' counters while the threads work. Each look costs some microseconds, so it is
//! taken for figures over time only.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::workload::{Counters, Curve, Mount};

/// The time between two looks. A slice of a timeline is at least twice as long in runs of 0.4 s and more.
const PERIOD: Duration = Duration::from_millis(10);

/// The bytes that all clients have read since they began, over time.
pub(crate) struct Fetched<'a> {
    mounts: &'a BTreeMap<u32, Arc<Mount>>,
    seen_bytes: u64,
    curve: Curve,
}

impl<'a> Fetched<'a> {
    /// Begins now, when `mounts` had `before` counted.
    pub(super) fn begin(mounts: &'a BTreeMap<u32, Arc<Mount>>, before: &[Counters]) -> Self {
        Self { mounts, seen_bytes: read_bytes(before), curve: Curve::new(Instant::now()) }
    }

    /// Looks again and again.
    pub(super) async fn watch(&mut self) -> Infallible {
        loop {
            tokio::time::sleep(PERIOD).await;
            let counters: Vec<Counters> = self.mounts.values().map(|mount| mount.counters()).collect();
            self.look(&counters);
        }
    }

    /// The whole curve, at whose end `after` was counted.
    pub(super) fn end(mut self, after: &[Counters]) -> Curve {
        self.look(after);
        self.curve
    }

    fn look(&mut self, counters: &[Counters]) {
        let bytes = read_bytes(counters);
        self.curve.complete(Instant::now(), bytes.saturating_sub(self.seen_bytes));
        self.seen_bytes = bytes;
    }
}

fn read_bytes(counters: &[Counters]) -> u64 {
    counters.iter().map(|counters| counters.read_bytes).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curve_has_all_bytes_that_were_read_since_the_begin() {
        let mounts = BTreeMap::new();
        let counted = |bytes: &[u64]| -> Vec<Counters> {
            bytes.iter().map(|bytes| Counters { read_bytes: *bytes, ..Counters::default() }).collect()
        };
        let mut fetched = Fetched::begin(&mounts, &counted(&[100, 50]));
        fetched.look(&counted(&[300, 50]));
        let curve = fetched.end(&counted(&[300, 250]));
        assert_eq!((curve.bytes(), curve.operations()), (400, 2));
    }
}

//! Reads under way on one file, so that two readers never ask for the same bytes at once.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;

/// The reads under way, by where they start.
#[derive(Debug, Default)]
pub(crate) struct Fetches {
    under_way: Mutex<BTreeMap<(u64, u64), Entry>>,
}

#[derive(Debug)]
struct Entry {
    end: u64,
    ended: watch::Receiver<()>,
}

/// A read under way; it is over when this is dropped, however that comes.
#[derive(Debug)]
pub(crate) struct Fetch {
    fetches: Arc<Fetches>,
    key: (u64, u64),
    _ended: watch::Sender<()>,
}

impl Fetches {
    /// Announces a read of `range` in `epoch`. `Err` when another that overlaps is under way: with what tells
    /// when it is over.
    pub(crate) fn begin(
        self: &Arc<Self>,
        epoch: u64,
        range: &Range<u64>,
    ) -> Result<Fetch, watch::Receiver<()>> {
        let mut under_way = self.under_way.lock();
        let before = under_way.range((epoch, 0)..(epoch, range.end)).next_back();
        if let Some((_, entry)) = before.filter(|(_, entry)| entry.end > range.start) {
            return Err(entry.ended.clone());
        }
        let (sender, ended) = watch::channel(());
        let key = (epoch, range.start);
        under_way.insert(key, Entry { end: range.end, ended });
        Ok(Fetch { fetches: Arc::clone(self), key, _ended: sender })
    }
}

impl Drop for Fetch {
    fn drop(&mut self) {
        self.fetches.under_way.lock().remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_second_read_of_the_same_bytes_waits_for_the_first() {
        let fetches = Arc::new(Fetches::default());
        let first = fetches.begin(0, &(10..20)).unwrap();
        let second = fetches.begin(0, &(20..30)).unwrap();
        let mut waiting = fetches.begin(0, &(19..25)).unwrap_err();
        assert!(fetches.begin(0, &(5..11)).is_err());
        assert!(fetches.begin(1, &(10..20)).is_ok(), "another epoch is other data");
        drop(second);
        assert!(waiting.changed().await.is_err(), "the sender is gone");
        drop(first);
        assert!(fetches.begin(0, &(5..30)).is_ok());
    }
}

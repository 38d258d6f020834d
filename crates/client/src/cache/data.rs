//! File data, in extents of any size and place, within a budget of bytes.

use std::collections::BTreeMap;
use std::ops::Range;

use bytes::{Bytes, BytesMut};
use lru::LruCache;

/// The content of a file in one epoch. A change by another client begins a new epoch.
/// [`DataCache::insert`] then drops the data of earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct DataKey {
    pub(crate) file: u64,
    pub(crate) epoch: u64,
}

/// A piece that is smaller may be a slice of a record that is much larger; it is copied, so that what is
/// counted is what is kept, in bytes.
const SLICE_BYTES_MIN: usize = 32 << 10;
/// What an extent costs besides its data, in bytes.
const EXTENT_OVERHEAD_BYTES: usize = 192;

/// Extents of earlier epochs that one call of [`DataCache::insert`] drops at most.
const EARLIER_EXTENTS_MAX: usize = 64;

/// Data of all files. The least recently read extents go first.
#[derive(Debug)]
pub(crate) struct DataCache {
    files: BTreeMap<DataKey, BTreeMap<u64, Bytes>>,
    order: LruCache<(DataKey, u64), ()>,
    bytes: usize,
    bytes_max: usize,
}

impl DataCache {
    /// An empty cache of at most `bytes_max`; 0 keeps nothing.
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { files: BTreeMap::new(), order: LruCache::unbounded(), bytes: 0, bytes_max }
    }

    /// The data of `range` if all of it is there. Without a copy when one extent holds it.
    pub(crate) fn read(&mut self, key: DataKey, range: Range<u64>) -> Option<Bytes> {
        let extents = self.files.get(&key)?;
        let (start, data) = extents.range(..=range.start).next_back()?;
        let (start, end) = (*start, *start + data.len() as u64);
        if range.end <= end {
            self.order.promote(&(key, start));
            return Some(data.slice((range.start - start) as usize..(range.end - start) as usize));
        }
        // The size of a file is what the server says: no room is taken for more than the cache holds.
        if range.end - range.start > self.bytes as u64 {
            return None;
        }
        let mut whole = BytesMut::with_capacity((range.end - range.start) as usize);
        let mut at = range.start;
        for (start, data) in extents.range(start..range.end) {
            let end = *start + data.len() as u64;
            if *start > at || end <= at {
                return None;
            }
            whole.extend_from_slice(&data[(at - start) as usize..(end.min(range.end) - start) as usize]);
            at = end.min(range.end);
            self.order.promote(&(key, *start));
        }
        (at == range.end).then(|| whole.freeze())
    }

    /// The parts of `range` that are not there, in order.
    pub(crate) fn missing(&self, key: DataKey, range: Range<u64>) -> Vec<Range<u64>> {
        let mut missing = Vec::new();
        let mut at = range.start;
        if let Some(extents) = self.files.get(&key) {
            let first = extents.range(..=range.start).next_back().map_or(range.start, |(start, _)| *start);
            for (start, data) in extents.range(first..range.end.max(first)) {
                if *start > at {
                    missing.push(at..*start);
                }
                at = at.max(*start + data.len() as u64);
            }
        }
        if at < range.end {
            missing.push(at..range.end);
        }
        missing
    }

    /// Keeps `data`, which is at `offset`. What is there already stays.
    pub(crate) fn insert(&mut self, key: DataKey, offset: u64, data: &Bytes) {
        self.drop_earlier(key);
        for gap in self.missing(key, offset..offset + data.len() as u64) {
            let piece = data.slice((gap.start - offset) as usize..(gap.end - offset) as usize);
            let piece = if piece.len() < SLICE_BYTES_MIN { Bytes::copy_from_slice(&piece) } else { piece };
            self.add(key, gap.start, piece);
        }
        while self.bytes > self.bytes_max {
            let Some((&(key, start), ())) = self.order.peek_lru() else { break };
            self.take(key, start);
        }
    }

    /// Drops extents of earlier epochs. No caller reads them, and they would push out data of other files.
    fn drop_earlier(&mut self, key: DataKey) {
        for _ in 0..EARLIER_EXTENTS_MAX {
            let first = DataKey { epoch: 0, ..key };
            let Some((earlier, extents)) = self.files.range(first..key).next() else { return };
            let Some(start) = extents.keys().next() else { return };
            self.take(*earlier, *start);
        }
    }

    /// Forgets the data of `range`.
    pub(crate) fn remove(&mut self, key: DataKey, range: Range<u64>) {
        let Some(extents) = self.files.get(&key) else { return };
        let first = extents.range(..=range.start).next_back().map_or(range.start, |(start, _)| *start);
        let touched: Vec<u64> = extents
            .range(first..range.end.max(first))
            .filter(|(start, data)| *start + data.len() as u64 > range.start)
            .map(|(start, _)| *start)
            .collect();
        for start in touched {
            let Some(data) = self.take(key, start) else { continue };
            let end = start + data.len() as u64;
            if start < range.start {
                self.add(key, start, data.slice(..(range.start - start) as usize));
            }
            if end > range.end {
                self.add(key, range.end, data.slice((range.end - start) as usize..));
            }
        }
    }

    fn add(&mut self, key: DataKey, start: u64, data: Bytes) {
        self.bytes += data.len() + EXTENT_OVERHEAD_BYTES;
        self.order.put((key, start), ());
        self.files.entry(key).or_default().insert(start, data);
    }

    fn take(&mut self, key: DataKey, start: u64) -> Option<Bytes> {
        let extents = self.files.get_mut(&key)?;
        let data = extents.remove(&start)?;
        self.order.pop(&(key, start));
        if extents.is_empty() {
            self.files.remove(&key);
        }
        self.bytes -= data.len() + EXTENT_OVERHEAD_BYTES;
        Some(data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: DataKey = DataKey { file: 1, epoch: 0 };

    fn cache(bytes_max: usize) -> DataCache {
        DataCache::new(bytes_max)
    }

    fn filled(extents: &[(u64, &'static [u8])]) -> DataCache {
        let mut cache = cache(1 << 20);
        for (offset, data) in extents {
            cache.insert(KEY, *offset, &Bytes::from_static(data));
        }
        cache
    }

    #[test]
    fn a_read_is_served_from_one_extent_or_from_neighbours() {
        let mut cache = filled(&[(10, b"abcd"), (14, b"efgh")]);
        assert_eq!(cache.read(KEY, 11..13).unwrap(), "bc");
        assert_eq!(cache.read(KEY, 12..18).unwrap(), "cdefgh");
        assert_eq!(cache.read(KEY, 9..11), None);
        assert_eq!(cache.read(KEY, 17..19), None);
        assert_eq!(cache.read(DataKey { epoch: 1, ..KEY }, 11..13), None);
    }

    #[test]
    fn a_hole_between_extents_is_no_data() {
        let mut cache = filled(&[(0, b"ab"), (4, b"cd")]);
        assert_eq!(cache.read(KEY, 0..6), None);
        assert_eq!(cache.missing(KEY, 0..8), [2..4, 6..8]);
        assert_eq!(cache.missing(KEY, 1..5).first(), Some(&(2..4)));
        assert_eq!(cache.missing(KEY, 4..6), []);
        assert_eq!(cache.missing(KEY, 9..9), []);
    }

    #[test]
    fn cached_data_stays_when_overlapping_data_arrive() {
        let mut cache = filled(&[(2, b"XY")]);
        cache.insert(KEY, 0, &Bytes::from_static(b"abcdef"));
        assert_eq!(cache.read(KEY, 0..6).unwrap(), "abXYef");
    }

    #[test]
    fn a_removed_range_leaves_what_is_around_it() {
        let mut cache = filled(&[(0, b"abcdef"), (6, b"gh")]);
        cache.remove(KEY, 2..7);
        assert_eq!(cache.read(KEY, 0..2).unwrap(), "ab");
        assert_eq!(cache.read(KEY, 7..8).unwrap(), "h");
        assert_eq!(cache.missing(KEY, 0..8).first(), Some(&(2..7)));
        cache.remove(KEY, 100..200);
        cache.remove(KEY, 0..u64::MAX);
        assert_eq!(cache.bytes, 0);
        assert!(cache.files.is_empty() && cache.order.is_empty());
    }

    #[test]
    fn the_least_recently_read_extent_makes_room() {
        let mut cache = cache(2 * (4 + EXTENT_OVERHEAD_BYTES));
        for offset in [0, 100] {
            cache.insert(KEY, offset, &Bytes::from_static(b"data"));
        }
        cache.read(KEY, 0..4).unwrap();
        cache.insert(KEY, 200, &Bytes::from_static(b"data"));
        assert!(cache.read(KEY, 100..104).is_none());
        assert!(cache.read(KEY, 0..4).is_some());
        assert!(cache.bytes <= cache.bytes_max);
    }

    #[test]
    fn data_of_earlier_epochs_make_room_for_other_files() {
        let mut cache = cache(1 << 20);
        let other = DataKey { file: 2, epoch: 0 };
        cache.insert(other, 0, &Bytes::from_static(b"other"));
        for epoch in 0..10_000 {
            let key = DataKey { file: 1, epoch };
            cache.insert(key, 0, &Bytes::from_static(b"data"));
            cache.insert(key, 100, &Bytes::from_static(b"data"));
        }
        assert_eq!(cache.files.len(), 2, "one epoch of each file");
        assert_eq!(cache.bytes, 5 + 2 * 4 + 3 * EXTENT_OVERHEAD_BYTES);
        assert_eq!(cache.order.len(), 3);
        assert!(cache.read(other, 0..5).is_some());
    }

    #[test]
    fn a_cache_without_room_keeps_nothing() {
        let mut cache = cache(0);
        cache.insert(KEY, 0, &Bytes::from_static(b"data"));
        assert_eq!((cache.read(KEY, 0..4), cache.bytes), (None, 0));
    }
}

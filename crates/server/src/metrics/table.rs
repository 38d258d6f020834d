//! The counters of one thread. Only that thread writes them; others read.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Ended, OperationIndex};
use crate::exports::ExportId;

/// Exports that are counted apart; what is done in more of them counts as done in an unknown one.
const EXPORTS_MAX: usize = 64;
/// The upper end of the first bucket is 2 to this power in nanoseconds, that of each further one twice as
/// long.
const FIRST_BUCKET_POWER: u32 = 13;
/// Buckets; the last has no end.
pub(super) const BUCKETS: usize = 22;
/// Codes of statuses lie below 128 or in the 128 from 10,000 on.
const CODES: usize = 256;
/// Of every other code.
const OTHER_CODE: usize = 127;

/// One more is counted. No other thread writes, so there is no need to lock the memory.
fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
}

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

/// See the module.
#[derive(Debug)]
pub(super) struct Thread {
    requests: AtomicU64,
    exports: Box<[ExportRows]>,
    /// Of operations without an export.
    none: Rows,
    /// Of exports beyond the bound.
    others: Rows,
}

#[derive(Debug, Default)]
struct ExportRows {
    /// One more than the export's number; 0 while it is free.
    number: AtomicU64,
    rows: Rows,
}

/// Made when something is counted in them.
#[derive(Debug, Default)]
pub(super) struct Rows(OnceLock<Box<[Row]>>);

/// The counters of an operation in an export.
#[derive(Debug, Default)]
pub(super) struct Row {
    count: AtomicU64,
    bytes: AtomicU64,
    timed_nanoseconds: AtomicU64,
    timed: [AtomicU64; BUCKETS],
    failures: OnceLock<Box<[AtomicU64]>>,
}

/// Which export an operation was counted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ExportLabel {
    Nowhere,
    Export(ExportId),
    Other,
}

/// The counters of several threads, added up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) count: u64,
    pub(super) bytes: u64,
    pub(super) timed_nanoseconds: u64,
    pub(super) timed: [u64; BUCKETS],
    /// Code and count, for each that has occurred.
    pub(super) failures: Vec<(u32, u64)>,
}

impl Default for Thread {
    fn default() -> Self {
        Self {
            requests: AtomicU64::new(0),
            exports: (0..EXPORTS_MAX).map(|_| ExportRows::default()).collect(),
            none: Rows::default(),
            others: Rows::default(),
        }
    }
}

impl Thread {
    /// The number of requests before this one.
    pub(super) fn count_request(&self) -> u64 {
        let before = read(&self.requests);
        add(&self.requests, 1);
        before
    }

    pub(super) fn row(&self, export: Option<ExportId>, operation: OperationIndex) -> &Row {
        let rows = export.map_or(&self.none, |export| self.rows_of(export));
        let rows = rows.0.get_or_init(|| (0..OperationIndex::COUNT).map(|_| Row::default()).collect());
        &rows[operation.row()]
    }

    fn rows_of(&self, export: ExportId) -> &Rows {
        let number = u64::from(export.0) + 1;
        for step in 0..EXPORTS_MAX {
            let place = &self.exports[(export.0 as usize).wrapping_add(step) % EXPORTS_MAX];
            match read(&place.number) {
                0 => {
                    place.number.store(number, Ordering::Relaxed);
                    return &place.rows;
                }
                taken if taken == number => return &place.rows,
                _ => {}
            }
        }
        &self.others
    }

    /// All rows in which something may have been counted.
    pub(super) fn rows(&self) -> impl Iterator<Item = (ExportLabel, OperationIndex, &Row)> {
        let exports = self.exports.iter().filter_map(|export| {
            let number = read(&export.number).checked_sub(1)?;
            Some((ExportLabel::Export(ExportId(u32::try_from(number).ok()?)), &export.rows))
        });
        let all = exports.chain([(ExportLabel::Nowhere, &self.none), (ExportLabel::Other, &self.others)]);
        all.filter_map(|(place, rows)| Some((place, rows.0.get()?))).flat_map(|(place, rows)| {
            OperationIndex::all().map(move |operation| (place, operation, &rows[operation.row()]))
        })
    }
}

impl Row {
    pub(super) fn count(&self, ended: Ended, nanoseconds: Option<u64>) {
        add(&self.count, 1);
        if ended.bytes > 0 {
            add(&self.bytes, ended.bytes);
        }
        if let Some(nanoseconds) = nanoseconds {
            add(&self.timed[bucket(nanoseconds)], 1);
            add(&self.timed_nanoseconds, nanoseconds);
        }
        if ended.status != 0 {
            let failures = self.failures.get_or_init(|| (0..CODES).map(|_| AtomicU64::new(0)).collect());
            add(&failures[index_of_code(ended.status)], 1);
        }
    }

    pub(super) fn add_to(&self, sum: &mut Sum) {
        sum.count += read(&self.count);
        sum.bytes += read(&self.bytes);
        sum.timed_nanoseconds += read(&self.timed_nanoseconds);
        for (sum, timed) in sum.timed.iter_mut().zip(&self.timed) {
            *sum += read(timed);
        }
        let failures = self.failures.get().into_iter().flatten().enumerate();
        for (index, count) in failures.map(|(index, count)| (index, read(count))).filter(|(_, n)| *n > 0) {
            let code = code_of_index(index);
            match sum.failures.iter_mut().find(|(known, _)| *known == code) {
                Some((_, sum)) => *sum += count,
                None => sum.failures.push((code, count)),
            }
        }
    }
}

impl Default for Sum {
    fn default() -> Self {
        Self { count: 0, bytes: 0, timed_nanoseconds: 0, timed: [0; BUCKETS], failures: Vec::new() }
    }
}

fn bucket(nanoseconds: u64) -> usize {
    let beyond_first = u64::BITS - (nanoseconds >> FIRST_BUCKET_POWER).leading_zeros();
    (beyond_first as usize).min(BUCKETS - 1)
}

/// The end of a bucket in nanoseconds; `None` for the last.
pub(super) fn bucket_end(index: usize) -> Option<u64> {
    (index + 1 < BUCKETS).then(|| 1 << (FIRST_BUCKET_POWER as usize + index))
}

fn index_of_code(code: u32) -> usize {
    match code {
        0..127 => code as usize,
        10_000..10_128 => code as usize - 10_000 + 128,
        _ => OTHER_CODE,
    }
}

fn code_of_index(index: usize) -> u32 {
    let index = index as u32;
    if index < 128 { index } else { index - 128 + 10_000 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(status: u32) -> Ended {
        Ended { status, bytes: 0 }
    }

    #[test]
    fn a_duration_lies_below_the_end_of_its_bucket() {
        for nanoseconds in [0, 1, 8191, 8192, 8193, 1_000_000, 8_000_000_000, u64::MAX] {
            let bucket = bucket(nanoseconds);
            assert!(bucket_end(bucket).is_none_or(|end| nanoseconds < end), "{nanoseconds}");
            assert!(bucket == 0 || bucket_end(bucket - 1).is_some_and(|end| nanoseconds >= end));
        }
        assert_eq!(bucket_end(BUCKETS - 2), Some(1 << 33), "8.6 seconds");
    }

    #[test]
    fn every_code_of_the_standards_is_counted_apart() {
        for status in proto::nfs4::Status::ALL {
            assert_eq!(code_of_index(index_of_code(status.code())), status.code(), "{status}");
        }
        for status in proto::nfs3::Status::ALL {
            assert_eq!(code_of_index(index_of_code(status.code())), status.code(), "{status}");
        }
        assert_eq!(index_of_code(u32::MAX), OTHER_CODE);
    }

    #[test]
    fn exports_beyond_the_bound_are_counted_together() {
        let thread = Thread::default();
        let operation = OperationIndex::nfs4(3);
        for export in 0..200 {
            thread.row(Some(ExportId(export * 7)), operation).count(ended(0), None);
        }
        thread.row(None, operation).count(ended(0), None);
        let mut counted: Vec<_> = thread
            .rows()
            .map(|(place, _, row)| (place, read(&row.count)))
            .filter(|(_, count)| *count > 0)
            .collect();
        counted.sort_unstable();
        assert_eq!(counted.len(), EXPORTS_MAX + 2);
        assert_eq!(counted.first(), Some(&(ExportLabel::Nowhere, 1)));
        assert_eq!(counted.last(), Some(&(ExportLabel::Other, 200 - EXPORTS_MAX as u64)));
    }
}

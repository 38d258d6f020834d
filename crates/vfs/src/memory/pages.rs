//! The data of a file: pages where something was written, holes elsewhere.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::budget::Charge;
use crate::Result;

pub(super) const PAGE_BYTES: usize = 4096;
const PAGE: u64 = PAGE_BYTES as u64;

/// Shared by the files that hold the same since one was cloned, and each charged for it.
type Page = Arc<[u8; PAGE_BYTES]>;

/// Sparse data. Knows no length: beyond the last page everything reads as zeros.
#[derive(Default)]
pub(super) struct Pages {
    pages: BTreeMap<u64, Page>,
}

impl Pages {
    /// Appends exactly `count` bytes from `offset` to `out`.
    pub(super) fn read(&self, offset: u64, count: usize, out: &mut Vec<u8>) {
        let (start, end) = (out.len(), offset + count as u64);
        out.reserve(count);
        for (index, page) in self.pages.range(offset / PAGE_BYTES as u64..end.div_ceil(PAGE_BYTES as u64)) {
            let page_start = index * PAGE_BYTES as u64;
            let from = offset.max(page_start);
            let to = end.min(page_start + PAGE_BYTES as u64);
            out.resize(start + (from - offset) as usize, 0);
            out.extend_from_slice(&page[(from - page_start) as usize..(to - page_start) as usize]);
        }
        out.resize(start + count, 0);
    }

    /// Writes `data` at `offset` and returns how many bytes found room.
    pub(super) fn write(&mut self, offset: u64, data: &[u8], charge: &mut Charge) -> usize {
        let mut done = 0;
        while done < data.len() {
            let at = offset + done as u64;
            let within = (at % PAGE_BYTES as u64) as usize;
            let count = (PAGE_BYTES - within).min(data.len() - done);
            let Some(page) = self.page(at / PAGE_BYTES as u64, charge) else { break };
            page[within..within + count].copy_from_slice(&data[done..done + count]);
            done += count;
        }
        done
    }

    /// Drops what lies behind `size`.
    pub(super) fn truncate(&mut self, size: u64, charge: &mut Charge) {
        let dropped = self.pages.split_off(&size.div_ceil(PAGE_BYTES as u64));
        charge.shrink(dropped.len() as u64 * PAGE_BYTES as u64);
        let within = (size % PAGE_BYTES as u64) as usize;
        if within != 0
            && let Some(page) = self.pages.get_mut(&(size / PAGE_BYTES as u64))
        {
            Arc::make_mut(page)[within..].fill(0);
        }
    }

    /// Makes pages of the holes between two offsets, or fails and makes none.
    pub(super) fn fill(&mut self, offset: u64, end: u64, charge: &mut Charge) -> Result<()> {
        let range = offset / PAGE..end.div_ceil(PAGE);
        let missing = range.end.saturating_sub(range.start) - self.pages.range(range.clone()).count() as u64;
        charge.grow(missing.saturating_mul(PAGE))?;
        let empty = Page::new([0; PAGE_BYTES]);
        for index in range {
            self.pages.entry(index).or_insert_with(|| Arc::clone(&empty));
        }
        Ok(())
    }

    /// Makes a hole between two offsets: of the pages at its ends, what is in it becomes zeros.
    pub(super) fn clear(&mut self, offset: u64, end: u64, charge: &mut Charge) {
        let whole = offset.div_ceil(PAGE)..end / PAGE;
        for index in [offset / PAGE, end / PAGE] {
            let (from, to) = (offset.max(index * PAGE), end.min((index + 1) * PAGE));
            if from < to
                && !whole.contains(&index)
                && let Some(page) = self.pages.get_mut(&index)
            {
                Arc::make_mut(page)[(from - index * PAGE) as usize..(to - index * PAGE) as usize].fill(0);
            }
        }
        self.drop_pages(whole, charge);
    }

    /// The pages between two offsets, of which the first begins one, by their distance from it.
    pub(super) fn share(&self, offset: u64, end: u64) -> Vec<(u64, Page)> {
        let first = offset / PAGE;
        let pages = self.pages.range(first..end.div_ceil(PAGE));
        pages.map(|(index, page)| (index - first, Arc::clone(page))).collect()
    }

    /// Puts shared pages between two offsets in the place of what is there, or fails and changes nothing.
    pub(super) fn adopt(
        &mut self,
        offset: u64,
        end: u64,
        shared: Vec<(u64, Page)>,
        charge: &mut Charge,
    ) -> Result<()> {
        let range = offset / PAGE..end.div_ceil(PAGE);
        charge.grow(shared.len() as u64 * PAGE)?;
        self.drop_pages(range, charge);
        self.pages.extend(shared.into_iter().map(|(index, page)| (offset / PAGE + index, page)));
        Ok(())
    }

    fn drop_pages(&mut self, range: std::ops::Range<u64>, charge: &mut Charge) {
        if range.start < range.end {
            let mut tail = self.pages.split_off(&range.start);
            let mut after = tail.split_off(&range.end);
            charge.shrink(tail.len() as u64 * PAGE);
            self.pages.append(&mut after);
        }
    }

    /// Where the first page is that ends after an offset; the offset itself where it lies in one.
    pub(super) fn next_data(&self, offset: u64) -> Option<u64> {
        let (index, _) = self.pages.range(offset / PAGE..).next()?;
        Some(offset.max(index * PAGE))
    }

    /// Where the first hole is at an offset or after it.
    pub(super) fn next_hole(&self, offset: u64) -> u64 {
        let first = offset / PAGE;
        let mut expected = first;
        for (index, _) in self.pages.range(first..) {
            if *index != expected {
                break;
            }
            expected += 1;
        }
        if expected == first { offset } else { expected * PAGE }
    }

    pub(super) fn used_bytes(&self) -> u64 {
        self.pages.len() as u64 * PAGE_BYTES as u64
    }

    fn page(&mut self, index: u64, charge: &mut Charge) -> Option<&mut [u8; PAGE_BYTES]> {
        if !self.pages.contains_key(&index) {
            charge.grow(PAGE_BYTES as u64).ok()?;
        }
        Some(Arc::make_mut(self.pages.entry(index).or_insert_with(|| Page::new([0; PAGE_BYTES]))))
    }
}

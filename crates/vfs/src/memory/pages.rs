//! The data of a file: pages where something was written, holes elsewhere.

use std::collections::BTreeMap;

use super::budget::Charge;

const PAGE_BYTES: usize = 4096;

/// Sparse data. Knows no length: beyond the last page everything reads as zeros.
#[derive(Default)]
pub(super) struct Pages {
    pages: BTreeMap<u64, Box<[u8; PAGE_BYTES]>>,
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
            page[within..].fill(0);
        }
    }

    pub(super) fn used_bytes(&self) -> u64 {
        self.pages.len() as u64 * PAGE_BYTES as u64
    }

    fn page(&mut self, index: u64, charge: &mut Charge) -> Option<&mut [u8; PAGE_BYTES]> {
        if !self.pages.contains_key(&index) {
            charge.grow(PAGE_BYTES as u64).ok()?;
        }
        Some(self.pages.entry(index).or_insert_with(|| Box::new([0; PAGE_BYTES])))
    }
}

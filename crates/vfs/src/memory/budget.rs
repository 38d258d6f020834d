//! What the file system may take: bytes and objects, counted without a lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::{Error, Result, StatFs};

/// The limits and what is taken of them.
pub(super) struct Budget {
    bytes_max: u64,
    bytes: AtomicU64,
    objects_max: u64,
    objects: AtomicU64,
}

impl Budget {
    pub(super) fn new(bytes_max: u64, objects_max: u64) -> Self {
        Self { bytes_max, bytes: AtomicU64::new(0), objects_max, objects: AtomicU64::new(0) }
    }

    pub(super) fn stat_fs(&self) -> StatFs {
        let free_bytes = self.bytes_max - self.bytes.load(Relaxed);
        let free_files = self.objects_max - self.objects.load(Relaxed);
        StatFs {
            total_bytes: self.bytes_max,
            free_bytes,
            available_bytes: free_bytes,
            total_files: self.objects_max,
            free_files,
            available_files: free_files,
        }
    }
}

/// The share of one object: counts as one object and as the bytes that it grew by, until dropped.
pub(super) struct Charge {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Charge {
    /// Takes one object.
    pub(super) fn object(budget: &Arc<Budget>) -> Result<Self> {
        take(&budget.objects, 1, budget.objects_max)?;
        Ok(Self { budget: budget.clone(), bytes: 0 })
    }

    /// Takes `bytes` more; `NoSpace` and nothing taken when they are not free.
    pub(super) fn grow(&mut self, bytes: u64) -> Result<()> {
        take(&self.budget.bytes, bytes, self.budget.bytes_max)?;
        self.bytes += bytes;
        Ok(())
    }

    /// Gives back `bytes`.
    pub(super) fn shrink(&mut self, bytes: u64) {
        self.bytes -= bytes;
        self.budget.bytes.fetch_sub(bytes, Relaxed);
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.budget.bytes.fetch_sub(self.bytes, Relaxed);
        self.budget.objects.fetch_sub(1, Relaxed);
    }
}

fn take(counter: &AtomicU64, amount: u64, max: u64) -> Result<()> {
    let sum = |taken: u64| taken.checked_add(amount).filter(|sum| *sum <= max);
    counter.fetch_update(Relaxed, Relaxed, sum).map(|_| ()).map_err(|_| Error::NoSpace)
}

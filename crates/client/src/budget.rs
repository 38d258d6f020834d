//! How much may be taken and not be stable yet, in all files of a client together, and how that comes free.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::shared::Shared;
use crate::writer::{Counted, Writer};

/// What a permit of the budget stands for.
pub(crate) const BUDGET_UNIT_BYTES: usize = 4096;
/// In how many COMMITs the data are made stable that fill the budget, so that it comes free bit by bit.
const COMMITS_PER_BUDGET: usize = 16;

/// How much of the budget is in use, and so how soon what has arrived at the server is made stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pressure {
    /// Less than a quarter: whoever syncs or closes sees to it.
    Slight,
    /// One COMMIT of a file at a time.
    Moderate,
    /// More than half: COMMITs overlap, so that writers go on as fast as the server takes data.
    High,
    /// Somebody waits for the budget.
    Starving,
}

/// The permits that the budget for dirty data has.
pub(crate) fn budget_units(dirty_bytes_max: usize) -> usize {
    (dirty_bytes_max / BUDGET_UNIT_BYTES).clamp(1, tokio::sync::Semaphore::MAX_PERMITS)
}

impl Shared {
    /// Waits until so many bytes may be taken; returns the permits that they hold.
    pub(crate) async fn reserve(&self, bytes: usize) -> usize {
        let units = bytes.div_ceil(BUDGET_UNIT_BYTES).min(budget_units(self.options.dirty_bytes_max));
        let budget = &self.dirty_budget;
        let permit = match budget.try_acquire_many(units as u32) {
            Ok(permit) => Some(permit),
            Err(_) => {
                let _starving = Counted::one(&self.starving);
                self.send_all_dirty(true);
                budget.acquire_many(units as u32).await.ok()
            }
        };
        permit.map_or(0, |permit| {
            permit.forget();
            units
        })
    }

    pub(crate) fn is_starving(&self) -> bool {
        self.starving.load(Ordering::SeqCst) > 0
    }

    pub(crate) fn pressure(&self) -> Pressure {
        let all = budget_units(self.options.dirty_bytes_max);
        let used = all.saturating_sub(self.dirty_budget.available_permits());
        match used * 4 / all {
            _ if self.is_starving() => Pressure::Starving,
            0 => Pressure::Slight,
            1 => Pressure::Moderate,
            _ => Pressure::High,
        }
    }

    pub(crate) fn has_unstable_data(&self) -> bool {
        self.dirty_budget.available_permits() < budget_units(self.options.dirty_bytes_max)
    }

    /// What is taken from the budget and made stable at a time, in bytes.
    pub(crate) fn budget_part_bytes(&self) -> usize {
        let budget_bytes = budget_units(self.options.dirty_bytes_max) * BUDGET_UNIT_BYTES;
        let write_bytes = self.limits().write_bytes_max as usize;
        (budget_bytes / COMMITS_PER_BUDGET).max(write_bytes).clamp(BUDGET_UNIT_BYTES, budget_bytes)
    }

    /// A file has data that wait.
    pub(crate) fn note_dirty(&self, writer: &Arc<Writer>) {
        if self.dirty_files.lock().insert(writer.key(), Arc::downgrade(writer)).is_none() {
            self.dirty_notice.notify_one();
        }
    }

    /// The files with data that wait.
    pub(crate) fn dirty(&self) -> Vec<Arc<Writer>> {
        let mut dirty = self.dirty_files.lock();
        dirty.retain(|_, writer| writer.strong_count() > 0);
        dirty.values().filter_map(std::sync::Weak::upgrade).collect()
    }

    /// Sends what waits in all files. Without need files whose data still grow are left alone, so that what
    /// follows goes out together; with it everything is also made stable, to free the budget.
    fn send_all_dirty(&self, needed: bool) {
        for writer in self.dirty() {
            if writer.has_grown() && !needed {
                continue;
            }
            match needed {
                // Who starves is served by what is under way anyway, where there is any.
                true => {
                    writer.send_waiting();
                    writer.relieve();
                }
                false => writer.send_all(),
            }
            self.note_clean(&writer);
        }
    }

    fn note_clean(&self, writer: &Writer) {
        let mut dirty = self.dirty_files.lock();
        if !writer.has_pending() {
            dirty.remove(&writer.key());
        }
    }
}

/// Sends data that wait for more to follow for too long, as long as the client lives.
pub(crate) fn spawn_flusher(shared: &Arc<Shared>) {
    let wait = shared.options.waits.data;
    let shared = Arc::downgrade(shared);
    tokio::spawn(async move {
        while let Some(shared) = shared.upgrade().filter(|shared| !shared.is_shut_down()) {
            let idle = shared.dirty_files.lock().is_empty();
            shared.send_all_dirty(false);
            let notice = async {
                if idle {
                    shared.dirty_notice.notified().await;
                }
            };
            // Looked at again now and then: the client may have been dropped meanwhile.
            let _ = tokio::time::timeout(Duration::from_secs(1), notice).await;
            drop(shared);
            tokio::time::sleep(wait).await;
        }
    });
}

//! The memory of one connection, settled with its client's account in steps.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::{Account, CHARGES, Charge};

/// Changes of fewer bytes are not settled: requests that are answered at once write to no memory that
/// connections share.
const STEP_BYTES: u64 = 32 << 10;

/// The ledger of a connection. Dropped, it gives back everything.
#[derive(Debug)]
pub(crate) struct Ledger {
    account: Arc<Account>,
    held: [u64; CHARGES],
    settled: [u64; CHARGES],
    is_stopped: bool,
}

impl Ledger {
    pub(crate) fn new(account: Arc<Account>) -> Self {
        Self { account, held: [0; CHARGES], settled: [0; CHARGES], is_stopped: false }
    }

    pub(crate) fn account(&self) -> &Arc<Account> {
        &self.account
    }

    /// Replaces what is held of a kind, in bytes.
    pub(crate) fn set(&mut self, kind: Charge, bytes: u64) {
        self.held[kind as usize] = bytes;
    }

    /// Settles with the account what has changed, if it is much.
    pub(crate) fn settle(&mut self) {
        let moved: u64 =
            self.held.iter().zip(self.settled).map(|(held, settled)| held.abs_diff(settled)).sum();
        if moved >= STEP_BYTES || (moved > 0 && self.held == [0; CHARGES]) {
            self.settle_now();
        }
    }

    fn settle_now(&mut self) {
        let mut changes = [0; CHARGES];
        for ((change, held), settled) in changes.iter_mut().zip(self.held).zip(&mut self.settled) {
            *change = held.cast_signed() - settled.cast_signed();
            *settled = held;
        }
        self.account.change(changes);
    }

    /// True when the client is over its share.
    pub(crate) fn is_over(&self) -> bool {
        self.account.is_over()
    }

    /// True when a connection at rest is to give up what it keeps for speed.
    pub(crate) fn is_pressed(&self) -> bool {
        self.account.is_pressed()
    }

    /// Decides again whether the client is over its share.
    pub(crate) fn review(&self) {
        self.account.review();
    }

    /// Notes whether the connection is not read because of the budget.
    pub(crate) fn set_stopped(&mut self, is_stopped: bool) {
        if self.is_stopped == is_stopped {
            return;
        }
        self.is_stopped = is_stopped;
        let stopped = &self.account.budget().stopped;
        if is_stopped {
            stopped.fetch_add(1, Relaxed);
        } else {
            stopped.fetch_sub(1, Relaxed);
        }
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        self.set_stopped(false);
        self.held = [0; CHARGES];
        if self.settled != self.held {
            self.settle_now();
        }
    }
}

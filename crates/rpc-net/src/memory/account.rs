//! The account of one client.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::task::Waker;

use super::gate::Gate;
use super::{CHARGES, ClientAddress, HEAVY_BYTES, MemoryBudget, unsigned};

/// The most calls of a client that run on after their connections were closed; beyond, its other
/// connections are not read.
const ORPHANS_MAX: usize = 1024;

/// The charges of one client.
#[derive(Debug)]
pub(crate) struct Account {
    budget: Arc<MemoryBudget>,
    address: ClientAddress,
    charged: AtomicI64,
    /// Calls that run on without their connection.
    orphans: AtomicUsize,
    is_heavy: AtomicBool,
    /// Closed while the client is over its share.
    gate: Gate,
    /// More than half of the share is taken: connections at rest give up their large buffers.
    is_pressed: AtomicBool,
    /// The connection that is read although the client is over its share; 0 is none.
    turn: AtomicU64,
}

impl Account {
    pub(super) fn new(budget: Arc<MemoryBudget>, address: ClientAddress) -> Self {
        Self {
            budget,
            address,
            charged: AtomicI64::new(0),
            orphans: AtomicUsize::new(0),
            is_heavy: AtomicBool::new(false),
            gate: Gate::new(),
            is_pressed: AtomicBool::new(false),
            turn: AtomicU64::new(0),
        }
    }

    pub(crate) fn address(&self) -> ClientAddress {
        self.address
    }

    pub(crate) fn budget(&self) -> &Arc<MemoryBudget> {
        &self.budget
    }

    pub(super) fn charged_bytes(&self) -> u64 {
        unsigned(self.charged.load(Ordering::Relaxed))
    }

    /// True when the client's connections are not to be read.
    pub(crate) fn is_over(&self) -> bool {
        self.gate.is_closed()
    }

    /// True when connections at rest are to give up what they keep for speed.
    pub(super) fn is_pressed(&self) -> bool {
        self.is_pressed.load(Ordering::Relaxed)
    }

    /// Changes the charge, by kind, in bytes.
    pub(super) fn change(&self, changes: [i64; CHARGES]) {
        for (all, change) in self.budget.charged.iter().zip(changes) {
            if change != 0 {
                all.fetch_add(change, Ordering::Relaxed);
            }
        }
        self.charged.fetch_add(changes.iter().sum(), Ordering::Relaxed);
        self.review();
    }

    /// Counts calls that run on after their connection was closed.
    pub(crate) fn add_orphans(&self, calls: usize) {
        self.orphans.fetch_add(calls, Ordering::Relaxed);
        self.review();
    }

    /// Such a call has ended.
    pub(crate) fn end_orphan(&self) {
        self.orphans.fetch_sub(1, Ordering::Relaxed);
        self.review();
    }

    /// Decides again whether the client is over its share, and wakes its connections if it is not.
    pub(crate) fn review(&self) {
        let charged = self.charged_bytes();
        let is_heavy = charged > HEAVY_BYTES;
        if self.is_heavy.load(Ordering::Relaxed) != is_heavy
            && self.is_heavy.swap(is_heavy, Ordering::Relaxed) != is_heavy
        {
            if is_heavy {
                self.budget.heavy.fetch_add(1, Ordering::Relaxed);
            } else {
                self.budget.heavy.fetch_sub(1, Ordering::Relaxed);
            }
        }
        self.is_pressed.store(charged > self.budget.share_bytes() / 2, Ordering::Relaxed);
        self.gate.review(|| {
            self.charged_bytes() > self.budget.share_bytes()
                || self.orphans.load(Ordering::Relaxed) > ORPHANS_MAX
        });
    }

    /// Has `waker` woken when the client is below its share, or the turn of a connection has ended. To be
    /// followed by a look at [`Account::is_over`].
    pub(crate) fn wait(&self, waker: &Waker) {
        self.gate.wait(waker);
    }

    /// Lets a connection with nothing under way have one request although the client is over its share, if
    /// no other has the turn: so requests of which parts have come on many connections are completed one
    /// after the other.
    pub(crate) fn take_turn(&self, connection: u64) -> bool {
        let taken = self.turn.compare_exchange(0, connection, Ordering::AcqRel, Ordering::Acquire);
        taken.is_ok() || taken == Err(connection)
    }

    /// Ends the turn of a connection, if it has it.
    pub(crate) fn end_turn(&self, connection: u64) {
        if self.turn.compare_exchange(connection, 0, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            self.gate.wake();
        }
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        if *self.is_heavy.get_mut() {
            self.budget.heavy.fetch_sub(1, Ordering::Relaxed);
        }
        self.budget.forget(self.address);
    }
}

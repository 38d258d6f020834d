//! The time after a restart in which clients take back what they held (RFC 8881 §8.4.2).
//!
//! ```text
//!   clients known from before ──▶ grace ──all have reclaimed, or time is up──▶ ending ──records on disk──▶ over
//! ```
//! The time is one lease, and goes on while clients reclaim, up to two leases: a client that is slow, or
//! found the network busy after the restart, still gets all of it back.
//!
//! Whoever runs the server writes down that the grace period is over before anything is given that a client
//! might have reclaimed: a second crash must not let a late client take back what others hold by then
//! (§8.4.3).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use parking_lot::Mutex;
use proto::nfs4::Status;

use crate::{Client, FileId, Lost, Now, Principal, State, record_name};

/// The grace period ends when nothing was reclaimed for this part of a lease.
const QUIET: u64 = 8;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Grace {
    active: AtomicBool,
    /// [`Inner::awaited`] is not empty. READ and WRITE look at it without the mutex.
    awaits_clients: AtomicBool,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    until: Now,
    /// The end, however much is reclaimed then.
    latest: Now,
    /// Those who held state before the restart, as [`record_name`] has them, and what of it they lost before.
    known: BTreeMap<Bytes, Lost>,
    /// Those of them that have not said yet that they are done.
    awaited: BTreeSet<Bytes>,
    /// Hosts that lock through NLM held locks too; they never say that they are done.
    hosts: bool,
}

impl State {
    /// Begins a grace period for the clients that were recorded under these names ([`record_name`]), each
    /// with what it may not take back, for it was revoked and the client may not know (RFC 8881 §8.4.3); with
    /// none there is nothing to wait for, and none begins.
    ///
    /// To be called before the first request.
    pub fn begin_grace(&self, names: impl IntoIterator<Item = (Bytes, Lost)>, now: Now) {
        let known: BTreeMap<Bytes, Lost> = names.into_iter().collect();
        if known.is_empty() {
            return;
        }
        let (until, latest) = self.grace_bounds(now);
        let awaited = known.keys().cloned().collect();
        *self.grace.inner.lock() = Inner { until, latest, awaited, known, hosts: false };
        // Users of other protocols must look at the table of state from now on.
        self.clients.seen.store(true, Ordering::Relaxed);
        self.grace.awaits_clients.store(true, Ordering::SeqCst);
        self.grace.active.store(true, Ordering::SeqCst);
    }

    /// Begins a grace period for hosts that held locks through NLM, beside clients that
    /// [`State::begin_grace`] was called for before: it lasts until its time is up, for such a host has no
    /// way to say that it is done.
    ///
    /// To be called before the first request.
    pub fn begin_grace_of_hosts(&self, now: Now) {
        let mut inner = self.grace.inner.lock();
        (inner.until, inner.latest) = self.grace_bounds(now);
        inner.hosts = true;
        self.clients.seen.store(true, Ordering::Relaxed);
        self.grace.active.store(true, Ordering::SeqCst);
    }

    fn grace_bounds(&self, now: Now) -> (Now, Now) {
        let after = |leases| Now(now.0.saturating_add(self.limits.lease_ms().saturating_mul(leases)));
        (after(1), after(2))
    }

    /// Notes that something is reclaimed: the grace period goes on for a while.
    pub fn note_reclaim(&self, now: Now) {
        if self.in_grace() {
            let mut inner = self.grace.inner.lock();
            let quiet = Now(now.0.saturating_add(self.limits.lease_ms() / QUIET)).min(inner.latest);
            inner.until = inner.until.max(quiet);
        }
    }

    /// True while only what was held before the restart may be had.
    pub fn in_grace(&self) -> bool {
        self.grace.active.load(Ordering::SeqCst)
    }

    /// True while an NFSv4 client may reclaim opens and delegations. A delegation that is not reclaimed
    /// yet may forbid changes, and reads by callers without state (RFC 8881 §8.4.2.1). Hosts that lock
    /// through NLM do not count, for their locks are advisory.
    pub fn awaits_clients(&self) -> bool {
        self.grace.awaits_clients.load(Ordering::SeqCst)
    }

    /// Clients that held state before the restart and are not done reclaiming.
    pub fn awaited_clients(&self) -> usize {
        self.grace.inner.lock().awaited.len()
    }

    /// True when nobody is waited for any more: [`State::end_grace`] is due, once that is written down.
    pub fn grace_may_end(&self, now: Now) -> bool {
        if !self.in_grace() {
            return false;
        }
        let inner = self.grace.inner.lock();
        (inner.awaited.is_empty() && !inner.hosts) || now >= inner.until
    }

    /// Ends the grace period.
    pub fn end_grace(&self) {
        self.grace.active.store(false, Ordering::SeqCst);
        self.grace.awaits_clients.store(false, Ordering::SeqCst);
        *self.grace.inner.lock() = Inner::default();
    }

    /// Ends the reclaiming of a client (RFC 8881 §18.51).
    ///
    /// # Errors
    /// COMPLETE_ALREADY the second time.
    pub fn reclaim_complete(&self, client: &Client) -> Result<(), Status> {
        client.complete_reclaim()?;
        if self.in_grace() {
            let mut inner = self.grace.inner.lock();
            inner.awaited.remove(&client.record_name());
            if inner.awaited.is_empty() {
                self.grace.awaits_clients.store(false, Ordering::SeqCst);
            }
        }
        Ok(())
    }

    /// True for an owner that held state before the restart, and the principal that it had then.
    pub(crate) fn is_known(&self, owner: &Bytes, principal: &Principal) -> bool {
        self.in_grace() && self.grace.inner.lock().known.contains_key(&record_name(owner, principal))
    }

    /// Checks that a client may take back some of what it held.
    ///
    /// # Errors
    /// NO_GRACE outside of the grace period, for a client that has said that it is done, and for one that may
    /// not know what it had lost before; RECLAIM_BAD for one that held nothing (RFC 8881 §8.4.2.1, §8.4.3,
    /// §15.1.9).
    pub fn check_reclaim(&self, client: &Client) -> Result<(), Status> {
        self.check_reclaim_unless(client, Lost::is_everything)
    }

    /// Checks that a client may take back what it held of a file, and notes that it does.
    ///
    /// # Errors
    /// As [`State::check_reclaim`].
    pub(crate) fn begin_reclaim(&self, client: &Client, file: FileId, now: Now) -> Result<(), Status> {
        self.check_reclaim_unless(client, |lost| lost.covers(file))?;
        self.note_reclaim(now);
        Ok(())
    }

    fn check_reclaim_unless(&self, client: &Client, is_lost: impl Fn(&Lost) -> bool) -> Result<(), Status> {
        if client.has_reclaimed() || !self.in_grace() {
            return Err(Status::NoGrace);
        }
        if !client.may_reclaim() {
            return Err(Status::ReclaimBad);
        }
        let (inner, name) = (self.grace.inner.lock(), client.record_name());
        match inner.known.get(&name) {
            Some(lost) if !is_lost(lost) && inner.awaited.contains(&name) => Ok(()),
            // The grace period has ended this moment, or another client may have the state. Or an earlier
            // life of the client has sent RECLAIM_COMPLETE: others may have changed the file since.
            _ => Err(Status::NoGrace),
        }
    }

    /// Checks that a client may be given state that it did not have before.
    ///
    /// # Errors
    /// GRACE in the grace period, and before the client's RECLAIM_COMPLETE (RFC 8881 §18.51.3).
    pub fn check_new_state(&self, client: &Client) -> Result<(), Status> {
        if self.in_grace() || !client.has_reclaimed() { Err(Status::Grace) } else { Ok(()) }
    }
}

//! The hosts that lock through NLM and must be notified when this server restarts (NSM): each is on stable
//! storage before its first lock is granted, and removed some time after it has released its last.

mod restart;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use proto::nfs4::Status;
use state::{Now, fits_share, share_address};

pub use restart::Restart;

use crate::callbacks::Callbacks;
use crate::hosts::HostRoute;
use crate::lock_waiters::LockWaiters;
use crate::runtime::BoxFuture;
use crate::service_core::ServiceCore;
use crate::stable::{StableRecords, StoredHost};

/// Hosts that are recorded.
const HOSTS_MAX: usize = 16_384;
/// Hosts of one address that are recorded: names are the client's choice.
const HOSTS_PER_ADDRESS_MAX: usize = 64;
/// Hosts whose last NOTIFY is remembered.
const RESTARTED_MAX: usize = 4096;
/// Pause between two searches of the full table for idle hosts.
const EVICT_PAUSE_MS: u64 = 1000;
/// How long a host holds nothing before it is forgotten.
const IDLE_MS: u64 = 30_000;

/// Records the hosts that hold locks, and notifies them of a restart.
pub(crate) struct HostMonitor {
    core: ServiceCore,
    stable: Arc<dyn StableRecords>,
    callbacks: Arc<Callbacks>,
    lock_waiters: Arc<LockWaiters>,
    table: Mutex<HostTable>,
}

#[derive(Default)]
struct HostTable {
    known: BTreeMap<Bytes, MonitoredHost>,
    /// Hosts of each address.
    counts: BTreeMap<IpAddr, usize>,
    evicted: Option<Now>,
    /// Hosts that held locks before the restart.
    may_reclaim: BTreeSet<Bytes>,
    /// The state numbers of the last NOTIFY.
    restarted: BTreeMap<Bytes, i32>,
    looked: Now,
}

/// A host that is recorded, or about to be.
struct MonitoredHost {
    /// The address as shares are counted.
    address: IpAddr,
    recorded: bool,
    /// Since when it has been seen without locks.
    idle_since: Option<Now>,
}

impl HostMonitor {
    pub(crate) fn new(
        core: ServiceCore,
        stable: Arc<dyn StableRecords>,
        callbacks: Arc<Callbacks>,
        lock_waiters: Arc<LockWaiters>,
    ) -> Self {
        Self { core, stable, callbacks, lock_waiters, table: Mutex::default() }
    }

    fn is_in_table(&self, host: &Bytes) -> bool {
        self.table.lock().known.get(host).is_some_and(|known| known.recorded)
    }

    /// Takes a place for a host; false when its address has its share already or the table is full.
    fn reserve(&self, host: &Bytes, address: IpAddr) -> bool {
        let mut inner = self.table.lock();
        if inner.known.contains_key(host) {
            return true;
        }
        let address = share_address(address);
        let of_address = inner.counts.get(&address).copied().unwrap_or(0);
        if !fits_share(of_address, HOSTS_PER_ADDRESS_MAX, inner.known.len(), HOSTS_MAX) {
            return false;
        }
        inner.counts.insert(address, of_address + 1);
        inner.known.insert(host.clone(), MonitoredHost { address, recorded: false, idle_since: None });
        true
    }

    fn recorded(&self, host: &Bytes) {
        if let Some(known) = self.table.lock().known.get_mut(host) {
            known.recorded = true;
        }
    }

    /// Hosts that held locks before the restart may take them back in the grace period.
    pub(crate) fn let_hosts_reclaim(&self, hosts: impl IntoIterator<Item = Bytes>) {
        self.table.lock().may_reclaim.extend(hosts);
    }

    /// True for a restart of a host that no NOTIFY has told of before.
    pub(crate) fn is_new_restart(&self, host: &Bytes, state_number: i32) -> bool {
        let mut inner = self.table.lock();
        if inner.restarted.len() >= RESTARTED_MAX && !inner.restarted.contains_key(host) {
            inner.restarted.clear();
        }
        inner.restarted.insert(host.clone(), state_number) != Some(state_number)
    }

    /// True for a host that held locks before the restart, as far as that is known.
    pub(crate) fn may_host_reclaim(&self, host: &Bytes) -> bool {
        !self.stable.keeps_hosts() || self.table.lock().may_reclaim.contains(host)
    }

    /// True for a host whose record need not be written before a lock.
    pub(crate) fn is_host_recorded(&self, host: &Bytes) -> bool {
        !self.stable.keeps_hosts() || self.is_in_table(host)
    }

    /// Makes sure that a host is on stable storage, so that it is told of a restart and may take back what it
    /// is about to be given.
    ///
    /// # Errors
    /// DELAY when there are too many, or when it cannot be written.
    pub(crate) async fn record_host(&self, host: &Bytes, route: HostRoute) -> Result<(), Status> {
        if self.is_host_recorded(host) {
            return Ok(());
        }
        if !self.reserve(host, route.address) {
            // Idle hosts give way. Their records go first: a host is never told of a restart for a place
            // that another has.
            for removal in self.begin_evicting(route.address) {
                if let Err(error) = removal.await {
                    tracing::error!(%error, "the record of an idle host could not be removed");
                }
            }
        }
        if !self.reserve(host, route.address) {
            tracing::debug!(host = %String::from_utf8_lossy(host), "too many hosts hold locks");
            return Err(Status::Delay);
        }
        match self.stable.add_host(StoredHost { name: host.clone(), route }).await {
            Ok(()) => {
                self.recorded(host);
                Ok(())
            }
            Err(error) => {
                tracing::debug!(%error, "a host could not be recorded, and is given no lock");
                Err(Status::Delay)
            }
        }
    }

    /// Removes the records of hosts that have held nothing for a while.
    pub(crate) async fn forget_idle_hosts(&self, now: Now) {
        for removal in self.begin_forgetting(now) {
            if let Err(error) = removal.await {
                // Until it is removed a restart would tell it for nothing.
                tracing::debug!(%error, "the record of a host is removed later");
            }
        }
    }

    fn begin_forgetting(&self, now: Now) -> Vec<BoxFuture<std::io::Result<()>>> {
        let mut inner = self.table.lock();
        if inner.known.is_empty() || now.since_ms(inner.looked) < IDLE_MS / 3 {
            return Vec::new();
        }
        inner.looked = now;
        self.remove_idle(&mut inner, now, |_, idle_ms| idle_ms >= IDLE_MS)
    }

    /// Removes the idle hosts of an address that has its share, and of a full table all idle hosts.
    fn begin_evicting(&self, address: IpAddr) -> Vec<BoxFuture<std::io::Result<()>>> {
        let mut inner = self.table.lock();
        let now = self.core.now();
        if inner.evicted.is_some_and(|evicted| now.since_ms(evicted) < EVICT_PAUSE_MS) {
            return Vec::new();
        }
        inner.evicted = Some(now);
        let (address, is_full) = (share_address(address), inner.known.len() >= HOSTS_MAX / 2);
        self.remove_idle(&mut inner, now, |known, _| is_full || known.address == address)
    }

    /// Removes the hosts that hold nothing, wait for nothing and have no call under way, where `gone` says
    /// so of one and the time since it was first seen idle.
    fn remove_idle(
        &self,
        inner: &mut HostTable,
        now: Now,
        gone: impl Fn(&MonitoredHost, u64) -> bool,
    ) -> Vec<BoxFuture<std::io::Result<()>>> {
        // Under the mutex: a call that begins now finds its host recorded, or records it again.
        let waiting = self.lock_waiters.waiting_hosts();
        let mut removals = Vec::new();
        let HostTable { known, counts, .. } = inner;
        known.retain(|host, known| {
            if self.core.state().nlm_holds(host) || waiting.binary_search(host).is_ok() {
                known.idle_since = None;
                return true;
            }
            let since = *known.idle_since.get_or_insert(now);
            if !gone(known, now.since_ms(since)) {
                return true;
            }
            match counts.get_mut(&known.address) {
                Some(count) if *count > 1 => *count -= 1,
                _ => drop(counts.remove(&known.address)),
            }
            // Asked for before the host can be found not recorded, and recorded again.
            removals.push(self.stable.remove_host(host.clone()));
            false
        });
        removals
    }
}

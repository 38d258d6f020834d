//! The hosts that lock through NLM and are to be told when this server restarts: each is on stable storage
//! before it is given its first lock, and removed some time after it has given back its last.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use parking_lot::Mutex;
use proto::nfs4::Status;
use state::{Now, fits_share, share_address};

use super::Recaller;
use crate::hosts::{CallHosts, HostRoute, NoHosts};
use crate::runtime::BoxFuture;
use crate::stable::StoredHost;

/// Hosts that are recorded.
const HOSTS_MAX: usize = 16_384;
/// Hosts of one address that are recorded: names are the client's choice.
const HOSTS_PER_ADDRESS_MAX: usize = 64;
/// Addresses of which it is known that nobody answers there.
const SILENT_MAX: usize = 4096;
/// Hosts whose last NOTIFY is remembered.
const RESTARTED_MAX: usize = 4096;
/// Pause between two searches of the full table for idle hosts.
const EVICT_PAUSE_MS: u64 = 1000;
/// How long a host holds nothing before it is forgotten.
const IDLE_MS: u64 = 30_000;

/// See the module.
#[derive(Default)]
pub(super) struct Hosts {
    caller: OnceLock<Arc<dyn CallHosts>>,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    known: BTreeMap<Bytes, Known>,
    /// Of each address.
    counts: BTreeMap<IpAddr, usize>,
    evicted: Option<Now>,
    /// Those that held locks before the restart.
    may_reclaim: BTreeSet<Bytes>,
    silent: BTreeSet<IpAddr>,
    /// The state numbers of the last NOTIFY.
    restarted: BTreeMap<Bytes, i32>,
    looked: Now,
}

struct Known {
    /// As shares are counted.
    address: IpAddr,
    recorded: bool,
    /// Since when it has been seen without locks.
    idle_since: Option<Now>,
}

impl Hosts {
    /// Who calls hosts; nobody as long as none was named.
    pub(super) fn caller(&self) -> &dyn CallHosts {
        self.caller.get().map_or(&NoHosts, |caller| &**caller)
    }

    /// Notes that nobody answers at an address; true when that is news.
    pub(super) fn does_not_answer(&self, address: IpAddr) -> bool {
        let mut inner = self.inner.lock();
        if inner.silent.len() >= SILENT_MAX {
            inner.silent.clear();
        }
        inner.silent.insert(address)
    }

    pub(super) fn has_answered(&self, address: IpAddr) {
        self.inner.lock().silent.remove(&address);
    }

    fn is_recorded(&self, host: &Bytes) -> bool {
        self.inner.lock().known.get(host).is_some_and(|known| known.recorded)
    }

    /// Takes a place for a host; false when its address has its share already or the table is full.
    fn reserve(&self, host: &Bytes, address: IpAddr) -> bool {
        let mut inner = self.inner.lock();
        if inner.known.contains_key(host) {
            return true;
        }
        let address = share_address(address);
        let of_address = inner.counts.get(&address).copied().unwrap_or(0);
        if !fits_share(of_address, HOSTS_PER_ADDRESS_MAX, inner.known.len(), HOSTS_MAX) {
            return false;
        }
        inner.counts.insert(address, of_address + 1);
        inner.known.insert(host.clone(), Known { address, recorded: false, idle_since: None });
        true
    }

    fn recorded(&self, host: &Bytes) {
        if let Some(known) = self.inner.lock().known.get_mut(host) {
            known.recorded = true;
        }
    }
}

impl Recaller {
    /// From now on hosts can be called, and so wait for locks.
    pub fn call_hosts_by(&self, caller: Arc<dyn CallHosts>) {
        // Only the first counts: it is named once, before the first request.
        let _ = self.inner.hosts.caller.set(caller);
    }

    /// True when hosts can be called.
    pub(crate) fn can_call_hosts(&self) -> bool {
        self.inner.hosts.caller().can_call()
    }

    /// Hosts that held locks before the restart may take them back in the grace period.
    pub fn let_hosts_reclaim(&self, hosts: impl IntoIterator<Item = Bytes>) {
        self.inner.hosts.inner.lock().may_reclaim.extend(hosts);
    }

    /// True for a restart of a host that no NOTIFY has told of before.
    pub(crate) fn is_new_restart(&self, host: &Bytes, state_number: i32) -> bool {
        let mut inner = self.inner.hosts.inner.lock();
        if inner.restarted.len() >= RESTARTED_MAX && !inner.restarted.contains_key(host) {
            inner.restarted.clear();
        }
        inner.restarted.insert(host.clone(), state_number) != Some(state_number)
    }

    /// True for a host that held locks before the restart, as far as that is known.
    pub(crate) fn may_host_reclaim(&self, host: &Bytes) -> bool {
        !self.inner.stable.keeps_hosts() || self.inner.hosts.inner.lock().may_reclaim.contains(host)
    }

    /// True for a host whose record need not be written before a lock.
    pub(crate) fn is_host_recorded(&self, host: &Bytes) -> bool {
        !self.inner.stable.keeps_hosts() || self.inner.hosts.is_recorded(host)
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
        if !self.inner.hosts.reserve(host, route.address) {
            // Idle hosts give way. Their records go first: a host is never told of a restart for a place
            // that another has.
            for removal in self.begin_evicting(route.address) {
                if let Err(error) = removal.await {
                    tracing::error!(%error, "the record of an idle host could not be removed");
                }
            }
        }
        if !self.inner.hosts.reserve(host, route.address) {
            tracing::debug!(host = %String::from_utf8_lossy(host), "too many hosts hold locks");
            return Err(Status::Delay);
        }
        match self.inner.stable.add_host(StoredHost { name: host.clone(), route }).await {
            Ok(()) => {
                self.inner.hosts.recorded(host);
                Ok(())
            }
            Err(error) => {
                tracing::debug!(%error, "a host could not be recorded, and is given no lock");
                Err(Status::Delay)
            }
        }
    }

    /// Removes the records of hosts that have held nothing for a while.
    pub(super) async fn forget_idle_hosts(&self, now: Now) {
        for removal in self.begin_forgetting(now) {
            if let Err(error) = removal.await {
                // Until it is removed a restart would tell it for nothing.
                tracing::debug!(%error, "the record of a host is removed later");
            }
        }
    }

    fn begin_forgetting(&self, now: Now) -> Vec<BoxFuture<std::io::Result<()>>> {
        let mut inner = self.inner.hosts.inner.lock();
        if inner.known.is_empty() || now.since_ms(inner.looked) < IDLE_MS / 3 {
            return Vec::new();
        }
        inner.looked = now;
        self.remove_idle(&mut inner, now, |_, idle_ms| idle_ms >= IDLE_MS)
    }

    /// Removes the idle hosts of an address that has its share, and of a full table all idle hosts.
    fn begin_evicting(&self, address: IpAddr) -> Vec<BoxFuture<std::io::Result<()>>> {
        let mut inner = self.inner.hosts.inner.lock();
        let now = self.now();
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
        inner: &mut Inner,
        now: Now,
        gone: impl Fn(&Known, u64) -> bool,
    ) -> Vec<BoxFuture<std::io::Result<()>>> {
        // Under the mutex: a call that begins now finds its host recorded, or records it again.
        let waiting = self.waiting_hosts();
        let mut removals = Vec::new();
        let Inner { known, counts, .. } = inner;
        known.retain(|host, known| {
            if self.state().nlm_holds(host) || waiting.binary_search(host).is_ok() {
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
            removals.push(self.inner.stable.remove_host(host.clone()));
            false
        });
        removals
    }
}

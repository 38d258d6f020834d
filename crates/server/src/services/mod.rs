//! The services of shared state, and the owner of them all.
//!
//! ```text
//!   StateService ─▶ HostMonitor ─▶ LockWaiters ─▶ Delegations ─▶ Clients ─▶ Recovery
//!                        └──────────────┴──────────────┴─▶ Callbacks
//! ```
//! A service calls those below it and holds no reference to those above. State that is released wakes the
//! operations that are held by an event that all services share.

mod administration;
mod conflicts;
mod observation;

use std::sync::Arc;

use bytes::Bytes;
use state::{Now, State};

pub use observation::{Observation, StateCounts};

use crate::callbacks::Callbacks;
use crate::clients::Clients;
use crate::delegations::Delegations;
use crate::host_monitor::{HostMonitor, Restart};
use crate::hosts::CallHosts;
use crate::lock_waiters::LockWaiters;
use crate::metrics::Events;
use crate::recovery::Recovery;
use crate::runtime::Runtime;
use crate::service_core::ServiceCore;
use crate::stable::StableRecords;

/// The services of shared state. Clones share everything.
#[derive(Clone)]
pub struct StateService {
    services: Arc<Services>,
}

struct Services {
    core: ServiceCore,
    callbacks: Arc<Callbacks>,
    recovery: Arc<Recovery>,
    clients: Arc<Clients>,
    delegations: Arc<Delegations>,
    lock_waiters: Arc<LockWaiters>,
    host_monitor: Arc<HostMonitor>,
}

impl std::fmt::Debug for StateService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StateService").finish_non_exhaustive()
    }
}

impl StateService {
    /// Serves `state`, with records in `stable`.
    pub fn new(state: Arc<State>, world: Arc<dyn Runtime>, stable: Arc<dyn StableRecords>) -> Self {
        let core = ServiceCore::new(state, world);
        let callbacks = Arc::new(Callbacks::new(core.clone()));
        let recovery = Arc::new(Recovery::new(core.clone(), Arc::clone(&stable)));
        let clients = Arc::new(Clients::new(core.clone(), Arc::clone(&recovery)));
        let delegations = Arc::new(Delegations::new(
            core.clone(),
            Arc::clone(&callbacks),
            Arc::clone(&recovery),
            Arc::clone(&clients),
        ));
        let lock_waiters =
            Arc::new(LockWaiters::new(core.clone(), Arc::clone(&callbacks), Arc::clone(&delegations)));
        let host_monitor = Arc::new(HostMonitor::new(
            core.clone(),
            stable,
            Arc::clone(&callbacks),
            Arc::clone(&lock_waiters),
        ));
        let services =
            Services { core, callbacks, recovery, clients, delegations, lock_waiters, host_monitor };
        Self { services: Arc::new(services) }
    }

    /// The counters of rare events.
    pub fn events(&self) -> &Arc<Events> {
        self.services.core.events()
    }

    pub(crate) fn now(&self) -> Now {
        self.services.core.now()
    }

    pub(crate) fn state(&self) -> &Arc<State> {
        self.services.core.state()
    }

    pub(crate) fn world(&self) -> &Arc<dyn Runtime> {
        self.services.core.world()
    }

    fn wake_held(&self) {
        self.services.core.wake_held();
    }

    pub(crate) fn callbacks(&self) -> &Callbacks {
        &self.services.callbacks
    }

    pub(crate) fn recovery(&self) -> &Recovery {
        &self.services.recovery
    }

    pub(crate) fn clients(&self) -> &Clients {
        &self.services.clients
    }

    pub(crate) fn delegations(&self) -> &Arc<Delegations> {
        &self.services.delegations
    }

    pub(crate) fn lock_waiters(&self) -> &Arc<LockWaiters> {
        &self.services.lock_waiters
    }

    pub(crate) fn host_monitor(&self) -> &Arc<HostMonitor> {
        &self.services.host_monitor
    }

    /// Ends all that is overdue; to be called about once a second.
    pub async fn tick(&self) {
        let now = self.now();
        self.state().tick(now);
        self.delegations().revoke_overdue().await;
        self.clients().tick(now).await;
        self.recovery().end_grace_if_due().await;
        self.recovery().forget_ended_sessions().await;
        self.host_monitor().forget_idle_hosts(now).await;
        self.callbacks().forget_ended_sessions();
        self.delegations().forget_ended();
        self.lock_waiters().notify_lock_waiters(now);
        self.delegations().recall_any_if_many(now);
    }

    /// Sets the caller of hosts, without which no host can wait for a lock. Only the first call has an
    /// effect.
    pub fn call_hosts_by(&self, caller: Arc<dyn CallHosts>) {
        self.callbacks().hosts().set_caller(caller);
    }

    /// Lets the hosts that held locks before the restart reclaim them in the grace period.
    pub fn let_hosts_reclaim(&self, hosts: impl IntoIterator<Item = Bytes>) {
        self.host_monitor().let_hosts_reclaim(hosts);
    }

    /// Notifies hosts of a restart, for at most a quarter of an hour; to be run once requests are served.
    pub async fn tell_hosts(&self, restart: Restart) {
        self.host_monitor().tell_hosts(restart).await;
    }
}

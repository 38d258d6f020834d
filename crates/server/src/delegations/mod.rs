//! Recallable state: the recall, return and revocation of delegations (RFC 8881 §10.2), and of each further
//! kind. The rules of a kind are in [`state::recallable`], with the callback that recalls it.
//!
//! An operation in conflict is *held* while the recall runs, and continues as soon as the grant is returned.
//! When that takes longer than a short deadline, its client is answered DELAY and tries again.

mod get_attr;
mod grant;
mod local_changes;
mod nameless;
mod names;
mod recall;
mod recall_any;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::future::{Either, select};
use parking_lot::Mutex;
use proto::nfs4::{ClientId, StateId, StateOther, Status};
use state::recallable::Class;
use state::{Blocked, Changing, Client, FileId, Now, Obstacles};
use vfs::{Tell, Watch};

pub(crate) use get_attr::HolderAttributes;
pub(crate) use grant::{DelegationGrant, GrantedTimes, SlotRequest};
use names::NamesTaken;
pub use names::TakenNames;

use crate::callbacks::Callbacks;
use crate::clients::Clients;
use crate::recovery::Recovery;
use crate::service_core::ServiceCore;

/// How long an operation is held before its client is answered DELAY.
const HOLD: Duration = Duration::from_secs(4);

/// A grant, and the watch on its object where there is one.
type WatchedGrant = (DelegationGrant, Option<Watch>);

/// Recalls grants of every kind, and holds operations until no grant is in conflict with them.
pub(crate) struct Delegations {
    core: ServiceCore,
    callbacks: Arc<Callbacks>,
    recovery: Arc<Recovery>,
    clients: Arc<Clients>,
    /// Grants by the fixed bytes of their stateid.
    granted: Mutex<BTreeMap<StateOther, WatchedGrant>>,
    /// Receives the changes of delegated objects that are made on the server's own machine.
    tell: OnceLock<Tell>,
    names: Arc<NamesTaken>,
    /// The time of the last CB_RECALL_ANY.
    trimmed: Mutex<Now>,
}

impl Delegations {
    pub(crate) fn new(
        core: ServiceCore,
        callbacks: Arc<Callbacks>,
        recovery: Arc<Recovery>,
        clients: Arc<Clients>,
    ) -> Self {
        Self {
            core,
            callbacks,
            recovery,
            clients,
            granted: Mutex::default(),
            tell: OnceLock::new(),
            names: Arc::default(),
            trimmed: Mutex::default(),
        }
    }

    /// Notes a new grant. The object is watched until the grant ends.
    pub(crate) fn delegated(&self, id: &StateId, grant: DelegationGrant, watch: Option<Watch>) {
        self.granted.lock().insert(id.other, (grant, watch));
    }

    fn granted(&self, id: &StateId) -> Option<DelegationGrant> {
        self.granted.lock().get(&id.other).map(|(grant, _)| *grant)
    }

    /// Ends a grant of `class` that its holder returns, and wakes the operations that are held.
    ///
    /// # Errors
    /// As [`State::return_grant`](state::State::return_grant); then nothing has ended.
    pub(crate) fn return_grant(&self, client: &Client, id: &StateId, class: Class) -> Result<(), Status> {
        let returned = self.core.state().return_grant(client, id, class)?;
        if let Some(recalled) = returned.recalled {
            self.core.events().recall_times.add(self.core.now().since_ms(recalled));
        }
        self.grant_ended(id);
        Ok(())
    }

    /// Notes the return or the revocation of a grant, and wakes the operations that are held.
    pub(crate) fn grant_ended(&self, id: &StateId) {
        self.granted.lock().remove(&id.other);
        self.core.wake_held();
    }

    /// Forgets the grants of clients that have ended.
    pub(crate) fn forget_ended(&self) {
        let mut granted = self.granted.lock();
        if granted.len() > self.core.state().grant_count() {
            granted.retain(|other, (grant, _)| self.core.state().is_granted(grant.file, other));
        }
    }

    /// Begins a change of a file, once all conflicting delegations have been returned.
    pub(crate) async fn begin_change(
        self: &Arc<Self>,
        file: FileId,
        client: Option<ClientId>,
    ) -> Result<Changing<'_>, Status> {
        self.hold(|| self.core.state().begin_change(file, client, self.core.now())).await
    }

    /// Begins a change of a directory's entries, once all conflicting delegations have been returned.
    pub(crate) async fn begin_entry_change(
        self: &Arc<Self>,
        directory: FileId,
        client: Option<ClientId>,
    ) -> Result<Changing<'_>, Status> {
        self.hold(|| self.core.state().begin_entry_change(directory, client, self.core.now())).await
    }

    /// Waits until all delegations that conflict with a read of a file have been returned.
    pub(crate) async fn before_read(
        self: &Arc<Self>,
        file: FileId,
        client: Option<ClientId>,
    ) -> Result<(), Status> {
        self.hold(|| {
            let obstacles = self.core.state().read_conflicts(file, client, self.core.now());
            if obstacles.is_empty() { Ok(()) } else { Err(Blocked::By(obstacles)) }
        })
        .await
    }

    /// Repeats an attempt until no state is in conflict with it. Meanwhile grants are recalled and clients
    /// whose lease is over are expelled.
    ///
    /// # Errors
    /// The status of the attempt; DELAY when state stays in conflict for longer than [`HOLD`].
    pub(crate) async fn hold<T>(
        self: &Arc<Self>,
        attempt: impl FnMut() -> Result<T, Blocked>,
    ) -> Result<T, Status> {
        self.hold_since(None, attempt).await
    }

    /// Like [`Delegations::hold`], for an operation that has waited since `since`.
    async fn hold_since<T>(
        self: &Arc<Self>,
        since: Option<Now>,
        mut attempt: impl FnMut() -> Result<T, Blocked>,
    ) -> Result<T, Status> {
        let mut obstacles = match attempt() {
            Ok(done) => return Ok(done),
            Err(Blocked::Status(status)) => return Err(status),
            Err(Blocked::By(obstacles)) => obstacles,
        };
        let waited = since.map_or(0, |since| self.core.now().since_ms(since));
        let mut deadline = self.core.world().sleep(HOLD.saturating_sub(Duration::from_millis(waited)));
        loop {
            let returned = self.core.released();
            self.remove(obstacles).await;
            // A grant may have been returned between the attempt and `released`: try again.
            obstacles = match attempt() {
                Ok(done) => return Ok(done),
                Err(Blocked::Status(status)) => return Err(status),
                Err(Blocked::By(again)) => again,
            };
            self.send_recalls(&obstacles.recalls);
            match select(returned, deadline).await {
                Either::Left(((), rest)) => deadline = rest,
                Either::Right(_) => return self.last(attempt()),
            }
        }
    }

    fn last<T>(self: &Arc<Self>, attempt: Result<T, Blocked>) -> Result<T, Status> {
        attempt.map_err(|blocked| match blocked {
            Blocked::Status(status) => status,
            Blocked::By(obstacles) => {
                self.send_recalls(&obstacles.recalls);
                Status::Delay
            }
        })
    }

    async fn remove(self: &Arc<Self>, obstacles: Obstacles) {
        self.send_recalls(&obstacles.recalls);
        if !obstacles.lapsed.is_empty() {
            self.clients.expel(&obstacles.lapsed).await;
        }
    }
}

//! Recalling delegations: what stands between an operation and somebody's delegation.
//!
//! An operation in conflict is *held* while the recall runs and goes on the moment the delegation is back;
//! only when that takes longer than a short deadline is the client told to come again.

mod backchannel;
mod backchannels;
mod behind;
mod conflicts;
mod get_attr;
mod granted;
mod hosts;
mod lock_waiters;
mod nameless;
mod names;
mod nlm_attempts;
mod nlm_grants;
mod recall_any;
mod records;
mod revoke;
mod sessions;
mod tell_hosts;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use event_listener::Event;
use futures_util::future::{Either, select};
use parking_lot::Mutex;
use proto::nfs4::{
    CallbackOperation, CbRecallArgs, ClientId, ReferringCallList, SessionId, StateId, StateOther, Status,
};
use state::{Blocked, Changing, Client, FileId, Now, Obstacles, Recall, State};
use vfs::{Tell, Watch};
use xdr::Encode;

use backchannel::CallbackAnswer;
pub use backchannel::{Backchannel, CallbackTarget};
pub(crate) use backchannels::Backchannels;
pub(crate) use get_attr::Told;
pub(crate) use granted::Granted;
use hosts::Hosts;
use lock_waiters::LockWaiters;
pub(crate) use lock_waiters::{TooMany, Waiter, Who};
use names::NamesTaken;
pub use names::TakenNames;
pub(crate) use nlm_grants::NlmWaiter;
pub use tell_hosts::Restart;

use crate::metrics::Events;
use crate::runtime::Runtime;
use crate::stable::StableRecords;

/// How long an operation is held before its client is told to come again.
const HOLD: Duration = Duration::from_secs(4);
/// Pause before a recall that did not get through is sent again.
const RESEND: Duration = Duration::from_millis(250);

/// A delegation that is out: what its holder was told, and what tells of changes behind the server's back.
type Out = (Granted, Option<Watch>);

/// Recalls delegations and wakes who waits for them. Clones share everything.
#[derive(Clone)]
pub struct Recaller {
    inner: Arc<Inner>,
}

struct Inner {
    state: Arc<State>,
    world: Arc<dyn Runtime>,
    stable: Arc<dyn StableRecords>,
    /// Held while a client's record is asked for or its removal is: what it says must not be older than what
    /// is asked for before.
    recording: Mutex<()>,
    /// Sessions of which there are records, alive or dead.
    kept_sessions: Mutex<BTreeSet<SessionId>>,
    backchannels: Backchannels,
    granted: Mutex<BTreeMap<StateOther, Out>>,
    /// Told of what is done to delegated files behind the server's back.
    tell: OnceLock<Tell>,
    lock_waiters: LockWaiters,
    hosts: Hosts,
    names: Arc<NamesTaken>,
    /// Clients that are gone and whose state still stands.
    undone: Mutex<Vec<Arc<Client>>>,
    returned: Event,
    /// When clients were last asked to return some of their delegations.
    trimmed: Mutex<Now>,
    /// Delegations that were asked back, and when.
    recalled: Mutex<BTreeMap<StateOther, Now>>,
    events: Arc<Events>,
}

impl std::fmt::Debug for Recaller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recaller").finish_non_exhaustive()
    }
}

impl Recaller {
    /// Recalls what `state` has delegated.
    pub fn new(state: Arc<State>, world: Arc<dyn Runtime>, stable: Arc<dyn StableRecords>) -> Self {
        let inner = Inner {
            state,
            world,
            stable,
            recording: Mutex::default(),
            kept_sessions: Mutex::default(),
            backchannels: Backchannels::default(),
            granted: Mutex::default(),
            tell: OnceLock::new(),
            lock_waiters: LockWaiters::new(),
            hosts: Hosts::default(),
            names: Arc::default(),
            undone: Mutex::default(),
            returned: Event::new(),
            trimmed: Mutex::default(),
            recalled: Mutex::default(),
            events: Arc::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// What happened rarely.
    pub fn events(&self) -> &Arc<Events> {
        &self.inner.events
    }

    pub(crate) fn now(&self) -> Now {
        Now(self.inner.world.now_ms())
    }

    pub(crate) fn state(&self) -> &Arc<State> {
        &self.inner.state
    }

    pub(crate) fn world(&self) -> &Arc<dyn Runtime> {
        &self.inner.world
    }

    pub(crate) fn backchannels(&self) -> &Backchannels {
        &self.inner.backchannels
    }

    /// Remembers what a new delegation's holder was told; the file is watched as long as it is delegated.
    pub(crate) fn delegated(&self, id: &StateId, granted: Granted, watch: Option<Watch>) {
        self.inner.granted.lock().insert(id.other, (granted, watch));
    }

    fn granted(&self, id: &StateId) -> Option<Granted> {
        self.inner.granted.lock().get(&id.other).map(|(granted, _)| *granted)
    }

    /// A delegation is back, or revoked: whoever waits looks again.
    pub(crate) fn delegation_ended(&self, id: &StateId) {
        self.inner.granted.lock().remove(&id.other);
        let recalled = self.inner.recalled.lock().remove(&id.other);
        if let Some(recalled) = recalled {
            self.inner.events.recall_times.add(self.now().since_ms(recalled));
        }
        self.wake();
    }

    /// A request of a client has ended that is gone: what it held may be discarded now.
    pub(crate) fn last_request_ended(&self) {
        self.wake();
    }

    /// Whoever waits looks again.
    fn wake(&self) {
        self.inner.returned.notify(usize::MAX);
    }

    /// To be called every second or so: ends what is overdue.
    pub async fn tick(&self) {
        let now = self.now();
        self.state().tick(now);
        self.revoke_overdue().await;
        let overdue = self.state().overdue_clients(now);
        if !overdue.is_empty() {
            self.expel(&overdue).await;
        }
        self.discard_undone().await;
        for idle in self.state().idle_clients() {
            self.forget(&idle).await;
            idle.set_forgotten();
        }
        self.end_grace_if_due().await;
        self.forget_ended_sessions().await;
        self.forget_idle_hosts(now).await;
        self.inner.backchannels.retain(|session| self.inner.state.session(session).is_ok());
        // Those of clients that are gone.
        let mut granted = self.inner.granted.lock();
        if granted.len() > self.inner.state.delegation_count() {
            granted.retain(|other, (granted, _)| self.inner.state.is_delegated(granted.file, other));
        }
        self.inner.recalled.lock().retain(|other, _| granted.contains_key(other));
        drop(granted);
        self.notify_lock_waiters(now);
        self.recall_any_if_many(now);
    }

    /// Begins a change of a file, when nobody's delegation is in the way any more.
    pub(crate) async fn begin_change(
        &self,
        file: FileId,
        client: Option<ClientId>,
    ) -> Result<Changing<'_>, Status> {
        self.hold(|| self.inner.state.begin_change(file, client, self.now())).await
    }

    /// Begins a change of a directory's entries, when nobody's delegation of it is in the way any more.
    pub(crate) async fn begin_entry_change(
        &self,
        directory: FileId,
        client: Option<ClientId>,
    ) -> Result<Changing<'_>, Status> {
        self.hold(|| self.inner.state.begin_entry_change(directory, client, self.now())).await
    }

    /// Waits until nobody's delegation is in the way of reading a file.
    pub(crate) async fn before_read(&self, file: FileId, client: Option<ClientId>) -> Result<(), Status> {
        self.hold(|| {
            let obstacles = self.inner.state.read_conflicts(file, client, self.now());
            if obstacles.is_empty() { Ok(()) } else { Err(Blocked::By(obstacles)) }
        })
        .await
    }

    /// Tries until nothing is in the way, recalling delegations and expelling silent clients.
    ///
    /// # Errors
    /// What the attempt fails with for good; DELAY when what is in the way stays there for too long.
    pub(crate) async fn hold<T>(&self, attempt: impl FnMut() -> Result<T, Blocked>) -> Result<T, Status> {
        self.hold_since(None, attempt).await
    }

    /// As [`Recaller::hold`], for an operation that has waited since then.
    async fn hold_since<T>(
        &self,
        since: Option<Now>,
        mut attempt: impl FnMut() -> Result<T, Blocked>,
    ) -> Result<T, Status> {
        let mut obstacles = match attempt() {
            Ok(done) => return Ok(done),
            Err(Blocked::Status(status)) => return Err(status),
            Err(Blocked::By(obstacles)) => obstacles,
        };
        let waited = since.map_or(0, |since| self.now().since_ms(since));
        let mut deadline = self.inner.world.sleep(HOLD.saturating_sub(Duration::from_millis(waited)));
        loop {
            let returned = self.inner.returned.listen();
            self.remove(obstacles).await;
            // Between an attempt and listening a delegation may have come back: look again after listening.
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

    fn last<T>(&self, attempt: Result<T, Blocked>) -> Result<T, Status> {
        attempt.map_err(|blocked| match blocked {
            Blocked::Status(status) => status,
            Blocked::By(obstacles) => {
                self.send_recalls(&obstacles.recalls);
                Status::Delay
            }
        })
    }

    async fn remove(&self, obstacles: Obstacles) {
        self.send_recalls(&obstacles.recalls);
        if !obstacles.lapsed.is_empty() {
            self.expel(&obstacles.lapsed).await;
        }
    }

    /// Recalls the delegations that were not recalled before.
    fn send_recalls(&self, recalls: &[Recall]) {
        for recall in recalls.iter().copied() {
            if !self.state().begin_recall(&recall, self.now()) {
                continue;
            }
            self.inner.events.recalls.add(1);
            self.inner.recalled.lock().insert(recall.state_id.other, self.now());
            let recaller = self.clone();
            self.inner.world.spawn(Box::pin(async move { recaller.send(recall).await }));
        }
    }

    /// Sends CB_RECALL until the client has got it, or has nothing left to be recalled.
    async fn send(&self, recall: Recall) {
        while self.inner.state.is_delegated(recall.file, &recall.state_id.other) {
            // A delegation that was granted this very moment is not noted yet.
            let granted = self.granted(&recall.state_id);
            if let Some(granted) = granted {
                let arguments =
                    CbRecallArgs { state_id: recall.state_id, truncate: false, object: granted.object() };
                let referring = granted.referring_calls();
                let answer =
                    self.callback(recall.client, CallbackOperation::Recall, &arguments, referring).await;
                // BAD_STATEID and BADHANDLE: the client gave it back, or does not know it yet (RFC 8881
                // §20.2.4); the deadline of the recall decides.
                match answer.map(|answer| answer.status) {
                    Some(Status::Ok) => return,
                    Some(status) => tracing::debug!(%status, "CB_RECALL was refused"),
                    None => {}
                }
            }
            self.inner.world.sleep(RESEND).await;
        }
    }

    /// Sends a callback over the first of a client's sessions that it gets through on.
    pub(crate) async fn callback(
        &self,
        client: ClientId,
        operation: CallbackOperation,
        arguments: &(impl Encode + Sync),
        referring_calls: Vec<ReferringCallList>,
    ) -> Option<CallbackAnswer> {
        let sessions = self.inner.state.sessions_of(client);
        for channel in sessions.iter().filter_map(|session| self.inner.backchannels.get(session.id())) {
            match channel.callback(operation, arguments, referring_calls.clone()).await {
                Ok(answer) => return Some(answer),
                Err(error) => tracing::debug!(%operation, %error, "a callback did not get through"),
            }
        }
        None
    }
}

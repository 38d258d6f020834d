//! Recalling delegations: what stands between an operation and somebody's delegation.
//!
//! An operation in conflict is *held* while the recall runs and goes on the moment the delegation is back; only when that
//! takes longer than a short deadline is the client told to come again.

mod backchannel;
mod backchannels;
mod conflicts;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use event_listener::Event;
use futures_util::future::{Either, select};
use parking_lot::Mutex;
use proto::nfs4::{ClientId, StateId};
use state::{Changing, FileId, Now, Recall, State};
use vfs::Handle;

pub use backchannel::{Backchannel, CallbackTarget};
pub(crate) use backchannels::Backchannels;

use crate::runtime::Runtime;

/// How long an operation is held before its client is told to come again.
const HOLD: Duration = Duration::from_secs(4);
/// Pause before a recall that did not get through is sent again.
const RESEND: Duration = Duration::from_millis(250);

/// The delegation is not back yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotYet;

/// Recalls delegations and wakes who waits for them. Clones share everything.
#[derive(Clone)]
pub struct Recaller {
    inner: Arc<Inner>,
}

struct Inner {
    state: Arc<State>,
    world: Arc<dyn Runtime>,
    backchannels: Backchannels,
    /// How clients know the files that are delegated to them.
    handles: Mutex<BTreeMap<[u8; 12], (FileId, Handle)>>,
    returned: Event,
}

impl std::fmt::Debug for Recaller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recaller").finish_non_exhaustive()
    }
}

impl Recaller {
    /// Recalls what `state` has delegated.
    pub fn new(state: Arc<State>, world: Arc<dyn Runtime>) -> Self {
        let inner = Inner {
            state,
            world,
            backchannels: Backchannels::default(),
            handles: Mutex::default(),
            returned: Event::new(),
        };
        Self { inner: Arc::new(inner) }
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

    /// Remembers how the holder of a new delegation knows its file.
    pub(crate) fn delegated(&self, id: &StateId, file: FileId, handle: Handle) {
        self.inner.handles.lock().insert(id.other, (file, handle));
    }

    /// A delegation is back, or revoked: whoever waits looks again.
    pub(crate) fn delegation_ended(&self, id: &StateId) {
        self.inner.handles.lock().remove(&id.other);
        self.inner.returned.notify(usize::MAX);
    }

    /// To be called every second or so: ends what is overdue.
    pub fn tick(&self) {
        let ticked = self.inner.state.tick(self.now());
        if ticked.revoked_delegations + ticked.expired_clients > 0 {
            tracing::info!(
                clients = ticked.expired_clients,
                delegations = ticked.revoked_delegations,
                "leases ended and delegations were revoked"
            );
            self.inner.returned.notify(usize::MAX);
        }
        self.inner.backchannels.retain(|session| self.inner.state.session(session).is_ok());
        // Those of clients that are gone.
        let mut handles = self.inner.handles.lock();
        if handles.len() > self.inner.state.delegation_count() {
            handles.retain(|other, (file, _)| self.inner.state.is_delegated(*file, other));
        }
    }

    /// Begins a change of a file, when nobody's delegation is in the way any more.
    pub(crate) async fn begin_change(
        &self,
        file: FileId,
        client: Option<ClientId>,
    ) -> Result<Changing<'_>, NotYet> {
        self.hold(|| self.inner.state.begin_change(file, client, self.now())).await
    }

    /// Waits until nobody's delegation is in the way of reading a file.
    pub(crate) async fn before_read(&self, file: FileId, client: Option<ClientId>) -> Result<(), NotYet> {
        self.hold(|| {
            let recalls = self.inner.state.read_conflicts(file, client, self.now());
            if recalls.is_empty() { Ok(()) } else { Err(recalls) }
        })
        .await
    }

    /// Tries until no delegation is in the way, recalling those that are.
    pub(crate) async fn hold<T>(
        &self,
        mut attempt: impl FnMut() -> Result<T, Vec<Recall>>,
    ) -> Result<T, NotYet> {
        let first = attempt();
        let Err(recalls) = first else { return first.map_err(|_| NotYet) };
        let mut deadline = self.inner.world.sleep(HOLD);
        let mut pending = Some(recalls);
        loop {
            let returned = self.inner.returned.listen();
            // Between an attempt and listening a delegation may have come back: look again after listening.
            let recalls = match pending.take() {
                Some(recalls) => recalls,
                None => match attempt() {
                    Ok(done) => return Ok(done),
                    Err(recalls) => recalls,
                },
            };
            self.send_first(recalls);
            match attempt() {
                Ok(done) => return Ok(done),
                Err(again) => self.send_first(again),
            }
            match select(returned, deadline).await {
                Either::Left(((), rest)) => deadline = rest,
                Either::Right(_) => return attempt().map_err(|_| NotYet),
            }
        }
    }

    fn send_first(&self, recalls: Vec<Recall>) {
        for recall in recalls.into_iter().filter(|recall| recall.first) {
            let recaller = self.clone();
            self.inner.world.spawn(Box::pin(async move { recaller.send(recall).await }));
        }
    }

    /// Sends CB_RECALL until the client has got it, or has nothing left to be recalled.
    async fn send(&self, recall: Recall) {
        loop {
            let known = self.inner.handles.lock().get(&recall.state_id.other).copied();
            let Some((file, handle)) = known else { return };
            if !self.inner.state.is_delegated(file, &recall.state_id.other) {
                return;
            }
            let sessions = self.inner.state.sessions_of(recall.client);
            for channel in sessions.iter().filter_map(|session| self.inner.backchannels.get(session.id())) {
                if channel.recall(&recall.state_id, &handle).await {
                    return;
                }
            }
            self.inner.world.sleep(RESEND).await;
        }
    }
}

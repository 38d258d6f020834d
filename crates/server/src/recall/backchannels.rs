//! The backchannels by session.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use proto::nfs4::SessionId;
use state::{Client, State};

use super::Backchannel;

#[derive(Debug, Default)]
pub(crate) struct Backchannels {
    // Every SEQUENCE looks here; only sessions that come and go change it.
    by_session: RwLock<BTreeMap<SessionId, Arc<Backchannel>>>,
    /// Held while it is found out whether a client has any path: whoever looks last has seen all changes.
    looking: Mutex<()>,
}

impl Backchannels {
    pub(crate) fn insert(&self, session: SessionId, channel: Arc<Backchannel>) {
        self.by_session.write().insert(session, channel);
    }

    pub(crate) fn get(&self, session: SessionId) -> Option<Arc<Backchannel>> {
        self.by_session.read().get(&session).cloned()
    }

    pub(crate) fn remove(&self, session: SessionId) {
        self.by_session.write().remove(&session);
    }

    pub(crate) fn retain(&self, keep: impl Fn(SessionId) -> bool) {
        self.by_session.write().retain(|session, _| keep(*session));
    }

    /// Forgets a connection that is gone; the sessions whose callbacks it carried.
    pub(crate) fn disconnected(&self, connection: u64) -> Vec<SessionId> {
        let channels: Vec<_> = self.by_session.read().iter().map(|(id, c)| (*id, Arc::clone(c))).collect();
        channels
            .into_iter()
            .filter_map(|(id, channel)| channel.disconnected(connection).then_some(id))
            .collect()
    }

    /// Notes for SEQUENCE whether a client that wants callbacks has no path for them any more, in any session. To be called
    /// after a path has come or gone.
    pub(crate) fn look_for_paths(&self, state: &State, client: &Client) {
        let _looking = self.looking.lock();
        let sessions = state.sessions_of(client.id());
        let channels: Vec<_> = sessions.iter().filter_map(|session| self.get(session.id())).collect();
        let is_down = channels.iter().any(|channel| channel.is_lost()) && !channels.iter().any(|c| c.is_up());
        client.set_callback_path_down(is_down);
    }
}

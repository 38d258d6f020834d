//! The backchannels by session.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use proto::nfs4::SessionId;

use super::Backchannel;

#[derive(Debug, Default)]
pub(crate) struct Backchannels {
    by_session: Mutex<BTreeMap<SessionId, Arc<Backchannel>>>,
}

impl Backchannels {
    pub(crate) fn insert(&self, session: SessionId, channel: Arc<Backchannel>) {
        self.by_session.lock().insert(session, channel);
    }

    pub(crate) fn get(&self, session: SessionId) -> Option<Arc<Backchannel>> {
        self.by_session.lock().get(&session).cloned()
    }

    pub(crate) fn remove(&self, session: SessionId) {
        self.by_session.lock().remove(&session);
    }

    pub(crate) fn retain(&self, keep: impl Fn(SessionId) -> bool) {
        self.by_session.lock().retain(|session, _| keep(*session));
    }

    /// Forgets a connection that is gone.
    pub(crate) fn disconnected(&self, connection: u64) {
        let channels: Vec<_> = self.by_session.lock().values().cloned().collect();
        channels.iter().for_each(|channel| channel.disconnected(connection));
    }
}

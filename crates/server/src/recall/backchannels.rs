//! The backchannels by session.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::RwLock;
use proto::nfs4::SessionId;

use super::Backchannel;

#[derive(Debug, Default)]
pub(crate) struct Backchannels {
    // Every SEQUENCE looks here; only sessions that come and go change it.
    by_session: RwLock<BTreeMap<SessionId, Arc<Backchannel>>>,
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

    /// Forgets a connection that is gone.
    pub(crate) fn disconnected(&self, connection: u64) {
        let channels: Vec<_> = self.by_session.read().values().cloned().collect();
        channels.iter().for_each(|channel| channel.disconnected(connection));
    }
}

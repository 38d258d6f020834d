//! The backchannels by session.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use proto::nfs4::SessionId;
use rpc::Connection;
use state::{Client, Session, State};

use super::{Backchannel, CallbackTarget};

#[derive(Debug, Default)]
pub(crate) struct Backchannels {
    // Every SEQUENCE looks here; only sessions that come and go change it.
    by_session: RwLock<BTreeMap<SessionId, Arc<Backchannel>>>,
    /// The connections that were bound, so that one that is lost need not be looked for in the channels of
    /// all.
    bound: Mutex<BTreeSet<(u64, SessionId)>>,
    /// Held while it is found out whether a client has any path: whoever looks last has seen all changes.
    looking: Mutex<()>,
}

impl Backchannels {
    /// Gives a session a backchannel. False when no callback fits what was negotiated for it: then it has
    /// none, and no connection can be bound for callbacks.
    pub(crate) fn insert_usable(&self, session: &Arc<Session>, target: CallbackTarget) -> bool {
        let is_usable = session.back_channel().carries_callbacks();
        if is_usable {
            let channel = Arc::new(Backchannel::new(session, target));
            self.by_session.write().insert(session.id(), channel);
        }
        is_usable
    }

    pub(crate) fn get(&self, session: SessionId) -> Option<Arc<Backchannel>> {
        self.by_session.read().get(&session).cloned()
    }

    /// Lets a connection carry the callbacks of a session; the channel, if it has one and room for the
    /// connection.
    pub(crate) fn bind(&self, id: SessionId, connection: &Arc<dyn Connection>) -> Option<Arc<Backchannel>> {
        let channel = self.get(id)?;
        // First, so that a connection that is lost from now on is found here.
        self.bound.lock().insert((connection.id(), id));
        if !channel.bind(connection) {
            self.bound.lock().remove(&(connection.id(), id));
            return None;
        }
        if !connection.is_open() {
            // Lost before, perhaps, and then nobody comes any more to take it out.
            self.disconnected(connection.id());
        }
        Some(channel)
    }

    pub(crate) fn remove(&self, session: SessionId) {
        let removed = self.by_session.write().remove(&session);
        if let Some(channel) = removed {
            self.forget(session, &channel);
        }
    }

    pub(crate) fn retain(&self, keep: impl Fn(SessionId) -> bool) {
        let mut removed = Vec::new();
        self.by_session.write().retain(|session, channel| {
            let kept = keep(*session);
            if !kept {
                removed.push((*session, Arc::clone(channel)));
            }
            kept
        });
        removed.iter().for_each(|(session, channel)| self.forget(*session, channel));
    }

    fn forget(&self, session: SessionId, channel: &Backchannel) {
        let mut bound = self.bound.lock();
        channel.connections().into_iter().for_each(|connection| {
            bound.remove(&(connection, session));
        });
    }

    /// True when a connection is the only open one that carries the callbacks of a session.
    pub(crate) fn is_only_path(&self, connection: u64) -> bool {
        let (first, last) = (SessionId([0; 16]), SessionId([u8::MAX; 16]));
        let bound = self.bound.lock();
        let sessions: Vec<_> =
            bound.range((connection, first)..=(connection, last)).map(|(_, id)| *id).collect();
        drop(bound);
        sessions.into_iter().filter_map(|id| self.get(id)).any(|channel| channel.is_only_path(connection))
    }

    /// Forgets a connection that is gone; the sessions whose callbacks it carried.
    pub(crate) fn disconnected(&self, connection: u64) -> Vec<SessionId> {
        let (first, last) = (SessionId([0; 16]), SessionId([u8::MAX; 16]));
        let mut bound = self.bound.lock();
        let sessions: Vec<_> =
            bound.range((connection, first)..=(connection, last)).map(|(_, id)| *id).collect();
        sessions.iter().for_each(|id| {
            bound.remove(&(connection, *id));
        });
        drop(bound);
        for channel in sessions.iter().filter_map(|id| self.get(*id)) {
            channel.disconnected(connection);
        }
        sessions
    }

    /// Notes for SEQUENCE whether a client that wants callbacks has no path for them any more, in any
    /// session. To be called after a path has come or gone.
    pub(crate) fn look_for_paths(&self, state: &State, client: &Client) {
        let _looking = self.looking.lock();
        let sessions = state.sessions_of(client.id());
        let channels: Vec<_> = sessions.iter().filter_map(|session| self.get(session.id())).collect();
        let is_down = channels.iter().any(|channel| channel.is_lost()) && !channels.iter().any(|c| c.is_up());
        client.set_callback_path_down(is_down);
    }
}

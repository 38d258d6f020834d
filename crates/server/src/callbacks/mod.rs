//! Calls from the server to its clients: callbacks over the backchannels of NFSv4.1 sessions (RFC 8881 §20),
//! and calls to the lock managers and status monitors of NFSv3 hosts. The service knows no reason for a call:
//! the services above it have those.

mod backchannel;
mod backchannels;
mod host_calls;

use proto::nfs4::{CallbackOperation, ClientId, ReferringCallList};
use xdr::Encode;

use backchannel::CallbackAnswer;
pub(crate) use backchannel::{Backchannel, CallbackTarget};
pub(crate) use backchannels::Backchannels;
pub(crate) use host_calls::HostCalls;

use crate::service_core::ServiceCore;

/// Calls clients back.
pub(crate) struct Callbacks {
    core: ServiceCore,
    backchannels: Backchannels,
    hosts: HostCalls,
}

impl Callbacks {
    pub(crate) fn new(core: ServiceCore) -> Self {
        Self { core, backchannels: Backchannels::default(), hosts: HostCalls::default() }
    }

    pub(crate) fn backchannels(&self) -> &Backchannels {
        &self.backchannels
    }

    pub(crate) fn hosts(&self) -> &HostCalls {
        &self.hosts
    }

    /// Removes the backchannels of sessions that have ended.
    pub(crate) fn forget_ended_sessions(&self) {
        self.backchannels.retain(|session| self.core.state().session(session).is_ok());
    }

    /// Sends a callback over the first of a client's sessions on which it is answered. `None` when no session
    /// has a working backchannel.
    pub(crate) async fn callback(
        &self,
        client: ClientId,
        operation: CallbackOperation,
        arguments: &(impl Encode + Sync),
        referring_calls: Vec<ReferringCallList>,
    ) -> Option<CallbackAnswer> {
        let sessions = self.core.state().sessions_of(client);
        for channel in sessions.iter().filter_map(|session| self.backchannels.get(session.id())) {
            match channel.callback(operation, arguments, referring_calls.clone()).await {
                Ok(answer) => return Some(answer),
                Err(error) => tracing::debug!(%operation, %error, "a callback did not get through"),
            }
        }
        None
    }
}

//! The actor of a COMPOUND: the client for which its operations work, and what makes a retry of them
//! harmless.
//!
//! Operations ask the actor, not its session. NFSv4.0 has no sessions (RFC 7530 §9.1.7): its actors are the
//! owners that OPEN and LOCK name, each with a sequence of its own, and they are a variant of their own here.

use std::sync::Arc;

use proto::nfs4::Status;
use state::Client;

use super::in_session::{InSession, ReplyLimits};
use super::repeat::Repeat;
use crate::callbacks::Callbacks;
use crate::delegations::SlotRequest;
use crate::persistent::Intent;
use crate::services::StateService;

/// The actor of a COMPOUND.
pub(crate) enum Actor {
    /// No operation has named one yet.
    Unknown,
    /// A request in the slot of its session: SEQUENCE has named it (NFSv4.1 and later).
    Slot(InSession),
    /// None: the COMPOUND was carried out before the server restarted, and only its reply is made again.
    Repeat(Repeat),
}

impl Actor {
    /// True from the operation on that has named the actor.
    pub(crate) fn is_named(&self) -> bool {
        !matches!(self, Self::Unknown)
    }

    /// The request in its slot. For the operations of sessions; others ask for what they need.
    pub(crate) fn slot(&self) -> Option<&InSession> {
        match self {
            Self::Slot(slot) => Some(slot),
            Self::Unknown | Self::Repeat(_) => None,
        }
    }

    /// The reply that is made again.
    pub(crate) fn repeat(&self) -> Option<&Repeat> {
        match self {
            Self::Repeat(repeat) => Some(repeat),
            Self::Unknown | Self::Slot(_) => None,
        }
    }

    /// The client.
    ///
    /// # Errors
    /// OP_NOT_IN_SESSION where none is named.
    pub(crate) fn client(&self) -> Result<&Arc<Client>, Status> {
        self.slot().map(InSession::client).ok_or(Status::OperationNotInSession)
    }

    /// The request that a callback may overtake (RFC 8881 §2.10.6.3).
    ///
    /// # Errors
    /// OP_NOT_IN_SESSION where none is named.
    pub(crate) fn call(&self) -> Result<SlotRequest, Status> {
        self.slot().map(InSession::call).ok_or(Status::OperationNotInSession)
    }

    /// The bounds of the reply, where the actor has agreed on some.
    pub(crate) fn reply_limits(&self) -> Option<ReplyLimits> {
        self.slot().map(InSession::reply_limits)
    }

    /// True when a crash of the server must not make the COMPOUND run again.
    pub(crate) fn is_persistent(&self) -> bool {
        self.slot().is_some_and(InSession::is_persistent)
    }

    /// True when retries of the actor are recognised after a crash too, so that a guarded create needs no
    /// verifier (RFC 8881 §18.16.3).
    pub(crate) fn outlives_crashes(&self) -> bool {
        self.slot().is_some_and(|slot| slot.session().is_persistent())
    }

    /// True when callbacks to the client are known to get through, and the longest recall of a delegation
    /// fits.
    pub(crate) fn callbacks_work(&self, callbacks: &Callbacks) -> bool {
        let channel = self.slot().and_then(|slot| callbacks.backchannels().get(slot.session().id()));
        channel.is_some_and(|channel| channel.works() && channel.fits_recalls())
    }

    /// Writes down what is about to be done, where [`Actor::is_persistent`] says so.
    ///
    /// # Errors
    /// DELAY when it cannot be written: nothing is to be done.
    pub(crate) async fn intend(&self, services: &StateService, intent: Intent) -> Result<(), Status> {
        let Some(slot) = self.slot().filter(|slot| slot.is_persistent()) else { return Ok(()) };
        let record = slot.intend(intent);
        services.recovery().keep_slot(slot.session().id(), slot.slot(), &record).await
    }

    /// Ends the COMPOUND with its reply, which is kept for a retry where that was asked for. True when a
    /// retry is held until now.
    pub(crate) fn complete(&mut self, services: &StateService, reply: &[u8]) -> bool {
        match std::mem::replace(self, Self::Unknown) {
            Self::Slot(slot) => slot.complete(services, reply),
            Self::Unknown | Self::Repeat(_) => false,
        }
    }

    /// Ends a COMPOUND that has no reply. True when a retry is held until now.
    pub(crate) fn abandon(&mut self, services: &StateService) -> bool {
        match std::mem::replace(self, Self::Unknown) {
            Self::Slot(slot) => slot.abandon(services),
            Self::Unknown | Self::Repeat(_) => false,
        }
    }
}

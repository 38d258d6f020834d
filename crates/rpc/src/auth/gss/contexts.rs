//! The contexts of a server by their handles, behind locks.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bytes::Bytes;

use super::context::Context;
use super::handle::Nonce;
use super::mechanism::Negotiation;
use super::table::{
    EstablishedBounds, EstablishedContexts, NegotiationBounds, Negotiations, PeerNetwork, Resumption,
};
use super::{BootInstance, GssLimits, Surroundings};

/// The contexts of a server.
pub(super) struct Contexts {
    surroundings: Arc<dyn Surroundings>,
    boot: BootInstance,
    established: RwLock<EstablishedContexts>,
    negotiations: Mutex<Negotiations>,
}

/// A context in creation whose token is under way. It is forgotten when this is dropped.
pub(super) struct Creation {
    contexts: Arc<Contexts>,
    nonce: Nonce,
    /// It waits for its client, and stays.
    is_waiting: bool,
}

/// The outcome of a further token.
pub(super) enum Resumed {
    /// The mechanism may take it.
    Creation(Creation, Box<dyn Negotiation>),
    /// It repeats the one that is under way.
    UnderWay,
    /// No such context is in creation.
    Unknown,
}

impl Contexts {
    pub(super) fn new(surroundings: Arc<dyn Surroundings>, limits: &GssLimits) -> Self {
        let established =
            EstablishedBounds { contexts_max: limits.contexts_max, bytes_max: limits.context_bytes_max };
        let negotiations = NegotiationBounds {
            total_max: limits.negotiations_max,
            per_peer_max: limits.negotiations_per_peer_max,
            idle_ms_max: limits.negotiation_idle_ms_max,
        };
        Self {
            boot: surroundings.boot_instance(),
            surroundings,
            established: RwLock::new(EstablishedContexts::new(established)),
            negotiations: Mutex::new(Negotiations::new(negotiations)),
        }
    }

    pub(super) fn now_ms(&self) -> u64 {
        self.surroundings.now_ms()
    }

    /// Returns the established context of a handle.
    pub(super) fn find(&self, handle: &[u8]) -> Option<(Nonce, Arc<Context>)> {
        let nonce = Nonce::of(handle, self.boot).ok()?;
        let context = self.established().get(nonce).map(Arc::clone)?;
        Some((nonce, context))
    }

    /// Notes that a request whose MIC was verified has used the context.
    pub(super) fn touch(&self, nonce: Nonce, now_ms: u64) {
        self.established().touch(nonce, now_ms);
    }

    /// Forgets an established context.
    pub(super) fn destroy(&self, nonce: Nonce) {
        self.established_mut().remove(nonce);
    }

    /// Begins a context; `None` when too many are in creation.
    pub(super) fn begin(self: &Arc<Self>, peer: PeerNetwork) -> Option<Creation> {
        let nonce = Nonce::random(&*self.surroundings);
        let is_begun = self.negotiations().begin(nonce, peer, self.now_ms());
        is_begun.then(|| Creation { contexts: Arc::clone(self), nonce, is_waiting: false })
    }

    /// Takes up a context with a further token.
    pub(super) fn resume(self: &Arc<Self>, handle: &[u8]) -> Resumed {
        let Ok(nonce) = Nonce::of(handle, self.boot) else { return Resumed::Unknown };
        let resumption = self.negotiations().resume(nonce, self.now_ms());
        match resumption {
            Resumption::Resumed(negotiation) => {
                let creation = Creation { contexts: Arc::clone(self), nonce, is_waiting: false };
                Resumed::Creation(creation, negotiation)
            }
            Resumption::UnderWay => Resumed::UnderWay,
            Resumption::Unknown => Resumed::Unknown,
        }
    }

    pub(super) fn counts(&self) -> GssCounts {
        GssCounts { established: self.established().len(), in_creation: self.negotiations().len() }
    }

    fn established(&self) -> RwLockReadGuard<'_, EstablishedContexts> {
        self.established.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn established_mut(&self) -> RwLockWriteGuard<'_, EstablishedContexts> {
        self.established.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn negotiations(&self) -> MutexGuard<'_, Negotiations> {
        self.negotiations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Creation {
    /// Returns the handle, which stays the same until the context is destroyed (RFC 2203 §5.2.2).
    pub(super) fn handle(&self) -> Bytes {
        Bytes::copy_from_slice(&self.nonce.handle(self.contexts.boot))
    }

    /// Waits for the next token of the client.
    pub(super) fn wait(mut self, negotiation: Box<dyn Negotiation>) {
        self.is_waiting = true;
        let now_ms = self.contexts.now_ms();
        self.contexts.negotiations().wait(self.nonce, negotiation, now_ms);
    }

    /// Establishes the context. False when it alone is larger than all contexts may be.
    pub(super) fn establish(self, context: Context, now_ms: u64) -> bool {
        self.contexts.established_mut().insert(self.nonce, Arc::new(context), now_ms)
    }
}

impl Drop for Creation {
    fn drop(&mut self) {
        if !self.is_waiting {
            self.contexts.negotiations().end(self.nonce);
        }
    }
}

/// The contexts of a server by their state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GssCounts {
    /// Established contexts.
    pub established: usize,
    /// Contexts whose creation is under way or waits for the client.
    pub in_creation: usize,
}

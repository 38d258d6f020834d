//! The program: what every operation reaches through its [`Context`](super::context::Context).

use std::sync::Arc;

use bytes::Bytes;
use event_listener::Event;
use state::State;
use vfs::FileSystem;

use crate::exports::Exports;
use crate::metrics::Metrics;
use crate::nfs4::owners::{NameService, OwnerNames, Owners};
use crate::persistent::Repetitions;
use crate::services::StateService;

/// How NFSv4 is served.
#[derive(Debug, Clone)]
pub struct Nfs4Options {
    /// Delegations are granted.
    pub delegations: bool,
    /// Names this server to its clients: the same after a restart, different on every other server.
    pub identity: Bytes,
    /// The form in which clients see owners and groups.
    pub owner_names: OwnerNames,
}

/// The program.
#[derive(Debug)]
pub struct Nfs4<F> {
    exports: Arc<Exports<F>>,
    services: StateService,
    options: Nfs4Options,
    owners: Owners,
    repetitions: Repetitions,
    /// A request in a session has ended, for whose end a retry is held.
    answered: Event,
    metrics: Option<Arc<Metrics>>,
}

impl<F: FileSystem> Nfs4<F> {
    /// Serves `exports`; state and recalls are those of `services`.
    pub fn new(exports: Arc<Exports<F>>, services: StateService, options: Nfs4Options) -> Self {
        Self {
            exports,
            services,
            options,
            owners: Owners::numeric(),
            repetitions: Repetitions::default(),
            answered: Event::new(),
            metrics: None,
        }
    }

    pub(crate) fn exports(&self) -> &Exports<F> {
        &self.exports
    }

    pub(crate) fn metrics(&self) -> Option<&Arc<Metrics>> {
        self.metrics.as_ref()
    }

    /// Counts what is done.
    pub(crate) fn set_metrics(&mut self, metrics: Arc<Metrics>) {
        self.metrics = Some(metrics);
    }

    /// Takes names of owners from `service`, where the options ask for names. Without a service
    /// owners have no names.
    #[must_use]
    pub fn with_names(mut self, service: Arc<dyn NameService>) -> Self {
        if let OwnerNames::Domain(domain) = &self.options.owner_names {
            self.owners = Owners::of_domain(domain.clone(), service, Arc::clone(self.services.world()));
        }
        self
    }

    /// A connection is gone.
    pub fn disconnected(&self, connection: u64) {
        for session in self.services.callbacks().backchannels().disconnected(connection) {
            if let Ok(session) = self.state().session(session) {
                self.services.callbacks().backchannels().look_for_paths(self.state(), session.client());
            }
        }
    }

    /// Notified when a request in a session has ended for which a retry waits
    /// ([`state::Session::await_end`]).
    pub(crate) fn answered(&self) -> &Event {
        &self.answered
    }

    pub(crate) fn services(&self) -> &StateService {
        &self.services
    }

    pub(crate) fn state(&self) -> &State {
        self.services.state()
    }

    pub(crate) fn lease_seconds(&self) -> u32 {
        self.state().limits().lease_seconds
    }

    pub(crate) fn delegations(&self) -> bool {
        self.options.delegations
    }

    pub(crate) fn owners(&self) -> &Owners {
        &self.owners
    }

    pub(crate) fn repetitions(&self) -> &Repetitions {
        &self.repetitions
    }

    pub(crate) fn identity(&self) -> &Bytes {
        &self.options.identity
    }
}

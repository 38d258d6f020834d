//! NFS version 4, minor versions 1 and 2 (RFC 8881, RFC 7862, with RFC 8276): one file per operation.
//!
//! [`Nfs4`] runs COMPOUNDs over the exports and [`state`]. It knows no sockets, clock or runtime: those come
//! through [`crate::runtime::Runtime`].

mod access;
mod allocate;
mod attributes;
mod backchannel_ctl;
mod bind_conn_to_session;
mod bring_back;
mod change;
mod clone;
mod close;
mod commit;
mod compound;
mod conflict;
mod context;
mod copy;
mod create;
mod create_session;
mod destroy_session;
mod dispatch;
mod exchange_id;
mod get_attr;
mod get_dir_delegation;
mod get_xattr;
mod handles;
mod io_advise;
mod link;
mod list_xattrs;
mod lock;
mod lock_t;
mod lock_u;
mod lookup;
mod lookup_parent;
mod names;
mod open;
mod open_create;
mod operations;
mod owners;
mod read;
mod read_dir;
mod read_link;
mod read_plus;
mod regular;
mod remove;
mod remove_xattr;
mod rename;
mod repeat;
mod sec_info;
mod seek;
mod sequence;
mod set_attr;
mod set_xattr;
mod state_ids;
mod status;
mod transfer;
mod unsettled;
mod users;
mod verify;
mod want_delegation;
mod write;
mod xattrs;

use std::sync::Arc;

use bytes::Bytes;
use event_listener::Event;
use rpc::{Call, Disposition, Refusal};
use state::State;
use vfs::FileSystem;
use xdr::Encoder;

use crate::exports::Exports;
use crate::metrics::Metrics;
use crate::persistent::Repetitions;
use crate::services::StateService;
use owners::Owners;
pub use owners::{NameService, OwnerNames, PrincipalKind, Unavailable};

/// The procedures of the program.
mod procedure {
    pub(super) const NULL: u32 = 0;
    pub(super) const COMPOUND: u32 = proto::nfs4::COMPOUND;
}

/// How NFSv4 is served.
#[derive(Debug, Clone)]
pub struct Nfs4Options {
    /// Delegations are granted.
    pub delegations: bool,
    /// Names this server to its clients: the same after a restart, different on every other server.
    pub identity: Bytes,
    /// How owners and groups are told to clients.
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

    /// Counts what is done.
    pub(crate) fn set_metrics(&mut self, metrics: Arc<Metrics>) {
        self.metrics = Some(metrics);
    }

    /// Takes names of owners from `service`, where the options ask for names. Without one nobody has a name.
    #[must_use]
    pub fn with_names(mut self, service: Arc<dyn NameService>) -> Self {
        if let OwnerNames::Domain(domain) = &self.options.owner_names {
            self.owners = Owners::of_domain(domain.clone(), service, Arc::clone(self.services.world()));
        }
        self
    }

    /// Answers a call.
    ///
    /// # Errors
    /// The refusals of RFC 5531.
    pub async fn call(&self, call: Call<'_>, reply: &mut Encoder) -> Result<Disposition, Refusal> {
        match call.header.procedure {
            procedure::NULL => {}
            procedure::COMPOUND => {
                self.compound(call, reply).await?;
            }
            _ => return Err(Refusal::ProcedureUnavailable),
        }
        Ok(Disposition::Reply)
    }

    /// A connection is gone.
    pub fn disconnected(&self, connection: u64) {
        for session in self.services.callbacks().backchannels().disconnected(connection) {
            if let Ok(session) = self.state().session(session) {
                self.services.callbacks().backchannels().look_for_paths(self.state(), session.client());
            }
        }
    }

    /// Told when a request in a session has ended, if somebody has asked for that
    /// ([`state::Session::await_end`]).
    fn answered(&self) -> &Event {
        &self.answered
    }

    pub(crate) fn services(&self) -> &StateService {
        &self.services
    }

    fn state(&self) -> &State {
        self.services.state()
    }

    fn lease_seconds(&self) -> u32 {
        self.state().limits().lease_seconds
    }

    fn delegations(&self) -> bool {
        self.options.delegations
    }

    fn owners(&self) -> &Owners {
        &self.owners
    }

    fn repetitions(&self) -> &Repetitions {
        &self.repetitions
    }

    fn identity(&self) -> &Bytes {
        &self.options.identity
    }
}

//! The client's side: contexts of its users.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use gssapi::{Error, Initiated, Library};
use rpc::BoxFuture;
use rpc::auth::UnixUser;
use rpc::auth::gss::client::{Initiation, Initiator, InitiatorStep};
use rpc::auth::gss::wire::MajorStatus;

use crate::context::KerberosContext;
use crate::threads::Threads;

/// The credential cache of a user, or of the client itself; `None` for the default of this process.
pub type CacheOf = dyn Fn(Option<&UnixUser>) -> Option<PathBuf> + Send + Sync;

/// Begins contexts with the tickets of users.
#[derive(Clone)]
pub struct KerberosInitiator {
    library: Arc<Library>,
    service: Arc<str>,
    cache_of: Arc<CacheOf>,
    threads: Threads,
}

impl KerberosInitiator {
    /// Begins contexts with a service, such as `nfs@files.example.org`.
    #[must_use]
    pub fn new(library: Arc<Library>, service: &str, cache_of: Arc<CacheOf>) -> Self {
        Self { library, service: service.into(), cache_of, threads: Threads::new(|| ()) }
    }

    fn step(
        self,
        step: impl FnOnce(&Self) -> Result<Initiated, Error> + Send + 'static,
    ) -> BoxFuture<InitiatorStep> {
        Box::pin(async move {
            let by = self.clone();
            match self.threads.run(move || step(&by)).await {
                Some(Ok(initiated)) => self.outcome(initiated),
                Some(Err(error)) => failed(&error),
                None => InitiatorStep::Failed { major: MajorStatus::FAILURE, minor: 0 },
            }
        })
    }

    fn outcome(self, initiated: Initiated) -> InitiatorStep {
        match initiated {
            Initiated::Continue { token, initiator } => InitiatorStep::Continue {
                token,
                initiation: Box::new(KerberosInitiation { by: self, initiator }),
            },
            Initiated::Complete { token, established } => match KerberosContext::new(&established) {
                Ok(context) => {
                    let token = (!token.is_empty()).then_some(token);
                    InitiatorStep::Complete { token, context: Box::new(context) }
                }
                Err(unknown) => {
                    let enctype = unknown.enctype;
                    tracing::warn!(enctype, "a context has a key of an unknown encryption type");
                    InitiatorStep::Failed { major: MajorStatus::FAILURE, minor: 0 }
                }
            },
        }
    }
}

fn failed(error: &Error) -> InitiatorStep {
    tracing::warn!(%error, "there is no Kerberos context");
    let (major, minor) = match error {
        Error::Failed { status, .. } => (MajorStatus(status.major), status.minor),
        _ => (MajorStatus::FAILURE, 0),
    };
    InitiatorStep::Failed { major, minor }
}

impl Initiator for KerberosInitiator {
    fn begin(&self, user: Option<UnixUser>) -> BoxFuture<InitiatorStep> {
        self.clone().step(move |by| {
            let cache = (by.cache_of)(user.as_ref());
            gssapi::Initiator::new(&by.library, &by.service, cache.as_deref())?.step(None)
        })
    }
}

/// A context that waits for its server.
struct KerberosInitiation {
    by: KerberosInitiator,
    initiator: gssapi::Initiator,
}

impl Initiation for KerberosInitiation {
    fn accept(self: Box<Self>, token: Bytes) -> BoxFuture<InitiatorStep> {
        let Self { by, initiator } = *self;
        by.step(move |_| initiator.step(Some(&token)))
    }
}

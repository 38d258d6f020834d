//! The server's side: contexts that clients begin.

use std::sync::Arc;

use bytes::Bytes;
use gssapi::{Accepted, Acceptor, Error, PartialContext};
use rpc::BoxFuture;
use rpc::auth::gss::wire::MajorStatus;
use rpc::auth::gss::{Negotiation, Step};

use crate::context::KerberosContext;
use crate::threads::Threads;

/// Accepts contexts with the keys of a service.
#[derive(Debug, Clone)]
pub struct KerberosAcceptor {
    acceptor: Arc<Acceptor>,
    threads: Threads,
}

impl KerberosAcceptor {
    /// Accepts with `acceptor`. `prepare` runs on a thread before each call of the library there: where a
    /// thread may have the rights of another user, it takes those back.
    #[must_use]
    pub fn new(acceptor: Acceptor, prepare: fn()) -> Self {
        Self { acceptor: Arc::new(acceptor), threads: Threads::new(prepare) }
    }

    fn take(self, context: Option<PartialContext>, token: Bytes) -> BoxFuture<Step> {
        Box::pin(async move {
            let acceptor = Arc::clone(&self.acceptor);
            let accepted = self.threads.run(move || acceptor.accept(context, &token)).await;
            match accepted {
                Some(Ok(accepted)) => self.step(accepted),
                Some(Err(error)) => refused(&error),
                None => Step::Failed { major: MajorStatus::FAILURE, minor: 0 },
            }
        })
    }

    fn step(self, accepted: Accepted) -> Step {
        match accepted {
            Accepted::Continue { token, context } => {
                Step::Continue { token, negotiation: Box::new(KerberosNegotiation { by: self, context }) }
            }
            Accepted::Complete { token, established } => match KerberosContext::new(&established) {
                Ok(context) => Step::Complete { token, context: Box::new(context) },
                Err(unknown) => {
                    let (principal, enctype) = (&established.principal, unknown.enctype);
                    tracing::warn!(%principal, enctype, "a context has a key of an unknown encryption type");
                    Step::Failed { major: MajorStatus::FAILURE, minor: 0 }
                }
            },
        }
    }
}

fn refused(error: &Error) -> Step {
    tracing::info!(%error, "a Kerberos context was refused");
    let (major, minor) = match error {
        Error::Failed { status, .. } => (MajorStatus(status.major), status.minor),
        _ => (MajorStatus::FAILURE, 0),
    };
    Step::Failed { major, minor }
}

impl rpc::auth::gss::Acceptor for KerberosAcceptor {
    fn accept(&self, token: Bytes) -> BoxFuture<Step> {
        self.clone().take(None, token)
    }
}

/// A context that waits for its client.
struct KerberosNegotiation {
    by: KerberosAcceptor,
    context: PartialContext,
}

impl Negotiation for KerberosNegotiation {
    fn accept(self: Box<Self>, token: Bytes) -> BoxFuture<Step> {
        let Self { by, context } = *self;
        by.take(Some(context), token)
    }
}

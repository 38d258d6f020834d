//! The judge of callers, and the memory that a connection has of them.

use std::sync::Arc;

use super::{Caller, Claim, Protection, Verifier};
use crate::{BoxFuture, CallHeader, Connection, Refusal};

/// A reply of the authenticator's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The verifier of the reply.
    pub verifier: Verifier,
    /// The results, encoded.
    pub results: Vec<u8>,
}

/// The decision of an authenticator on a call.
pub enum Verdict {
    /// The caller of this call, and of every other one on the connection with the same credential and
    /// verifier. Nothing is added to arguments and results.
    Lasting(Arc<Caller>),
    /// The caller of this call, whose arguments and results are protected.
    Protected(Arc<Caller>, Box<dyn Protection>),
    /// The call is the authenticator's own, and no service sees it: it has these results.
    Answer(Answer),
    /// Like [`Verdict::Answer`], but the answer takes time. The future is polled beside the other calls of
    /// the connection, so it must not block: blocking work belongs on a thread of its own. It is dropped when
    /// the connection is lost.
    Later(BoxFuture<Result<Answer, Refusal>>),
    /// The NULL call asks for an upgrade of the connection, and no service sees it (RFC 9289 §4.1). The reply
    /// has this verifier and no results; the handshake begins behind it. Where the server has no upgrade,
    /// over datagrams, and on a connection that was upgraded before, the reply is AUTH_BADCRED. If the client
    /// has anything else under way, the connection is closed.
    Upgrade(Verifier),
    /// It is refused.
    Refuse(Refusal),
    /// It is dropped without an answer (RFC 2203 §5.3.3.1).
    Silence,
}

/// Judges the callers of a server.
pub trait Authenticator: Send + Sync + 'static {
    /// Judges a call that came over `connection`, whose arguments are `arguments`. The connection tells its
    /// [`Channel`](super::Channel).
    fn judge(
        &self,
        header: &CallHeader,
        claim: &Claim<'_>,
        arguments: &[u8],
        connection: &dyn Connection,
    ) -> Verdict;
}

impl std::fmt::Debug for dyn Authenticator {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Authenticator")
    }
}

/// The last caller of a connection whose verdict lasts: most calls have the same.
pub struct Callers {
    authenticator: Arc<dyn Authenticator>,
    last: Option<LastCaller>,
}

struct LastCaller {
    /// Credential and verifier, as they came.
    raw: Vec<u8>,
    caller: Arc<Caller>,
}

impl Callers {
    /// Remembers no caller yet.
    #[must_use]
    pub fn new(authenticator: Arc<dyn Authenticator>) -> Self {
        Self { authenticator, last: None }
    }

    /// Forgets the last caller, as when the channel of the connection has changed.
    pub fn forget(&mut self) {
        self.last = None;
    }

    /// As [`Authenticator::judge`].
    #[inline]
    pub fn judge(
        &mut self,
        header: &CallHeader,
        claim: &Claim<'_>,
        arguments: &[u8],
        connection: &dyn Connection,
    ) -> Verdict {
        if let Some(last) = &self.last
            && last.raw == claim.raw
        {
            return Verdict::Lasting(Arc::clone(&last.caller));
        }
        let verdict = self.authenticator.judge(header, claim, arguments, connection);
        if let Verdict::Lasting(caller) = &verdict {
            self.last = Some(LastCaller { raw: claim.raw.to_vec(), caller: Arc::clone(caller) });
        }
        verdict
    }
}

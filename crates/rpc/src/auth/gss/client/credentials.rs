//! The contexts of a client by user.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::call::GssCall;
use super::context::{ClientContext, NoSequence};
use super::creation::{CreationError, create};
use super::initiator::Initiator;
use crate::auth::gss::service::GssService;
use crate::auth::{AuthStatus, Credentials, OnBehalf, Pass};
use crate::{BoxFuture, CallError, Refusal};

/// Calls procedure 0 of the program with a pass and with arguments, and returns the results.
pub type Exchange<'a> = &'a (dyn Fn(Pass, Vec<u8>) -> BoxFuture<Result<Bytes, CallError>> + Send + Sync);

/// The credentials of a client whose calls have contexts, one for each user.
pub struct GssCredentials {
    initiator: Arc<dyn Initiator>,
    service: GssService,
    users_max: usize,
    contexts: Mutex<BTreeMap<User, Arc<ClientContext>>>,
}

/// The owner of a context: the client itself, or the user with this uid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum User {
    Client,
    Uid(u32),
}

impl User {
    fn of(on_behalf: OnBehalf<'_>) -> Self {
        match on_behalf {
            OnBehalf::Client => Self::Client,
            OnBehalf::User(user) => Self::Uid(user.uid),
        }
    }

    fn uid(self) -> u32 {
        match self {
            Self::Client => 0,
            Self::Uid(uid) => uid,
        }
    }
}

impl GssCredentials {
    /// Returns credentials without contexts. Calls are protected by `service`. There are contexts of at most
    /// `users_max` users: [`GssCredentials::establish`] refuses more.
    #[must_use]
    pub fn new(initiator: Arc<dyn Initiator>, service: GssService, users_max: usize) -> Self {
        Self { initiator, service, users_max, contexts: Mutex::default() }
    }

    /// Creates the context of a user, which takes the place of the one before. The last of several creations
    /// at once counts.
    ///
    /// # Errors
    /// [`CreationError`]; `Call(NoCredential)` when there are contexts of too many users.
    pub async fn establish(
        &self,
        on_behalf: OnBehalf<'_>,
        exchange: Exchange<'_>,
    ) -> Result<(), CreationError> {
        let owner = User::of(on_behalf);
        let user = match on_behalf {
            OnBehalf::Client => None,
            OnBehalf::User(user) => Some(user.clone()),
        };
        let context = create(self.initiator.begin(user).await, exchange).await?;
        let mut contexts = self.contexts();
        if contexts.len() >= self.users_max && !contexts.contains_key(&owner) {
            return Err(CallError::NoCredential(owner.uid()).into());
        }
        contexts.insert(owner, Arc::new(context));
        Ok(())
    }

    /// True of a refusal that calls for another context: the server does not have the context, or it has
    /// expired (RFC 2203 §5.3.3.3).
    #[must_use]
    pub fn is_context_lost(refusal: Refusal) -> bool {
        let lost = [AuthStatus::GssCredentialProblem, AuthStatus::GssContextProblem].map(Refusal::from);
        lost.contains(&refusal)
    }

    /// Forgets the context of a user, which the server does not have any more.
    pub fn forget(&self, on_behalf: OnBehalf<'_>) {
        self.contexts().remove(&User::of(on_behalf));
    }

    /// Forgets the context of a user, and returns the pass of a call of procedure 0 without arguments that
    /// has the server forget it (RFC 2203 §5.4). `None` when there is no context, or none of its numbers is
    /// left.
    pub fn destroy(&self, on_behalf: OnBehalf<'_>) -> Option<Pass> {
        let context = self.contexts().remove(&User::of(on_behalf))?;
        let request = context.begin().ok()?;
        Some(Pass::Protected(Box::new(GssCall::destroy(request))))
    }

    fn contexts(&self) -> MutexGuard<'_, BTreeMap<User, Arc<ClientContext>>> {
        self.contexts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Credentials for GssCredentials {
    /// # Errors
    /// [`CallError::NoCredential`] when the user has no context, or has used up its numbers;
    /// [`CallError::Busy`] while as many calls are under way as the server's window takes.
    fn pass(&self, on_behalf: OnBehalf<'_>) -> Result<Pass, CallError> {
        let owner = User::of(on_behalf);
        let context = self.contexts().get(&owner).map(Arc::clone);
        let context = context.ok_or(CallError::NoCredential(owner.uid()))?;
        match context.begin() {
            Ok(request) => Ok(Pass::Protected(Box::new(GssCall::data(request, self.service)))),
            Err(NoSequence::WindowFull) => Err(CallError::Busy),
            Err(NoSequence::UsedUp) => Err(CallError::NoCredential(owner.uid())),
        }
    }
}

impl fmt::Debug for GssCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let users = self.contexts().len();
        f.debug_struct("GssCredentials").field("service", &self.service).field("users", &users).finish()
    }
}

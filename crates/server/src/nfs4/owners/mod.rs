//! Owners and groups as clients see them: numbers, or names of a domain (RFC 8881 §5.9).

mod cache;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{Either, select};
use parking_lot::Mutex;
use proto::nfs4::Status;
use proto::nfs4::attributes::Principal;

use crate::runtime::{BoxFuture, Runtime};
use cache::Cache;

/// Longest name that is looked up, in bytes, without its domain.
const NAME_BYTES_MAX: usize = 255;
/// How long an answer of the name service is waited for.
const ANSWER_MAX: Duration = Duration::from_secs(2);

/// How owners and groups are told to clients.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum OwnerNames {
    /// As numbers in decimal digits, which is what Linux clients expect under AUTH_SYS. No name is taken.
    #[default]
    Numeric,
    /// As `name@domain` with this domain, and as numbers where there is no name. Both are taken.
    Domain(String),
}

/// Users and groups have names and numbers of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PrincipalKind {
    /// The attribute `owner`.
    User,
    /// The attribute `owner_group`.
    Group,
}

/// The name service did not answer, or not in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unavailable;

/// Where names come from. An answer may take its time: it must not hold up the thread that polls it.
pub trait NameService: Send + Sync + 'static {
    /// The name of a number, without a domain.
    fn name_of(&self, kind: PrincipalKind, id: u32) -> BoxFuture<Result<Option<Bytes>, Unavailable>>;

    /// The number of a name. `name` has 1 to 255 bytes and no NUL.
    fn id_of(&self, kind: PrincipalKind, name: Bytes) -> BoxFuture<Result<Option<u32>, Unavailable>>;
}

/// Translates between the back end's numbers and what clients see.
pub(crate) struct Owners {
    domain: Option<Domain>,
}

struct Domain {
    name: String,
    service: Arc<dyn NameService>,
    world: Arc<dyn Runtime>,
    cache: Mutex<Cache>,
}

impl std::fmt::Debug for Owners {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let domain = self.domain.as_ref().map(|domain| &domain.name);
        f.debug_struct("Owners").field("domain", &domain).finish_non_exhaustive()
    }
}

impl Owners {
    pub(crate) fn numeric() -> Self {
        Self { domain: None }
    }

    pub(crate) fn of_domain(name: String, service: Arc<dyn NameService>, world: Arc<dyn Runtime>) -> Self {
        Self { domain: Some(Domain { name, service, world, cache: Mutex::default() }) }
    }

    /// True where nobody is asked for names.
    pub(crate) fn are_numbers(&self) -> bool {
        self.domain.is_none()
    }

    /// What a client is told of `id`: its number where it has no name or none can be had now.
    pub(crate) async fn principal(&self, kind: PrincipalKind, id: u32) -> Principal {
        match &self.domain {
            None => Principal::Number(id),
            Some(domain) => domain.name_of(kind, id).await.map_or(Principal::Number(id), Principal::Name),
        }
    }

    /// The number of what a client says.
    ///
    /// # Errors
    /// BADOWNER for a name that is unknown or of another domain, DELAY while the name service does not
    /// answer.
    pub(crate) async fn id(&self, kind: PrincipalKind, principal: &Principal) -> Result<u32, Status> {
        let name = match principal {
            Principal::Number(id) => return Ok(*id),
            Principal::Name(name) => name,
        };
        let domain = self.domain.as_ref().ok_or(Status::BadOwner)?;
        domain.id_of(kind, domain.local_part(name).ok_or(Status::BadOwner)?).await
    }
}

impl Domain {
    async fn name_of(&self, kind: PrincipalKind, id: u32) -> Option<Bytes> {
        let known = self.cache.lock().name(kind, id, self.world.now_ms());
        let found = match known {
            Some(known) => known,
            None => {
                let found = self.in_time(self.service.name_of(kind, id)).await;
                let found =
                    found.map(|name| name.filter(|name| is_name(name)).map(|name| self.with_domain(&name)));
                self.cache.lock().keep_name(kind, id, found, self.world.now_ms())
            }
        };
        found.unwrap_or_default()
    }

    async fn id_of(&self, kind: PrincipalKind, name: Bytes) -> Result<u32, Status> {
        let known = self.cache.lock().id(kind, &name, self.world.now_ms());
        let found = match known {
            Some(known) => known,
            None => {
                let found = self.in_time(self.service.id_of(kind, name.clone())).await;
                self.cache.lock().keep_id(kind, &name, found, self.world.now_ms())
            }
        };
        found.map_err(|_| Status::Delay)?.ok_or(Status::BadOwner)
    }

    /// Waits for an answer no longer than a client should for a request.
    async fn in_time<T>(&self, answer: BoxFuture<Result<T, Unavailable>>) -> Result<T, Unavailable> {
        match select(answer, self.world.sleep(ANSWER_MAX)).await {
            Either::Left((answer, _)) => answer,
            Either::Right(_) => Err(Unavailable),
        }
    }

    fn with_domain(&self, name: &[u8]) -> Bytes {
        [name, b"@", self.name.as_bytes()].concat().into()
    }

    /// The name without the domain, if it is ours. The name itself may hold an `@`; domains are compared as
    /// DNS does.
    fn local_part(&self, name: &Bytes) -> Option<Bytes> {
        let at = name.iter().rposition(|byte| *byte == b'@')?;
        let ours = name[at + 1..].eq_ignore_ascii_case(self.name.as_bytes());
        (ours && is_name(&name[..at])).then(|| name.slice(..at))
    }
}

fn is_name(bytes: &[u8]) -> bool {
    (1..=NAME_BYTES_MAX).contains(&bytes.len()) && !bytes.contains(&0)
}

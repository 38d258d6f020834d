//! Users and groups of the host, as its name service has them (`getpwnam_r` and its likes).

use std::sync::Arc;

use bytes::Bytes;
use nix::unistd::{Gid, Group, Uid, User};
use server::nfs4::{NameService, PrincipalKind, Unavailable};
use server::runtime::BoxFuture;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use super::own_work::spawn_blocking;

/// Questions that are put at the same time. Each holds a thread, for as long as a directory server may take.
const QUESTIONS_MAX: usize = 4;

/// Asks the host's name service, on threads that may wait.
#[derive(Debug)]
pub(crate) struct SystemNames {
    handle: Handle,
    places: Arc<Semaphore>,
}

impl SystemNames {
    /// # Panics
    /// Outside a tokio runtime.
    pub(crate) fn new() -> Self {
        Self { handle: Handle::current(), places: Arc::new(Semaphore::new(QUESTIONS_MAX)) }
    }

    fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce() -> nix::Result<Option<T>> + Send + 'static,
    ) -> BoxFuture<Result<Option<T>, Unavailable>> {
        let (handle, places) = (self.handle.clone(), Arc::clone(&self.places));
        Box::pin(async move {
            let place = places.acquire_owned().await.map_err(|_| Unavailable)?;
            let answer = spawn_blocking(&handle, move || {
                let answer = question();
                drop(place);
                answer
            });
            answer.await.map_err(|_| Unavailable)?.map_err(|error| {
                tracing::warn!(%error, "the name service did not answer");
                Unavailable
            })
        })
    }
}

impl NameService for SystemNames {
    fn name_of(&self, kind: PrincipalKind, id: u32) -> BoxFuture<Result<Option<Bytes>, Unavailable>> {
        self.ask(move || {
            Ok(match kind {
                PrincipalKind::User => User::from_uid(Uid::from_raw(id))?.map(|user| user.name.into()),
                PrincipalKind::Group => Group::from_gid(Gid::from_raw(id))?.map(|group| group.name.into()),
            })
        })
    }

    fn id_of(&self, kind: PrincipalKind, name: Bytes) -> BoxFuture<Result<Option<u32>, Unavailable>> {
        self.ask(move || {
            // The name service knows only text.
            let Ok(name) = std::str::from_utf8(&name) else { return Ok(None) };
            Ok(match kind {
                PrincipalKind::User => User::from_name(name)?.map(|user| user.uid.as_raw()),
                PrincipalKind::Group => Group::from_name(name)?.map(|group| group.gid.as_raw()),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_superuser_has_a_name_and_nonsense_has_none() {
        let names = SystemNames::new();
        let root = Bytes::from_static(b"root");
        assert_eq!(names.name_of(PrincipalKind::User, 0).await, Ok(Some(root.clone())));
        for kind in [PrincipalKind::User, PrincipalKind::Group] {
            assert_eq!(names.id_of(kind, root.clone()).await, Ok(Some(0)));
            assert_eq!(names.id_of(kind, "no such principal".into()).await, Ok(None));
            assert_eq!(names.id_of(kind, Bytes::from_static(b"\xff")).await, Ok(None));
            assert_eq!(names.name_of(kind, 4_123_456_789).await, Ok(None));
        }
    }
}

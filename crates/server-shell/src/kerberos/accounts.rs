//! The accounts of principals: those of the configuration, then those of the Kerberos library's rules.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::sync::Arc;

use bytes::Bytes;
use gssapi::Library;
use nix::unistd::{User, getgrouplist};
use rpc::auth::UnixUser;
use rpc::auth::gss::Names;
use server::runtime::BoxFuture;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use super::{KerberosError, PrincipalTable};
use crate::own_work::spawn_blocking;

/// Questions that are put at the same time. Each holds a thread, for as long as a directory server may take.
const QUESTIONS_MAX: usize = 4;

/// Knows the accounts of principals.
pub(super) struct Accounts {
    library: Arc<Library>,
    explicit: BTreeMap<Vec<u8>, UnixUser>,
    handle: Handle,
    places: Arc<Semaphore>,
}

impl Accounts {
    /// Looks up the accounts that the configuration names.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub(super) fn new(library: Arc<Library>, tables: &[PrincipalTable]) -> Result<Self, KerberosError> {
        let explicit = tables.iter().map(|PrincipalTable { principal, account }| {
            let user = account_of(account).ok_or_else(|| KerberosError::NoAccount {
                principal: principal.clone(),
                account: account.clone(),
            })?;
            Ok((principal.clone().into_bytes(), user))
        });
        let explicit = explicit.collect::<Result<_, KerberosError>>()?;
        let places = Arc::new(Semaphore::new(QUESTIONS_MAX));
        Ok(Self { library, explicit, handle: Handle::current(), places })
    }
}

impl Names for Accounts {
    fn user(&self, principal: Bytes) -> BoxFuture<Option<UnixUser>> {
        let (library, handle, places) =
            (Arc::clone(&self.library), self.handle.clone(), Arc::clone(&self.places));
        Box::pin(async move {
            let place = places.acquire_owned().await.ok()?;
            let answer = spawn_blocking(&handle, move || {
                let _place = place;
                account_of(&library.local_name(&principal)?)
            });
            answer.await.ok()?
        })
    }

    fn explicit_user(&self, principal: &[u8]) -> Option<UnixUser> {
        self.explicit.get(principal).cloned()
    }
}

/// The user and the groups of an account, by the name service.
fn account_of(name: &str) -> Option<UnixUser> {
    let user = match User::from_name(name) {
        Ok(user) => user?,
        Err(error) => {
            tracing::warn!(%error, account = name, "the name service did not answer");
            return None;
        }
    };
    let groups = match CString::new(user.name.clone()).map(|name| getgrouplist(&name, user.gid)) {
        Ok(Ok(groups)) => groups,
        // Fewer groups than it has could allow an access that an entry for a group denies.
        Ok(Err(_)) | Err(_) => return None,
    };
    let gids = groups.into_iter().map(nix::unistd::Gid::as_raw).filter(|gid| *gid != user.gid.as_raw());
    Some(UnixUser { uid: user.uid.as_raw(), gid: user.gid.as_raw(), gids: gids.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn account_has_its_user_and_unknown_names_have_none() {
        let root = account_of("root").unwrap();
        assert_eq!((root.uid, root.gid), (0, 0));
        assert_eq!(account_of("no such account"), None);
    }
}

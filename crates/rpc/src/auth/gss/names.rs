//! From the principal of a context to a user of this system.

use bytes::Bytes;

use crate::BoxFuture;
use crate::auth::UnixUser;

/// The most supplementary groups of a user, as Linux has it. A principal with more has no user: fewer groups
/// could allow an access that an entry for a group denies.
pub const GROUPS_MAX: usize = 65_536;

/// Names of services whose principals stand for machines or administrators, not for users.
const MACHINE_SERVICES: [&[u8]; 3] = [b"host", b"nfs", b"root"];

/// Knows the users of principals. It is asked once for each context, so a change of groups takes effect with
/// the next context.
///
/// Where it is `None`, exports give the caller their anonymous ids.
pub trait Names: Send + Sync + 'static {
    /// Returns the user of a principal. The driver of the connection polls the future, so it must not block.
    ///
    /// The authenticator does not ask for principals of machines (`host/…`, `nfs/…`, `root/…`, `NAME$`), and
    /// ignores the uid 0: a directory of users has an entry for root, which a principal of that name must not
    /// get.
    fn user(&self, principal: Bytes) -> BoxFuture<Option<UnixUser>>;

    /// Returns the user that an administrator has given to this very principal. It may be uid 0, and the
    /// principal one of a machine. [`Names::user`] is asked where there is none.
    fn explicit_user(&self, _principal: &[u8]) -> Option<UnixUser> {
        None
    }
}

/// Knows no user of any principal.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoNames;

impl Names for NoNames {
    fn user(&self, _: Bytes) -> BoxFuture<Option<UnixUser>> {
        Box::pin(std::future::ready(None))
    }
}

/// Returns the user of a principal by the rules of [`Names`].
pub(super) async fn user_of(names: &dyn Names, principal: Bytes) -> Option<UnixUser> {
    let user = match names.explicit_user(&principal) {
        Some(user) => Some(user),
        None if is_machine(&principal) => None,
        None => names.user(principal).await.filter(|user| user.uid != 0),
    };
    user.filter(|user| user.gids.len() <= GROUPS_MAX)
}

/// True of principals that stand for a machine: services by convention (RFC 4120), and the computer accounts
/// of Active Directory, whose names end in `$`.
fn is_machine(principal: &[u8]) -> bool {
    let name = before(principal, b'@');
    let first = before(name, b'/');
    let is_service = MACHINE_SERVICES.iter().any(|service| first.eq_ignore_ascii_case(service));
    first.ends_with(b"$") || (is_service && first.len() < name.len())
}

/// Returns the bytes in front of the first `separator` that no backslash escapes.
fn before(name: &[u8], separator: u8) -> &[u8] {
    let mut is_escaped = false;
    let end = name.iter().position(|byte| {
        let is_end = *byte == separator && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        is_end
    });
    &name[..end.unwrap_or(name.len())]
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::task::{Context, Poll, Waker};

    use super::*;

    /// Knows each principal as this uid, and `host/trusted@R` as root.
    struct OneUser(u32);

    impl Names for OneUser {
        fn user(&self, _: Bytes) -> BoxFuture<Option<UnixUser>> {
            let user = UnixUser { uid: self.0, gid: 7, gids: vec![8] };
            Box::pin(std::future::ready(Some(user)))
        }

        fn explicit_user(&self, principal: &[u8]) -> Option<UnixUser> {
            let root = UnixUser { uid: 0, gid: 0, gids: vec![] };
            (principal == b"host/trusted@R").then_some(root)
        }
    }

    fn uid(names: &dyn Names, principal: &'static [u8]) -> Option<u32> {
        let mut user = std::pin::pin!(user_of(names, Bytes::from_static(principal)));
        match user.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(user) => user.map(|user| user.uid),
            Poll::Pending => panic!("it waits"),
        }
    }

    #[test]
    fn machines_are_nobody_unless_they_are_named() {
        let machines: [&[u8]; 7] = [
            b"host/a.example@R",
            b"HOST/a.example@R",
            b"nfs/a.example@R",
            b"root/a.example@R",
            b"HOST-A$@R",
            b"a$/b@R",
            b"host/a\\@b@R",
        ];
        for machine in machines {
            assert_eq!(uid(&OneUser(5), machine), None, "{}", String::from_utf8_lossy(machine));
        }
        assert_eq!(uid(&OneUser(5), b"host/trusted@R"), Some(0));
        let users: [&[u8]; 6] = [b"ann@R", b"host@R", b"ann/admin@R", b"nfsuser@R", b"a$b@R", b"ann@R$"];
        for user in users {
            assert_eq!(uid(&OneUser(5), user), Some(5), "{}", String::from_utf8_lossy(user));
        }
    }

    #[test]
    fn superuser_of_a_directory_is_nobody() {
        assert_eq!(uid(&OneUser(0), b"root@R"), None);
        assert_eq!(uid(&NoNames, b"ann@R"), None);
    }
}

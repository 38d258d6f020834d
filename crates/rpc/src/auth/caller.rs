//! The caller of a call, once it is believed.

use bytes::Bytes;

use super::gss::{GssService, RPCSEC_GSS};
use super::{AUTH_NONE, AUTH_SYS, AuthSys, Credential};

/// How a caller was authenticated (RFC 5531 §8.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Flavor {
    /// AUTH_NONE: the caller has no name.
    None,
    /// AUTH_SYS: the ids that the client claims.
    Sys,
    /// RPCSEC_GSS: a principal that has proven itself, and the service that protects this call.
    Gss(GssService),
    /// Another one, by its number.
    Other(u32),
}

impl Flavor {
    /// Its RPC number.
    #[must_use]
    pub fn number(self) -> u32 {
        match self {
            Self::None => AUTH_NONE,
            Self::Sys => AUTH_SYS,
            Self::Gss(_) => RPCSEC_GSS,
            Self::Other(number) => number,
        }
    }
}

/// A user of a Unix system with its groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnixUser {
    /// User.
    pub uid: u32,
    /// Primary group.
    pub gid: u32,
    /// Supplementary groups.
    pub gids: Vec<u32>,
}

/// The caller of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    flavor: Flavor,
    principal: Bytes,
    user: Option<UnixUser>,
    machine_name: Bytes,
}

impl Caller {
    /// Returns the caller that a flavor of its own kind has authenticated under the name `principal`. The
    /// user is that of this system where there is one.
    #[must_use]
    pub fn named(flavor: u32, principal: &[u8], user: Option<UnixUser>) -> Self {
        let principal = [&[2][..], &flavor.to_be_bytes(), principal].concat().into();
        Self { flavor: Flavor::Other(flavor), principal, user, machine_name: Bytes::new() }
    }

    /// Returns the caller that a GSS context has authenticated as `principal` (RFC 2203). The service is not
    /// a part of [`Caller::principal`]: a client may use several for one principal.
    #[must_use]
    pub fn gss(service: GssService, principal: &[u8], user: Option<UnixUser>) -> Self {
        Self { flavor: Flavor::Gss(service), ..Self::named(RPCSEC_GSS, principal, user) }
    }

    /// How it was authenticated.
    #[must_use]
    pub fn flavor(&self) -> Flavor {
        self.flavor
    }

    /// Opaque bytes that are the same for the same caller and differ between callers. State, reply caches and
    /// audits compare them. Groups, which may change, are left out.
    #[must_use]
    pub fn principal(&self) -> &Bytes {
        &self.principal
    }

    /// The user, where it has one.
    #[must_use]
    pub fn user(&self) -> Option<&UnixUser> {
        self.user.as_ref()
    }

    /// The name of the machine that an AUTH_SYS caller claims to be on; else empty.
    #[must_use]
    pub fn machine_name(&self) -> &Bytes {
        &self.machine_name
    }
}

impl From<AuthSys> for Caller {
    fn from(sys: AuthSys) -> Self {
        let principal = [&[1][..], &sys.uid.to_be_bytes(), &sys.machine_name].concat().into();
        let user = UnixUser { uid: sys.uid, gid: sys.gid, gids: sys.gids };
        Self { flavor: Flavor::Sys, principal, user: Some(user), machine_name: sys.machine_name }
    }
}

impl From<Credential> for Caller {
    /// The caller that a server makes of a credential when it believes it.
    fn from(credential: Credential) -> Self {
        match credential {
            Credential::None => Self {
                flavor: Flavor::None,
                principal: Bytes::from_static(&[0]),
                user: None,
                machine_name: Bytes::new(),
            },
            Credential::Sys(sys) => sys.into(),
            Credential::Other { flavor, body } => Self::named(flavor, &body, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sys(uid: u32, gids: &[u32], machine_name: &'static str) -> Caller {
        let machine_name = Bytes::from_static(machine_name.as_bytes());
        Caller::from(AuthSys { stamp: 9, machine_name, uid, gid: 7, gids: gids.to_vec() })
    }

    #[test]
    fn principal_is_flavor_user_and_machine_and_no_group() {
        assert_eq!(sys(1, &[], "a").principal(), sys(1, &[5], "a").principal());
        let others = [
            sys(2, &[], "a"),
            sys(1, &[], "b"),
            Credential::None.into(),
            Caller::gss(GssService::None, b"a", None),
            Caller::named(7, b"a", None),
            Caller::named(7, b"b", None),
        ];
        for (nth, one) in others.iter().enumerate() {
            assert_ne!(one.principal(), sys(1, &[], "a").principal());
            assert!(others[nth + 1..].iter().all(|other| other.principal() != one.principal()));
        }
    }

    #[test]
    fn service_of_a_gss_caller_is_no_part_of_its_principal() {
        let plain = Caller::gss(GssService::None, b"a", None);
        let sealed = Caller::gss(GssService::Privacy, b"a", None);
        assert_eq!(plain.principal(), sealed.principal());
        assert_eq!((plain.flavor().number(), sealed.flavor()), (6, Flavor::Gss(GssService::Privacy)));
        assert_ne!(plain, sealed);
    }
}

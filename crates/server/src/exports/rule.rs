//! What the clients of an export may do there, and as whom.

use rpc::Caller as RpcCaller;
use rpc::auth::gss::GssService;
use vfs::Identity;

use super::{Caller, CertificatePattern, Clients, Denied, HostDirectory, Squash, TransportSecurities};

/// Ports below this are for the superuser of the client's host.
const FIRST_UNPRIVILEGED_PORT: u16 = 1024;

/// A flavor of authentication (RFC 5531 §8.1), by the words of exports(5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavor {
    /// `none` (AUTH_NONE): callers without a name.
    None,
    /// `sys` (AUTH_SYS): the ids that the client claims.
    Sys,
    /// `krb5`, `krb5i`, `krb5p`: principals of Kerberos 5, and the service that protects their calls.
    Kerberos(GssService),
}

impl Flavor {
    /// Every flavor.
    pub const ALL: [Self; 5] = [
        Self::None,
        Self::Sys,
        Self::Kerberos(GssService::None),
        Self::Kerberos(GssService::Integrity),
        Self::Kerberos(GssService::Privacy),
    ];

    /// Its number; the pseudo flavor of Kerberos with its service (RFC 7530 §3.2.1.1).
    pub fn number(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Sys => 1,
            Self::Kerberos(service) => service.krb5_pseudo_flavor(),
        }
    }

    /// Its word in exports(5).
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Sys => "sys",
            Self::Kerberos(GssService::None) => "krb5",
            Self::Kerberos(GssService::Integrity) => "krb5i",
            Self::Kerberos(GssService::Privacy) => "krb5p",
        }
    }

    /// That of a caller, where it is one that there is a rule for.
    pub fn of(caller: &RpcCaller) -> Option<Self> {
        match caller.flavor() {
            rpc::auth::Flavor::None => Some(Self::None),
            rpc::auth::Flavor::Sys => Some(Self::Sys),
            rpc::auth::Flavor::Gss(service) => Some(Self::Kerberos(service)),
            rpc::auth::Flavor::Other(_) => None,
        }
    }
}

/// What the clients that it is for may do on an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The clients that it is for.
    pub clients: Clients,
    /// Where it is for clients with certificates only: the certificates, any of which will do. Empty for a
    /// rule that does not look at them.
    pub certificates: Vec<CertificatePattern>,
    /// No operation changes anything.
    pub read_only: bool,
    /// Which callers act as nobody.
    pub squash: Squash,
    /// The flavours of authentication that are accepted, best first.
    pub flavors: Vec<Flavor>,
    /// The protections of connections that are accepted.
    pub transports: TransportSecurities,
    /// Only calls from ports below 1024 are accepted.
    pub privileged_port: bool,
}

impl Default for Rule {
    /// Everybody may read and write, superusers as nobody, from any port.
    fn default() -> Self {
        Self {
            clients: Clients::All,
            certificates: Vec::new(),
            read_only: false,
            squash: Squash::default(),
            flavors: vec![Flavor::Sys, Flavor::None],
            transports: TransportSecurities::ALL,
            privileged_port: false,
        }
    }
}

impl Rule {
    /// True for a caller whose connection has a certificate that the rule is for.
    pub(super) fn is_for_certificate(&self, caller: &Caller<'_>) -> bool {
        let matches = |certificate| self.certificates.iter().any(|pattern| pattern.matches(certificate));
        self.certificates.is_empty() || caller.certificate.is_some_and(matches)
    }

    /// True when no caller is left for `other` where this rule is tried before it.
    pub fn covers(&self, other: &Self) -> bool {
        let has_certificates = |pattern| self.certificates.contains(pattern);
        let is_wider = self.certificates.is_empty()
            || (!other.certificates.is_empty() && other.certificates.iter().all(has_certificates));
        is_wider && self.clients.cover(&other.clients)
    }

    /// Checks the port that a caller comes from.
    ///
    /// # Errors
    /// `Port`.
    pub(super) fn check_port(&self, caller: &Caller<'_>) -> Result<(), Denied> {
        if self.privileged_port && caller.peer.port() >= FIRST_UNPRIVILEGED_PORT {
            Err(Denied::Port)
        } else {
            Ok(())
        }
    }

    /// True for a caller whose flavor it accepts, over a connection whose protection it accepts.
    pub(crate) fn accepts(&self, caller: &Caller<'_>) -> bool {
        self.accepts_flavor(caller.rpc) && self.transports.contains(caller.transport)
    }

    /// True for a caller of a flavor that it accepts.
    pub(super) fn accepts_flavor(&self, caller: &RpcCaller) -> bool {
        Flavor::of(caller).is_some_and(|flavor| self.flavors.contains(&flavor))
    }

    /// Whose rights a caller has. `groups` tells the groups of a user, where not the caller's word counts
    /// for them. Allocates nothing for a caller without supplementary groups.
    ///
    /// # Errors
    /// `Flavor`; `Later` when the groups are not known.
    pub(super) fn identity(
        &self,
        caller: &RpcCaller,
        groups: Option<&dyn HostDirectory>,
    ) -> Result<Identity, Denied> {
        if !self.accepts_flavor(caller) {
            return Err(Denied::Flavor);
        }
        let Some(user) = caller.user() else { return Ok(self.squash.anonymous()) };
        match groups {
            None => Ok(self.squash.apply(user.uid, user.gid, &user.gids)),
            Some(directory) => {
                let groups = directory.groups(user.uid).ok_or(Denied::Later)?;
                Ok(self.squash.apply(user.uid, user.gid, &groups))
            }
        }
    }
}

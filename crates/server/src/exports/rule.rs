//! What the clients of an export may do there, and as whom.

use rpc::Caller as RpcCaller;
use vfs::Identity;

use super::{Caller, Clients, Denied, HostDirectory, Squash};

/// Ports below this are for the superuser of the client's host.
const FIRST_UNPRIVILEGED_PORT: u16 = 1024;

/// A flavour of authentication (RFC 5531 §8.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavor {
    /// AUTH_NONE: nobody.
    None,
    /// AUTH_SYS: the ids that the client claims.
    Sys,
}

impl Flavor {
    /// Its RPC number.
    pub fn number(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Sys => 1,
        }
    }

    /// That of a caller, where it is one that there is a rule for.
    pub fn of(caller: &RpcCaller) -> Option<Self> {
        match caller.flavor() {
            rpc::auth::Flavor::None => Some(Self::None),
            rpc::auth::Flavor::Sys => Some(Self::Sys),
            rpc::auth::Flavor::Gss(_) | rpc::auth::Flavor::Other(_) => None,
        }
    }
}

/// What the clients that it is for may do on an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Whom it is for.
    pub clients: Clients,
    /// No operation changes anything.
    pub read_only: bool,
    /// Which callers act as nobody.
    pub squash: Squash,
    /// The flavours of authentication that are accepted, best first.
    pub flavors: Vec<Flavor>,
    /// Only calls from ports below 1024 are accepted.
    pub privileged_port: bool,
}

impl Default for Rule {
    /// Everybody may read and write, superusers as nobody, from any port.
    fn default() -> Self {
        Self {
            clients: Clients::All,
            read_only: false,
            squash: Squash::default(),
            flavors: vec![Flavor::Sys, Flavor::None],
            privileged_port: false,
        }
    }
}

impl Rule {
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

    /// True for a caller of a flavor that it accepts.
    pub fn accepts(&self, caller: &RpcCaller) -> bool {
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
        if !self.accepts(caller) {
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

//! Who calls, as far as the rules of exports look at it.

use std::net::SocketAddr;

use rpc::auth::{Channel, PeerCertificate};
use rpc::{Call, Connection};
use vfs::Line;

use super::TransportSecurity;

/// A version of NFS. MOUNT and the lock manager belong to NFSv3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Version {
    /// NFSv3.
    V3,
    /// NFSv4.0.
    V4_0,
    /// NFSv4.1.
    V4_1,
    /// NFSv4.2.
    V4_2,
}

impl Version {
    /// All of them, the oldest first.
    pub const ALL: [Self; 4] = [Self::V3, Self::V4_0, Self::V4_1, Self::V4_2];

    /// NFSv4 with this minor version, where there is one.
    pub fn of_minor(minor: u32) -> Option<Self> {
        match minor {
            0 => Some(Self::V4_0),
            1 => Some(Self::V4_1),
            2 => Some(Self::V4_2),
            _ => None,
        }
    }

    /// As people write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::V3 => "3",
            Self::V4_0 => "4.0",
            Self::V4_1 => "4.1",
            Self::V4_2 => "4.2",
        }
    }
}

/// A set of versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Versions(u8);

impl Versions {
    /// Every version.
    pub const ALL: Self = Self(0b1111);

    /// True when `version` is in the set.
    pub fn contains(self, version: Version) -> bool {
        self.0 & (1 << version as u8) != 0
    }

    /// The versions of the set, the oldest first.
    pub fn iter(self) -> impl Iterator<Item = Version> {
        Version::ALL.into_iter().filter(move |version| self.contains(*version))
    }
}

impl FromIterator<Version> for Versions {
    fn from_iter<I: IntoIterator<Item = Version>>(versions: I) -> Self {
        Self(versions.into_iter().fold(0, |set, version| set | 1 << version as u8))
    }
}

impl Default for Versions {
    fn default() -> Self {
        Self::ALL
    }
}

/// Tells a file system whether a call is the only one of its connection.
pub struct OnlyCall<'a>(&'a dyn Connection);

impl<'a> OnlyCall<'a> {
    /// The connection of this call.
    pub fn of(call: &Call<'a>) -> Self {
        Self(&**call.connection)
    }
}

impl vfs::OnlyRequest for OnlyCall<'_> {
    fn is_only(&self) -> bool {
        self.0.is_only_call()
    }

    fn note_wait(&self) {
        self.0.note_wait();
    }
}

/// A caller.
#[derive(Debug, Clone, Copy)]
pub struct Caller<'a> {
    /// The address and port that the call came from.
    pub peer: SocketAddr,
    /// Its principal and user.
    pub rpc: &'a rpc::Caller,
    /// The protection of its connection.
    pub transport: TransportSecurity,
    /// The certificate that its connection was made with.
    pub certificate: Option<&'a PeerCertificate>,
    /// The version that it speaks.
    pub version: Version,
    /// Where its requests wait for a file system: in the line of their connection.
    pub line: Line<'a>,
}

impl<'a> Caller<'a> {
    /// Of a call in this version.
    pub fn of(call: &'a Call<'_>, version: Version) -> Self {
        let line = Line::numbered(call.connection.id());
        let channel = call.connection.channel();
        let certificate = match channel {
            Channel::Plain => None,
            Channel::Upgraded { peer } => peer.as_deref(),
        };
        let transport = TransportSecurity::of(channel);
        Self { peer: call.peer, rpc: call.caller, transport, certificate, version, line }
    }

    /// The same, for requests that may wait for a disk on their thread while they are the only ones of the
    /// connection.
    #[must_use]
    pub fn with_only(self, only: &'a OnlyCall<'a>) -> Self {
        Self { line: Line { only: Some(only), ..self.line }, ..self }
    }
}

/// Why a caller may not use an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// No rule is for its address, or the export is not there for its version.
    #[error("the export is not for this client")]
    Client,
    /// Its port is not one that only the superuser of its host may use.
    #[error("the port is not below 1024")]
    Port,
    /// Its flavour of authentication is not accepted.
    #[error("the flavour of authentication is not accepted")]
    Flavor,
    /// Its connection is not protected in a way that is accepted.
    #[error("the protection of the connection is not accepted")]
    Transport,
    /// Whether there is a rule for it, or who it is, is not known yet.
    #[error("the name or the groups of the client are not known yet")]
    Later,
}

//! The protection of connections that exports ask for (RFC 9289).

use rpc::auth::Channel;

/// The protection of the connection that a call came over, by the names of exports(5) (`xprtsec`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransportSecurity {
    /// `none`: plain TCP, or a datagram.
    None,
    /// `tls`: TLS with a client that showed no certificate.
    Tls,
    /// `mtls`: TLS with a client whose certificate was verified.
    MutualTls,
}

impl TransportSecurity {
    /// Every protection, the weakest first.
    pub const ALL: [Self; 3] = [Self::None, Self::Tls, Self::MutualTls];

    /// The protection of this channel.
    #[must_use]
    pub fn of(channel: &Channel) -> Self {
        match channel {
            Channel::Plain => Self::None,
            Channel::Upgraded { peer: None } => Self::Tls,
            Channel::Upgraded { peer: Some(_) } => Self::MutualTls,
        }
    }

    /// Its name in exports(5).
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Tls => "tls",
            Self::MutualTls => "mtls",
        }
    }
}

/// A set of protections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransportSecurities(u8);

impl TransportSecurities {
    /// Every protection.
    pub const ALL: Self = Self(0b111);

    /// True when `security` is in the set.
    #[must_use]
    pub fn contains(self, security: TransportSecurity) -> bool {
        self.0 & (1 << security as u8) != 0
    }

    /// The members of the set, the weakest first.
    pub fn iter(self) -> impl Iterator<Item = TransportSecurity> {
        TransportSecurity::ALL.into_iter().filter(move |security| self.contains(*security))
    }
}

impl FromIterator<TransportSecurity> for TransportSecurities {
    fn from_iter<I: IntoIterator<Item = TransportSecurity>>(securities: I) -> Self {
        Self(securities.into_iter().fold(0, |set, security| set | 1 << security as u8))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rpc::auth::PeerCertificate;

    use super::*;

    #[test]
    fn channel_with_a_verified_certificate_is_mutual() {
        let upgraded = |peer| Channel::Upgraded { peer };
        let certificate = Arc::new(PeerCertificate::default());
        assert_eq!(TransportSecurity::of(&Channel::Plain), TransportSecurity::None);
        assert_eq!(TransportSecurity::of(&upgraded(None)), TransportSecurity::Tls);
        assert_eq!(TransportSecurity::of(&upgraded(Some(certificate))), TransportSecurity::MutualTls);
    }

    #[test]
    fn set_holds_its_members_and_no_other() {
        let set: TransportSecurities =
            [TransportSecurity::MutualTls, TransportSecurity::Tls].into_iter().collect();
        let names: Vec<_> = set.iter().map(TransportSecurity::name).collect();
        assert_eq!(names, ["tls", "mtls"]);
        assert_eq!(TransportSecurities::ALL.iter().count(), 3);
    }
}

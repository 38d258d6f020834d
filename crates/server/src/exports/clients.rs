//! Which client addresses may use an export.

use std::fmt;
use std::net::IpAddr;

use super::HostDirectory;

/// All addresses that share the first `prefix_bits` with `address`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    /// An address of the network.
    pub address: IpAddr,
    /// How many leading bits count: up to 32 for IPv4 and 128 for IPv6.
    pub prefix_bits: u8,
}

impl Network {
    /// True for an address of the network. An IPv4 address mapped into IPv6 counts as the IPv4 address.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let shift = 32 - u32::from(self.prefix_bits.min(32));
                (network.to_bits() ^ address.to_bits()).checked_shr(shift).unwrap_or(0) == 0
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let shift = 128 - u32::from(self.prefix_bits.min(128));
                (network.to_bits() ^ address.to_bits()).checked_shr(shift).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

impl Network {
    /// True when every address of `other` is one of this network.
    pub fn covers(&self, other: &Self) -> bool {
        self.prefix_bits <= other.prefix_bits && self.contains(other.address)
    }

    /// The prefix length of a single address.
    pub fn host_bits(address: IpAddr) -> u8 {
        if address.is_ipv4() { 32 } else { 128 }
    }
}

impl fmt::Display for Clients {
    /// As it is written in a configuration.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("*"),
            Self::Networks(networks) => {
                let all: Vec<_> = networks.iter().map(Network::to_string).collect();
                f.write_str(&all.join(", "))
            }
            Self::Named(pattern) => pattern.fmt(f),
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.prefix_bits == Self::host_bits(self.address) {
            write!(f, "{}", self.address)
        } else {
            write!(f, "{}/{}", self.address, self.prefix_bits)
        }
    }
}

/// Who may use an export.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Clients {
    /// Everybody who can connect.
    #[default]
    All,
    /// Clients of these networks.
    Networks(Vec<Network>),
    /// Hosts with such a name.
    Named(NamePattern),
}

/// Names of hosts. Case does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NamePattern {
    /// The host whose addresses this name has.
    Host(String),
    /// Hosts whose name, by their address, matches this pattern, and has that address: `*` stands for any
    /// letters, dots too, and `?` for any one.
    Wildcard(String),
    /// Hosts of this netgroup of the name service.
    Netgroup(String),
}

impl NamePattern {
    /// True for a name that matches.
    pub fn matches(&self, name: &str) -> bool {
        match self {
            Self::Host(host) => host.eq_ignore_ascii_case(name),
            Self::Wildcard(pattern) => matches(pattern.as_bytes(), name.as_bytes()),
            // Names alone do not tell.
            Self::Netgroup(_) => false,
        }
    }
}

/// Compares letter by letter. At a mismatch the last `*` takes one more: the time is the product of the
/// lengths at most.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(letter) if *letter == b'?' || letter.eq_ignore_ascii_case(&name[n]) => {
                p += 1;
                n += 1;
            }
            _ => match star {
                Some((at, taken)) => {
                    star = Some((at, taken + 1));
                    (p, n) = (at + 1, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|letter| *letter == b'*')
}

impl fmt::Display for NamePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(name) | Self::Wildcard(name) => f.write_str(name),
            Self::Netgroup(group) => write!(f, "@{group}"),
        }
    }
}

impl Clients {
    /// Whether a client with this address is one of them; `None` while its name is not known.
    pub fn contain(&self, address: IpAddr, directory: Option<&dyn HostDirectory>) -> Option<bool> {
        match self {
            Self::All => Some(true),
            Self::Networks(networks) => Some(networks.iter().any(|network| network.contains(address))),
            Self::Named(pattern) => match directory {
                Some(directory) => directory.is_named(address.to_canonical(), pattern),
                None => Some(false),
            },
        }
    }

    /// True when everybody whom `other` holds is one of them, as far as that can be told without asking for
    /// names.
    pub fn cover(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::All, _) => true,
            (_, Self::All) => false,
            (Self::Networks(these), Self::Networks(those)) => {
                those.iter().all(|network| these.iter().any(|wider| wider.covers(network)))
            }
            (Self::Named(NamePattern::Wildcard(_)), Self::Named(NamePattern::Host(_))) => false,
            (Self::Named(this), Self::Named(that)) => this == that,
            (Self::Networks(_), Self::Named(_)) | (Self::Named(_), Self::Networks(_)) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(address: &str, prefix_bits: u8) -> Network {
        Network { address: address.parse().unwrap(), prefix_bits }
    }

    #[test]
    fn a_network_holds_the_addresses_with_its_prefix() {
        let of = |n: Network, a: &str| n.contains(a.parse().unwrap());
        assert!(of(network("10.1.0.0", 16), "10.1.255.7"));
        assert!(!of(network("10.1.0.0", 16), "10.2.0.1"));
        assert!(of(network("10.1.2.3", 32), "10.1.2.3") && !of(network("10.1.2.3", 32), "10.1.2.2"));
        assert!(of(network("0.0.0.0", 0), "192.0.2.1") && !of(network("0.0.0.0", 0), "2001:db8::1"));
        assert!(of(network("2001:db8::", 32), "2001:db8:ffff::1"));
        assert!(!of(network("2001:db8::", 32), "2001:db9::1"));
        assert!(of(network("::", 0), "2001:db8::1"));
    }

    #[test]
    fn patterns_match_whole_names_dots_included() {
        let wildcard = |pattern: &str, name| NamePattern::Wildcard(pattern.into()).matches(name);
        assert!(wildcard("*.example.org", "a.example.org") && wildcard("*.example.org", "a.b.Example.ORG"));
        assert!(
            !wildcard("*.example.org", "example.org") && !wildcard("*.example.org", "a.example.org.evil")
        );
        assert!(wildcard("lab??.x", "lab17.x") && !wildcard("lab??.x", "lab7.x"));
        assert!(wildcard("*a*b*", "xxaxxbxx") && !wildcard("*a*b", "xxaxxbxx"));
        assert!(wildcard("*", "") && !wildcard("?", "") && wildcard("", ""));
        assert!(!wildcard(&"*a".repeat(50), &"b".repeat(1000)));
        assert!(NamePattern::Host("Host.x".into()).matches("host.X"));
    }

    #[test]
    fn a_rule_covers_one_whose_clients_are_all_its_own() {
        let networks = |list: &[(&str, u8)]| {
            Clients::Networks(list.iter().map(|(address, bits)| network(address, *bits)).collect())
        };
        let host = |name: &str| Clients::Named(NamePattern::Host(name.into()));
        assert!(Clients::All.cover(&host("a")) && !host("a").cover(&Clients::All));
        assert!(networks(&[("10.0.0.0", 8)]).cover(&networks(&[("10.1.0.0", 16), ("10.2.3.4", 32)])));
        assert!(!networks(&[("10.0.0.0", 8)]).cover(&networks(&[("10.1.0.0", 16), ("11.0.0.0", 16)])));
        assert!(!networks(&[("10.1.0.0", 16)]).cover(&networks(&[("10.0.0.0", 8)])));
        assert!(!networks(&[("0.0.0.0", 0)]).cover(&networks(&[("::", 0)])));
        assert!(host("a").cover(&host("a")) && !host("a").cover(&host("b")));
    }

    #[test]
    fn an_ipv4_client_of_an_ipv6_socket_is_an_ipv4_client() {
        assert!(network("10.1.0.0", 16).contains("::ffff:10.1.2.3".parse().unwrap()));
    }
}

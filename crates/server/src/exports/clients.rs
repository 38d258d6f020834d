//! Which client addresses may use an export.

use std::fmt;
use std::net::IpAddr;

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

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix_bits)
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
}

impl Clients {
    /// True when a client with this address may use the export.
    pub fn allow(&self, address: IpAddr) -> bool {
        match self {
            Self::All => true,
            Self::Networks(networks) => networks.iter().any(|network| network.contains(address)),
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
    fn an_ipv4_client_of_an_ipv6_socket_is_an_ipv4_client() {
        assert!(network("10.1.0.0", 16).contains("::ffff:10.1.2.3".parse().unwrap()));
    }
}

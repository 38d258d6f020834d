//! The addresses by which clients are distinguished.

use std::net::{IpAddr, Ipv6Addr};

/// The address that a client is charged under: an IPv4 address, or the first 64 bits of an IPv6 address, as
/// a host usually has all addresses of such a prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClientAddress(IpAddr);

impl ClientAddress {
    /// The client of a peer's address.
    pub fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V6(address) => {
                let prefix = u128::from(address) >> 64 << 64;
                Self(IpAddr::V6(Ipv6Addr::from(prefix)))
            }
            v4 @ IpAddr::V4(_) => Self(v4),
        }
    }

    /// The address; of a prefix its first.
    pub fn ip(self) -> IpAddr {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ipv6_addresses_of_one_prefix_are_one_client() {
        let of = |text: &str| ClientAddress::of(text.parse().unwrap());
        assert_eq!(of("2001:db8:1:2::1"), of("2001:db8:1:2:ffff::9"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
        assert_ne!(of("10.0.0.1"), of("10.0.0.2"));
    }
}

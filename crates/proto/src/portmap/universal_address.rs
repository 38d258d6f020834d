//! Universal addresses: a host and a port as one text (RFC 5665 §5.2.3.3, §5.2.3.4).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The text of an address: `h1.h2.h3.h4.p1.p2`, or `x1:x2:x3:x4:x5:x6:x7:x8.p1.p2`.
pub fn universal_address(address: SocketAddr) -> String {
    let [high, low] = address.port().to_be_bytes();
    format!("{}.{high}.{low}", address.ip())
}

/// The address of a text; `None` when it is none.
pub fn parse_universal_address(text: &[u8]) -> Option<SocketAddr> {
    let text = std::str::from_utf8(text).ok()?;
    let (rest, low) = text.rsplit_once('.')?;
    let (host, high) = rest.rsplit_once('.')?;
    let port = u16::from_be_bytes([octet(high)?, octet(low)?]);
    let ip = match host.parse::<Ipv4Addr>() {
        Ok(ip) => IpAddr::V4(ip),
        Err(_) => IpAddr::V6(host.parse::<Ipv6Addr>().ok()?),
    };
    Some(SocketAddr::new(ip, port))
}

/// Digits and nothing else: `parse` alone would take a sign.
fn octet(text: &str) -> Option<u8> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_their_own_inverse() {
        for (address, text) in [
            ("10.1.2.3:2049", "10.1.2.3.8.1"),
            ("0.0.0.0:111", "0.0.0.0.0.111"),
            ("[2001:db8::1]:65535", "2001:db8::1.255.255"),
            ("[::]:0", "::.0.0"),
        ] {
            let address: SocketAddr = address.parse().unwrap();
            assert_eq!(universal_address(address), text);
            assert_eq!(parse_universal_address(text.as_bytes()), Some(address));
        }
    }

    #[test]
    fn invalid_universal_address_is_refused() {
        for text in [
            "",
            "10.1.2.3",
            "10.1.2.3.8",
            "10.1.2.3.8.256",
            "10.1.2.3.8.+1",
            "10.1.2.3.8.",
            "host.8.1",
            "\u{e4}.8.1",
        ] {
            assert_eq!(parse_universal_address(text.as_bytes()), None, "{text}");
        }
        assert_eq!(parse_universal_address(b"\xff.8.1"), None);
    }
}

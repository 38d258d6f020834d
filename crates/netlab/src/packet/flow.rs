//! Which conversation a packet belongs to, as a card sees it: two addresses, two ports, one protocol.

use std::fmt;
use std::hash::Hasher;
use std::net::{Ipv4Addr, SocketAddrV4};

use siphasher::sip::SipHasher13;

/// TCP and UDP carry ports; other protocols have both ports 0 here (IANA protocol numbers).
const TCP: u8 = 6;
const UDP: u8 = 17;

/// The shortest header of IPv4 (RFC 791, section 3.1).
const HEADER_BYTES_MIN: usize = 20;

/// One direction of one conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Flow {
    /// The protocol's number: 6 is TCP, 17 is UDP.
    pub protocol: u8,
    /// Who sends.
    pub source: SocketAddrV4,
    /// Who receives.
    pub target: SocketAddrV4,
}

impl Flow {
    /// A flow of TCP.
    #[must_use]
    pub fn tcp(source: SocketAddrV4, target: SocketAddrV4) -> Self {
        Self { protocol: TCP, source, target }
    }

    /// The flow of an IPv4 packet (RFC 791, section 3.1); none for anything else. Fragments after the first
    /// have no ports.
    pub(super) fn of_packet(packet: &[u8]) -> Option<Self> {
        let header = packet.first_chunk::<HEADER_BYTES_MIN>()?;
        if header[0] >> 4 != 4 {
            return None;
        }
        let header_bytes = usize::from(header[0] & 0xf) * 4;
        let fragment_offset = u16::from_be_bytes([header[6], header[7]]) & 0x1fff;
        let protocol = header[9];
        let mut ports = [0; 2];
        if fragment_offset == 0 && (protocol == TCP || protocol == UDP) {
            // Both protocols begin with the ports of source and target (RFC 9293, section 3.1; RFC 768).
            let ours = packet.get(header_bytes..).and_then(|rest| rest.first_chunk::<4>())?;
            ports = [u16::from_be_bytes([ours[0], ours[1]]), u16::from_be_bytes([ours[2], ours[3]])];
        }
        let address = |at: usize| Ipv4Addr::new(header[at], header[at + 1], header[at + 2], header[at + 3]);
        Some(Self {
            protocol,
            source: SocketAddrV4::new(address(12), ports[0]),
            target: SocketAddrV4::new(address(16), ports[1]),
        })
    }

    /// The queue out of `queues` that it is hashed to. Every queue is as likely as the others.
    #[must_use]
    pub fn queue(&self, queues: u32, seed: u64) -> u32 {
        let mut hasher = SipHasher13::new_with_keys(seed, u64::from(queues));
        hasher.write(&[self.protocol]);
        for end in [self.source, self.target] {
            hasher.write(&end.ip().octets());
            hasher.write(&end.port().to_be_bytes());
        }
        // The high half of the product: the bias is queues ÷ 2⁶⁴.
        ((u128::from(hasher.finish()) * u128::from(queues)) >> 64) as u32
    }
}

impl fmt::Display for Flow {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} > {} ({})", self.source, self.target, self.protocol)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet of TCP from port 2049 of 10.98.0.1 to port 700 of 10.98.0.2.
    fn packet() -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 40, 0, 0, 0, 0, 64, TCP, 0, 0, 10, 98, 0, 1, 10, 98, 0, 2];
        packet.extend_from_slice(&2049_u16.to_be_bytes());
        packet.extend_from_slice(&700_u16.to_be_bytes());
        packet.resize(40, 0);
        packet
    }

    #[test]
    fn addresses_and_ports_are_read_from_the_headers() {
        let flow = Flow::of_packet(&packet()).unwrap();
        assert_eq!(flow.to_string(), "10.98.0.1:2049 > 10.98.0.2:700 (6)");
        assert_eq!(flow, Flow::tcp("10.98.0.1:2049".parse().unwrap(), "10.98.0.2:700".parse().unwrap()));
        let mut options = packet();
        options[0] = 0x46;
        options.splice(20..20, [1, 1, 1, 1]);
        assert_eq!(Flow::of_packet(&options), Some(flow));
    }

    #[test]
    fn packet_without_ports_is_a_flow_of_its_addresses() {
        let mut fragment = packet();
        fragment[7] = 9;
        assert_eq!(Flow::of_packet(&fragment).unwrap().source.port(), 0);
        let mut icmp = packet();
        icmp[9] = 1;
        assert_eq!(Flow::of_packet(&icmp).unwrap().target.port(), 0);
    }

    #[test]
    fn incomplete_ipv4_packet_has_no_flow() {
        assert_eq!(Flow::of_packet(&[]), None);
        for length in 0..24 {
            assert_eq!(Flow::of_packet(&packet()[..length]), None, "{length}");
        }
        let mut six = packet();
        six[0] = 0x60;
        assert_eq!(Flow::of_packet(&six), None);
        let mut beyond = packet();
        beyond[0] = 0x4f;
        assert_eq!(Flow::of_packet(&beyond), None);
    }

    #[test]
    fn flows_are_spread_evenly_and_the_seed_decides_how() {
        let flow = |port| {
            Flow::tcp("10.98.0.1:2049".parse().unwrap(), SocketAddrV4::new([10, 98, 0, 2].into(), port))
        };
        let mut counts = [0; 8];
        for port in 1..=8000 {
            counts[flow(port).queue(8, 1) as usize] += 1;
        }
        // Seven standard deviations of a thousand.
        assert!(counts.iter().all(|count| (1000_i32 - count).abs() < 210), "{counts:?}");
        assert!((1..100).any(|port| flow(port).queue(8, 1) != flow(port).queue(8, 2)));
        assert!((1..100).all(|port| flow(port).queue(1, 1) == 0));
    }
}

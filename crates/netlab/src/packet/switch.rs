//! Where packets go: from the server to the client that they name, and from clients to the server. Pure
//! state.

use std::net::Ipv4Addr;
use std::time::Duration;

use super::counters::DirectionCounters;
use super::direction::Direction;
use super::flow::Flow;
use super::options::NetworkOptions;
use super::queues::Packet;

/// The server's port; client number n, counted from 0, has port n + 1.
pub(super) const SERVER_PORT: usize = 0;

/// What has crossed a network so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkCounters {
    /// What the server has sent.
    pub to_clients: DirectionCounters,
    /// What the clients have sent.
    pub to_server: DirectionCounters,
    /// Packets that lead nowhere: to addresses that nobody has, from a client to another, or not IPv4.
    pub misdirected_packets: u64,
}

#[derive(Debug)]
pub(super) struct Switch {
    clients: usize,
    to_clients: Direction,
    to_server: Direction,
    misdirected_packets: u64,
}

/// The address of the machine at a port.
pub(super) fn address(port: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 98, 0, u8::try_from(port + 1).expect("there are at most 65 ports"))
}

impl Switch {
    pub(super) fn new(options: &NetworkOptions) -> Self {
        Self {
            clients: options.clients as usize,
            to_clients: Direction::new(&options.to_clients),
            to_server: Direction::new(&options.to_server),
            misdirected_packets: 0,
        }
    }

    /// Takes what came in at `port`.
    pub(super) fn enqueue(&mut self, port: usize, bytes: &[u8], now: Duration) {
        let flow = Flow::of_packet(bytes);
        let Some((flow, direction)) = flow.and_then(|flow| Some((flow, self.direction(port, flow)?))) else {
            self.misdirected_packets += 1;
            return;
        };
        direction.enqueue(Packet { flow, bytes: bytes.to_vec(), arrived: now });
    }

    /// A packet that has arrived by `now`, and the port that it leaves by.
    pub(super) fn dequeue(&mut self, now: Duration) -> Option<(usize, Vec<u8>)> {
        let packet = self.to_clients.dequeue(now).or_else(|| self.to_server.dequeue(now))?;
        let port = usize::from(packet.flow.target.ip().octets()[3]) - 1;
        Some((port, packet.bytes))
    }

    /// When to ask again; none while nothing is under way.
    pub(super) fn next_due(&self) -> Option<Duration> {
        [self.to_clients.next_due(), self.to_server.next_due()].into_iter().flatten().min()
    }

    pub(super) fn counters(&self) -> NetworkCounters {
        NetworkCounters {
            to_clients: self.to_clients.counters().clone(),
            to_server: self.to_server.counters().clone(),
            misdirected_packets: self.misdirected_packets,
        }
    }

    /// The direction of a flow that comes in at `port`; none when nobody is at its end.
    fn direction(&mut self, port: usize, flow: Flow) -> Option<&mut Direction> {
        let target = *flow.target.ip();
        match port {
            SERVER_PORT => {
                (1..=self.clients).any(|client| address(client) == target).then_some(&mut self.to_clients)
            }
            _ => (target == address(SERVER_PORT)).then_some(&mut self.to_server),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::options::DirectionOptions;

    fn packet(source: usize, target: usize) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 24, 0, 0, 0, 0, 64, 6, 0, 0];
        packet.extend_from_slice(&address(source).octets());
        packet.extend_from_slice(&address(target).octets());
        packet.extend_from_slice(&[8, 1, 2, 188]);
        packet
    }

    #[test]
    fn packets_go_between_server_and_clients_and_nowhere_else() {
        let mut switch = Switch::new(&NetworkOptions::symmetric(2, DirectionOptions::default()));
        let now = Duration::from_millis(1);
        for (from, to, out) in [
            (0, 1, Some(1)),
            (0, 2, Some(2)),
            (2, 0, Some(0)),
            (1, 2, None),
            (0, 3, None),
            (0, 0, None),
            (1, 1, None),
        ] {
            let sent = packet(from, to);
            switch.enqueue(from, &sent, now);
            assert_eq!(switch.dequeue(now), out.map(|port| (port, sent)), "{from} to {to}");
        }
        switch.enqueue(0, &[0x60; 40], now);
        let counters = switch.counters();
        assert_eq!(counters.misdirected_packets, 5);
        assert_eq!((counters.to_clients.delivered.packets, counters.to_server.delivered.packets), (2, 1));
    }
}

//! Connections that never leave the machine are not paced: where the system's congestion control spreads its
//! segments over time, as BBR does, that is of no use to anybody without a network between, and costs a timer
//! for each of them.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;

use rustix::net::sockopt::{set_tcp_congestion, tcp_congestion};
use tokio::net::{TcpSocket, TcpStream};

use super::tcp::TcpOptions;

/// What paces by itself begins with this.
const PACING: &str = "bbr";
/// What does not, as far as the system has it: the first is what Linux comes with.
const UNPACED: [&str; 2] = ["cubic", "reno"];

/// What a listener's connections had for congestion control, if that paces and they do without now.
pub(super) struct Usual(String);

/// Connections get it from their listener: one that has begun to pace would go on.
pub(super) fn unpace(socket: impl AsFd) -> Option<Usual> {
    let usual = tcp_congestion(&socket).ok().filter(|usual| usual.starts_with(PACING))?;
    let is_unpaced = UNPACED.iter().any(|name| set_tcp_congestion(&socket, name).is_ok());
    tracing::debug!(usual, is_unpaced, "connections that stay on the machine need not be paced");
    is_unpaced.then_some(Usual(usual))
}

/// Connects with the settings of `tcp`. Unless they name a congestion control, a connection that stays on the
/// machine is not paced.
pub(super) async fn connect(address: SocketAddr, tcp: &TcpOptions) -> io::Result<TcpStream> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    tcp.apply(&socket)?;
    if tcp.congestion.is_none() && address.ip().is_loopback() {
        unpace(&socket);
    }
    socket.connect(address).await
}

impl Usual {
    /// Gives it back to a connection that was accepted from another machine.
    pub(super) fn restore(&self, stream: &TcpStream) {
        let ends = stream.peer_addr().and_then(|peer| Ok((peer.ip(), stream.local_addr()?.ip())));
        if !ends.is_ok_and(stays_here)
            && let Err(error) = set_tcp_congestion(stream, &self.0)
        {
            tracing::debug!(%error, algorithm = self.0, "the usual congestion control was refused");
        }
    }
}

/// True for a connection between these addresses, the peer's first, that does not leave the machine.
fn stays_here((peer, local): (IpAddr, IpAddr)) -> bool {
    peer.to_canonical().is_loopback() || peer == local
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn what_stays_on_the_machine_is_not_paced() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        if set_tcp_congestion(&listener, PACING).is_err() {
            // A system that has nothing that paces.
            assert!(unpace(&listener).is_none());
            return;
        }
        let usual = unpace(&listener).expect("it paces");
        let _client = connect(listener.local_addr().unwrap(), &TcpOptions::default()).await.unwrap();
        let (accepted, _) = listener.accept().await.unwrap();
        usual.restore(&accepted);
        assert!(UNPACED.contains(&tcp_congestion(&accepted).unwrap().as_str()));
        assert!(unpace(&listener).is_none(), "nothing is left to be done");
    }

    #[test]
    fn what_has_one_end_elsewhere_leaves_the_machine() {
        for (peer, local, here) in [
            ("127.0.0.1", "127.0.0.1", true),
            ("::ffff:127.0.0.2", "::ffff:127.0.0.1", true),
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.2", "192.0.2.1", false),
        ] {
            assert_eq!(stays_here((peer.parse().unwrap(), local.parse().unwrap())), here, "{peer}");
        }
    }
}

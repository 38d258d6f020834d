//! Connections that never leave the machine are not paced: where the system's congestion control spreads its
//! segments over time, as BBR does, that is of no use to anybody without a network between, and costs a timer
//! for each of them.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;

use rustix::net::sockopt::{set_tcp_congestion, tcp_congestion};
use tokio::net::{TcpSocket, TcpStream};

use crate::stream::{PlainTcp, Stream};
use crate::tcp::TcpOptions;

/// What paces by itself begins with this.
const PACING: &str = "bbr";
/// What does not, as far as the system has it: the first is what Linux comes with.
const UNPACED: [&str; 2] = ["cubic", "reno"];

/// What a listener's connections had for congestion control, if that paces and they do without now.
pub(crate) struct Usual(String);

/// Connections get it from their listener: one that has begun to pace would go on.
pub(crate) fn unpace(socket: impl AsFd) -> Option<Usual> {
    let usual = tcp_congestion(&socket).ok().filter(|usual| usual.starts_with(PACING))?;
    let is_unpaced = UNPACED.iter().any(|name| set_tcp_congestion(&socket, name).is_ok());
    tracing::debug!(usual, is_unpaced, "connections that stay on the machine need not be paced");
    is_unpaced.then_some(Usual(usual))
}

/// Connects with the settings of `tcp`. Unless they name a congestion control, a connection that stays on the
/// machine is not paced.
pub(crate) async fn connect(address: SocketAddr, tcp: &TcpOptions) -> io::Result<TcpStream> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    tcp.apply(&socket)?;
    if tcp.congestion.is_none() && address.ip().is_loopback() {
        unpace(&socket);
    }
    socket.connect(address).await
}

impl Usual {
    /// Restores it on a connection that was accepted from another machine.
    pub(crate) fn restore(&self, stream: &PlainTcp) {
        if !stream.is_same_host()
            && let Err(error) = stream.set_congestion(&self.0)
        {
            tracing::debug!(%error, algorithm = self.0, "the usual congestion control was refused");
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn local_connection_is_not_paced() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        if set_tcp_congestion(&listener, PACING).is_err() {
            // A system that has nothing that paces.
            assert!(unpace(&listener).is_none());
            return;
        }
        let usual = unpace(&listener).expect("it paces");
        let _client = connect(listener.local_addr().unwrap(), &TcpOptions::default()).await.unwrap();
        let (accepted, _) = listener.accept().await.unwrap();
        let before = tcp_congestion(&accepted).unwrap();
        let accepted = PlainTcp::new(accepted).unwrap();
        usual.restore(&accepted);
        assert!(UNPACED.contains(&before.as_str()) && UNPACED.contains(&accepted.congestion().as_str()));
        assert!(unpace(&listener).is_none(), "nothing is left to be done");
    }
}

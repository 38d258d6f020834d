//! Where a server is: its name, and the address that it had when it was last reached.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use rpc_net::Resolve;

/// A server, by its name and by the address that the name stood for when it was first reached.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    host: Arc<str>,
}

impl Server {
    pub(crate) fn new(host: &str, address: SocketAddr) -> Self {
        Self { address, host: host.into() }
    }

    /// The name, or the address where the server was named by that.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// The same host, another port.
    pub(crate) fn at_port(&self, port: u16) -> Self {
        Self { address: SocketAddr::new(self.address.ip(), port), host: Arc::clone(&self.host) }
    }

    /// Finds it again when it has moved. A server that was named by its address has no other.
    pub(crate) fn resolver(&self) -> Option<Arc<dyn Resolve>> {
        let is_address = self.host.parse::<IpAddr>().is_ok();
        (!is_address).then(|| Arc::new(Name(Arc::clone(&self.host))) as Arc<dyn Resolve>)
    }
}

/// The name of a host.
#[derive(Debug)]
struct Name(Arc<str>);

impl Resolve for Name {
    fn resolve(&self) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + '_>> {
        Box::pin(async {
            let found = tokio::net::lookup_host((&*self.0, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_name_can_come_to_stand_for_another_address() {
        let address = SocketAddr::from(([127, 0, 0, 1], 2049));
        assert!(Server::new("127.0.0.1", address).resolver().is_none());
        assert!(Server::new("::1", address).resolver().is_none());
        assert!(Server::new("server", address).resolver().is_some());
    }

    #[tokio::test]
    async fn a_name_is_asked_for_each_time() {
        let found = Name("localhost".into()).resolve().await.unwrap();
        assert!(found.iter().all(IpAddr::is_loopback) && !found.is_empty());
    }
}

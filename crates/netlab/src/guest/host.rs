//! A host of a lab that is no guest.

use std::io;
use std::net::IpAddr;

use super::namespace::Namespace;
use crate::inside::inside;

/// A network namespace on the bridge of a lab, with an address, ports and a loopback of its own. It is
/// deleted when dropped.
#[derive(Debug)]
pub struct Host {
    namespace: Namespace,
    address: IpAddr,
}

impl Host {
    pub(super) fn new(namespace: Namespace, address: IpAddr) -> Self {
        Self { namespace, address }
    }

    /// Its address.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// The name of the network namespace, for ip(8).
    pub fn name(&self) -> &str {
        self.namespace.name()
    }

    /// Runs `work` in a thread whose network is this host. The processes and threads that `work` starts stay
    /// there.
    ///
    /// # Errors
    /// When the namespace cannot be entered.
    ///
    /// # Panics
    /// When `work` does.
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        inside(&self.namespace.open()?, work)
    }
}

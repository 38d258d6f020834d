//! After a restart: SM_NOTIFY to every host that held locks, so that it takes them back (X/Open C702 §13, as
//! status monitors do it: for a quarter of an hour, with pauses that grow).

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream;
use proto::nsm1::{self, Procedure, StatChange};

use super::HostMonitor;
use crate::hosts::HostRoute;
use crate::stable::StoredHost;

/// How long a host is tried to be reached.
const PATIENCE_MS: u64 = 15 * 60 * 1000;
/// The first pause before a host is told again; it doubles up to [`PAUSE_MAX`].
const PAUSE: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// How long one call may take.
const CALL: Duration = Duration::from_secs(5);
/// Hosts that are told at the same time.
const AT_ONCE: usize = 32;

/// What a server that has restarted tells.
#[derive(Debug, Clone, Default)]
pub struct Restart {
    /// Its state number: odd, and larger than before.
    pub state_number: i32,
    /// What it is called, besides by the address that a host has used.
    pub name: Option<Bytes>,
    /// The hosts that held locks, and may take them back.
    pub may_reclaim: Vec<StoredHost>,
    /// The hosts that must be told: these, and those that could not be told of an earlier restart.
    pub untold: Vec<StoredHost>,
}

impl HostMonitor {
    /// Tells hosts of a restart; to be called when requests are answered, and to be run beside them.
    pub(crate) async fn tell_hosts(self: &Arc<Self>, restart: Restart) {
        let Restart { state_number, name, mut untold, .. } = restart;
        let (begun, mut pause) = (self.core.now(), PAUSE);
        while !untold.is_empty() {
            let is_over = self.core.now().since_ms(begun) >= PATIENCE_MS;
            let tries = untold.into_iter().map(|host| {
                let (monitor, name) = (Arc::clone(self), name.clone());
                async move {
                    let told = monitor.tell_host(&host, state_number, name).await;
                    (host, told)
                }
            });
            let tried: Vec<_> = stream::iter(tries).buffered(AT_ONCE).collect().await;
            let mut left = Vec::new();
            for (host, told) in tried {
                if told || is_over {
                    self.forget_untold(host.name).await;
                } else {
                    left.push(host);
                }
            }
            untold = left;
            if !untold.is_empty() {
                self.core.world().sleep(pause).await;
                pause = (pause * 2).min(PAUSE_MAX);
            }
        }
    }

    async fn forget_untold(&self, host: Bytes) {
        if let Err(error) = self.stable.host_told(host).await {
            // It is told once more after the next restart, which it can take.
            tracing::debug!(%error, "that a host was told of the restart could not be written down");
        }
    }

    /// Tells a host by every name that it may know us by; true when it has answered.
    async fn tell_host(&self, host: &StoredHost, state: i32, name: Option<Bytes>) -> bool {
        // Status monitors only listen for datagrams.
        let route = HostRoute { transport: rpc::Transport::Udp, ..host.route };
        let address = host.route.local.map(|local| Bytes::from(local.to_string()));
        let mut told = false;
        for name in name.into_iter().chain(address) {
            let arguments = xdr::to_bytes(&StatChange { name, state }).to_vec();
            let number = (nsm1::PROGRAM, nsm1::VERSION, Procedure::Notify.number());
            match self.callbacks.hosts().caller().call(route, number, arguments, CALL).await {
                Ok(_) => told = true,
                Err(error) => {
                    let address = route.address;
                    tracing::debug!(%error, %address, "a host could not be told of the restart");
                    return false;
                }
            }
        }
        told
    }
}

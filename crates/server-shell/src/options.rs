//! What a server is started with.

use std::net::SocketAddr;
use std::path::PathBuf;

use rpc_net::ServerOptions;
use server::retries::RetryLimits;
use state::Limits;

use super::{BackEnds, ExportSpec, KerberosTable, PortMapMode, TlsTable};

/// What to serve, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct ServeOptions {
    /// The directories, with their rules. They can be replaced while the server runs.
    pub exports: Vec<ExportSpec>,
    /// The back ends that open the file systems of exports.
    pub back_ends: BackEnds,
    /// Nobody is told of exports that he may not use, and of others' mounts.
    pub hide_exports: bool,
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where keys are kept over a restart; `None` forgets them, and handles become stale with the process.
    pub state_directory: Option<PathBuf>,
    /// Delegations are granted to NFSv4.1 clients.
    pub delegations: bool,
    /// What other processes change in the directories recalls delegations, where the kernel tells of it.
    pub local_changes: bool,
    /// Sessions of NFSv4.1 clients that ask for it are persistent: what they change is changed once, whenever
    /// the server crashes. Without a state directory none is.
    pub persistent_sessions: bool,
    /// The memory that clients can make the server hold, in bytes. The bounds of the reply caches count
    /// towards it.
    pub memory_bytes_max: u64,
    /// The bounds of what is remembered.
    pub limits: Limits,
    /// The bounds of connections.
    pub net: ServerOptions,
    /// The certificate for RPC-with-TLS (RFC 9289); connections stay plain without one.
    pub tls: Option<TlsTable>,
    /// The keys of Kerberos; none where no call has a context.
    pub kerberos: Option<KerberosTable>,
    /// The bounds of what is kept for clients without sessions that send calls again.
    pub retries: RetryLimits,
    /// Where counters are told over HTTP; port 0 takes a free one, and without an address nothing is counted.
    pub metrics: Option<SocketAddr>,
    /// NFSv4.1 clients see owners and groups as `name@domain` with this domain, and not as numbers (RFC 8881
    /// §5.9).
    pub idmap_domain: Option<String>,
    /// How clients of NFSv3 find the programs.
    pub portmap: PortMapMode,
    /// What hosts that lock through NLM call this server, besides by its address; the host's name when
    /// `None`.
    pub host_name: Option<String>,
}

impl ServeOptions {
    /// The defaults for one directory, which becomes `/`: loopback, a free port, durable, writable, with
    /// delegations and a lease of 90 seconds.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            exports: vec![ExportSpec::new(directory)],
            back_ends: BackEnds::default(),
            hide_exports: false,
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            state_directory: None,
            delegations: true,
            local_changes: true,
            persistent_sessions: false,
            memory_bytes_max: super::memory_limit::default_budget_bytes(),
            limits: Limits::default(),
            net: ServerOptions::default(),
            tls: None,
            kerberos: None,
            retries: RetryLimits::default(),
            metrics: None,
            idmap_domain: None,
            portmap: PortMapMode::None,
            host_name: None,
        }
    }

    /// Which of the options are different in `other`, but for the exports.
    pub(super) fn differences(&self, other: &Self) -> Vec<&'static str> {
        // The threads are no part of a configuration, and TCP has keys of its own.
        let net = ServerOptions { threads: self.net.threads, tcp: self.net.tcp, ..other.net.clone() };
        let all = [
            ("listen", self.listen == other.listen),
            ("congestion", self.net.tcp.congestion == other.net.tcp.congestion),
            ("socket_buffer", self.net.tcp.socket_buffer_bytes == other.net.tcp.socket_buffer_bytes),
            ("tls", self.tls == other.tls),
            ("kerberos", self.kerberos == other.kerberos),
            ("state_dir", self.state_directory == other.state_directory),
            ("delegations", self.delegations == other.delegations),
            ("local_changes", self.local_changes == other.local_changes),
            ("persistent_sessions", self.persistent_sessions == other.persistent_sessions),
            ("metrics", self.metrics == other.metrics),
            ("idmap_domain", self.idmap_domain == other.idmap_domain),
            ("portmap", self.portmap == other.portmap),
            ("host_name", self.host_name == other.host_name),
            (
                "limits",
                self.limits == other.limits
                    && self.net == net
                    && self.retries == other.retries
                    && self.memory_bytes_max == other.memory_bytes_max,
            ),
        ];
        all.into_iter().filter(|(_, is_same)| !is_same).map(|(name, _)| name).collect()
    }
}

//! What a server is started with.

use std::net::SocketAddr;
use std::path::PathBuf;

use rpc::net::ServerOptions;
use state::Limits;

/// How to serve one directory.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// The directory that becomes `/`.
    pub directory: PathBuf,
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// No operation changes anything.
    pub read_only: bool,
    /// Requests of uid 0 act as uid 0 instead of as nobody.
    pub no_root_squash: bool,
    /// Changes are acknowledged before they are on disk.
    pub asynchronous: bool,
    /// Where keys are kept over a restart; `None` forgets them, and handles become stale with the process.
    pub state_directory: Option<PathBuf>,
    /// Delegations are granted to NFSv4.1 clients.
    pub delegations: bool,
    /// Sessions of NFSv4.1 clients that ask for it are persistent: what they change is changed once, whenever the server
    /// crashes. Without a state directory none is.
    pub persistent_sessions: bool,
    /// The bounds of what is remembered.
    pub limits: Limits,
    /// The bounds of connections.
    pub net: ServerOptions,
    /// NFSv4.1 clients see owners and groups as `name@domain` with this domain, and not as numbers (RFC 8881 §5.9).
    pub idmap_domain: Option<String>,
}

impl ServeOptions {
    /// The defaults: loopback, a free port, durable, writable, with delegations and a lease of 90 seconds.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            read_only: false,
            no_root_squash: false,
            asynchronous: false,
            state_directory: None,
            delegations: true,
            persistent_sessions: false,
            limits: Limits::default(),
            net: ServerOptions::default(),
            idmap_domain: None,
        }
    }
}

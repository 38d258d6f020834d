//! What a client does and how much it may use. Knows nothing of addresses: see [`crate::Url`].

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use rpc_net::TcpOptions;

use crate::transport_security::{TlsOptions, TransportSecurity};

/// Where the programs beside NFS are (NFSv3), where that is not the port of NFS.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProgramPorts {
    /// MOUNT's.
    pub mount: Option<u16>,
    /// The lock manager's; none also where there is no lock manager.
    pub lock: Option<u16>,
}

/// A version of NFS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Version {
    /// NFSv3 (RFC 1813), with MOUNT and NLM.
    V3,
    /// NFSv4.1 (RFC 8881).
    V4_1,
    /// NFSv4.2 (RFC 7862), with extended attributes (RFC 8276).
    V4_2,
}

impl Version {
    /// Those that the client speaks, the oldest first.
    pub const ALL: [Self; 3] = [Self::V3, Self::V4_1, Self::V4_2];

    /// The minor version of NFSv4.
    pub(crate) fn minor(self) -> Option<u32> {
        match self {
            Self::V3 => None,
            Self::V4_1 => Some(1),
            Self::V4_2 => Some(2),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V3 => "3",
            Self::V4_1 => "4.1",
            Self::V4_2 => "4.2",
        })
    }
}

impl FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "3" => Ok(Self::V3),
            "4.1" => Ok(Self::V4_1),
            "4.2" => Ok(Self::V4_2),
            other => Err(format!("there is no version `{other}`, only 3, 4.1 and 4.2")),
        }
    }
}

/// How long attributes are believed without asking. Within the bounds it is as long as the object did not
/// change before they were fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttributeTimeouts {
    /// Shortest for anything but directories.
    pub file_min: Duration,
    /// Longest for anything but directories.
    pub file_max: Duration,
    /// Shortest for directories.
    pub directory_min: Duration,
    /// Longest for directories.
    pub directory_max: Duration,
}

impl AttributeTimeouts {
    /// The same for everything, always.
    pub fn fixed(timeout: Duration) -> Self {
        Self { file_min: timeout, file_max: timeout, directory_min: timeout, directory_max: timeout }
    }
}

impl Default for AttributeTimeouts {
    /// Those of Linux: 3 to 60 s for files, 30 to 60 s for directories.
    fn default() -> Self {
        Self {
            file_min: Duration::from_secs(3),
            file_max: Duration::from_secs(60),
            directory_min: Duration::from_secs(30),
            directory_max: Duration::from_secs(60),
        }
    }
}

/// How long the client puts off what something later may carry along or make needless.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waits {
    /// A CLOSE, for a request to ride on (NFSv4.1).
    pub close: Duration,
    /// Giving back a lock that came with the open, for the file to take it (NFSv4.1).
    pub lock: Duration,
    /// Written data that fill no WRITE, for more to follow.
    pub data: Duration,
    /// Giving back a delegation that is in the way of a change of our own (NFSv4.1). Nothing gains by it: it
    /// makes a moment last that a busy machine has by chance.
    pub delegation: Duration,
}

impl Waits {
    /// The same for everything but delegations, which go back at once.
    pub fn all(wait: Duration) -> Self {
        Self { close: wait, lock: wait, data: wait, delegation: Duration::ZERO }
    }
}

impl Default for Waits {
    /// Too short for anybody to notice: 20 ms, and 100 ms for data.
    fn default() -> Self {
        Self { data: Duration::from_millis(100), ..Self::all(Duration::from_millis(20)) }
    }
}

/// Which opens for writing ask for a delegation. One saves opens, locks and unlocks until somebody else wants
/// the file, and then costs that one a recall; given back unused it has cost a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WriteDelegations {
    /// None.
    #[default]
    Never,
    /// Those of files that this client has opened for writing before, the more often the more often others
    /// wanted them.
    Likely,
    /// All.
    Always,
}

/// Which answers to looking up a name are remembered (`lookupcache`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum LookupCache {
    /// What a name stands for, and that it stands for nothing (`all`).
    #[default]
    All,
    /// Only what a name stands for (`positive`): what others make is found at once.
    Positive,
    /// Nothing (`none`).
    None,
}

/// What a client does and how much it may use.
#[derive(Debug, Clone)]
pub struct Options {
    /// The versions of NFS that will do, best first: one that the server does not offer is passed over
    /// (`version`).
    pub versions: Vec<Version>,
    /// Connections to the server (`nconnect`), 1 to 16.
    pub connections: u32,
    /// Settings of TCP for these connections (`congestion`, `socket_buffer`).
    pub tcp: TcpOptions,
    /// The protection of these connections (`xprtsec`).
    pub transport_security: TransportSecurity,
    /// Certificates and keys of that protection (`tls_ca`, `tls_cert`, `tls_key`, `tls_name`).
    pub tls: TlsOptions,
    /// The largest READ in bytes (`rsize`); the server's limit applies too.
    pub read_bytes_max: u32,
    /// The largest WRITE in bytes (`wsize`); the server's limit applies too.
    pub write_bytes_max: u32,
    /// How long an answer is waited for before the connection is given up and the request is sent again
    /// (`timeo`).
    pub timeout: Duration,
    /// Requests fail when they were sent again `retransmissions` times and not answered (`soft`). Otherwise
    /// they are sent again for ever; a future that is dropped stops that.
    pub soft: bool,
    /// How often a request is sent again before it fails, with `soft` (`retrans`).
    pub retransmissions: u32,
    /// How long attributes are believed (`actimeo`, `acregmin`, …).
    pub attribute_timeouts: AttributeTimeouts,
    /// Which answers to looking up a name are remembered (`lookupcache`).
    pub lookup_cache: LookupCache,
    /// NFSv3: locks hold among the open files of this client only, and the server is not told (`nolock`).
    pub local_locks: bool,
    /// NFSv3: wait for locks in the server's queue, where servers can call this process when one is free: it
    /// then runs a lock manager, found through the machine's port mapper or at port 111. Otherwise waiting
    /// callers ask again and again (`lock_callbacks`).
    pub lock_callbacks: bool,
    /// Refuse everything that changes something (`ro`).
    pub read_only: bool,
    /// The port of MOUNT (NFSv3). Without one the NFS port is tried, then the port mapper asked.
    pub mount_port: Option<u16>,
    /// The port of the lock manager (NFSv3), found as that of MOUNT is.
    pub lock_port: Option<u16>,
    /// Ask for delegations (NFSv4.1).
    pub delegations: bool,
    /// Which opens for writing ask for a delegation, where any do (NFSv4.1).
    pub write_delegations: WriteDelegations,
    /// Ask for a lock with the open itself where the same lock has followed on the last opens of the file
    /// (NFSv4.1). It saves a round trip. Until the file takes it, some milliseconds at most, others are
    /// refused that lock.
    pub lock_with_open: bool,
    /// How long what may be put off is put off.
    pub waits: Waits,
    /// The user that requests are made as.
    pub uid: u32,
    /// The group that requests are made as.
    pub gid: u32,
    /// Further groups, at most 16.
    pub gids: Vec<u32>,
    /// Keep file data between reads.
    pub data_cache: bool,
    /// The most file data that is kept, in bytes.
    pub data_cache_bytes_max: usize,
    /// The most data that is read ahead of one sequential reader, in bytes; 0 switches readahead off.
    pub readahead_bytes_max: usize,
    /// The most data written but not yet on the server's stable storage, in bytes; beyond, writers wait.
    pub dirty_bytes_max: usize,
    /// The most requests of a session under way (`slots`, NFSv4.1); the server's limit applies too.
    pub slots_max: u32,
    /// The most delegations that are kept; beyond, those not used for longest are returned.
    pub delegations_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            versions: vec![Version::V4_2, Version::V4_1, Version::V3],
            connections: 1,
            tcp: TcpOptions::default(),
            transport_security: TransportSecurity::default(),
            tls: TlsOptions::default(),
            read_bytes_max: 1 << 20,
            write_bytes_max: 1 << 20,
            timeout: Duration::from_secs(60),
            soft: false,
            retransmissions: 2,
            attribute_timeouts: AttributeTimeouts::default(),
            lookup_cache: LookupCache::All,
            local_locks: false,
            lock_callbacks: true,
            read_only: false,
            mount_port: None,
            lock_port: None,
            delegations: true,
            write_delegations: WriteDelegations::default(),
            lock_with_open: true,
            waits: Waits::default(),
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
            gids: Vec::new(),
            data_cache: true,
            data_cache_bytes_max: 512 << 20,
            readahead_bytes_max: 64 << 20,
            dirty_bytes_max: 64 << 20,
            slots_max: 1024,
            delegations_max: 32_768,
        }
    }
}

impl Options {
    /// How long a request may take in all, recovery included; `None` for ever.
    pub(crate) fn time_limit(&self) -> Option<Duration> {
        self.soft.then(|| self.timeout.saturating_mul(self.retransmissions.saturating_add(1)))
    }
}

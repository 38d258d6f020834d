//! The configuration file of `serve`: TOML, every key optional, unknown keys refused.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rpc_net::{CONNECTION_BYTES, ServerOptions, TcpOptions};
use serde::{Deserialize, Serialize};
use server::exports::{Rule, Squash};
use server::retries::RetryLimits;
use state::Limits;

use super::descriptors::Descriptors;
use super::exports::{nearest, parse_classic, specs};
use super::memory_limit::default_budget_bytes;
use super::{ExportSpec, ExportTable, KerberosTable, PortMapMode, ServeOptions, TlsTable};

/// The fewest connections that are allowed unless fewer are asked for.
const CONNECTIONS_MIN: usize = 16;
/// The most connections that are allowed unless more are asked for.
const CONNECTIONS_MOST: usize = 16_384;

/// What a server is started with, as it stands in a file.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The directory that becomes `/`; one on the command line goes first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The congestion control of connections, such as `cubic`; without it the system's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion: Option<String>,
    /// The size of each of the two socket buffers of a connection, in bytes; without it the system adapts
    /// them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket_buffer: Option<u32>,
    /// Refuse every change.
    pub read_only: bool,
    /// Let the clients' superuser be the superuser here.
    pub no_root_squash: bool,
    /// Acknowledge changes before they are on disk.
    #[serde(rename = "async")]
    pub asynchronous: bool,
    /// Where keys and the names of clients are kept over a restart; without it a place is chosen for the
    /// directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_dir: Option<PathBuf>,
    /// Grant delegations to NFSv4.1 clients.
    pub delegations: bool,
    /// Recall delegations for what other processes change in the directories.
    pub local_changes: bool,
    /// Let the replies to modifying requests of NFSv4.1 clients survive a crash of the server.
    pub persistent_sessions: bool,
    /// Take the commands of `primetime ctl` at this socket; without it at one in the state directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket: Option<PathBuf>,
    /// Tell counters over HTTP at this address, as /metrics.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<SocketAddr>,
    /// Show NFSv4.1 clients owners as NAME@DOMAIN, by this host's name service, instead of as numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idmap_domain: Option<String>,
    /// How clients of NFSv3 find the programs: `none`, `register` with a running rpcbind, or `builtin`.
    pub portmap: PortMapMode,
    /// What clients that lock over NFSv3 call this server, besides by its address; without it the host's
    /// name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_name: Option<String>,
    /// Tell nobody of exports that he may not use, and of others' mounts.
    pub hide_exports: bool,
    /// A table of exports as in exports(5), instead of a directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exports: Option<PathBuf>,
    /// The certificate for RPC-with-TLS; connections stay plain without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsTable>,
    /// The key of the server's service, and accounts of principals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kerberos: Option<KerberosTable>,
    /// The bounds.
    pub limits: ConfigLimits,
    /// Directories with their rules, instead of one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub export: Vec<ExportTable>,
    /// What `export` and `exports` come to.
    #[serde(skip)]
    specs: Vec<ExportSpec>,
}

/// The bound of everything that clients can make the server hold. What happens at a bound is said at each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConfigLimits {
    /// Memory that clients can make the server hold, in bytes; a client that holds more than its share is
    /// not read until it holds less. Without it a quarter of what the machine and its control groups allow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes_max: Option<u64>,
    /// Connections; for one more an idle one of the client address with the most is closed, or the new one.
    /// Without it as many as a quarter of the descriptors, and of the memory, suffices for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections_max: Option<usize>,
    /// How long a connection may be idle, in seconds; then it is closed, unless it alone carries the
    /// callbacks of a session.
    pub idle_connection_seconds: u32,
    /// Calls under way on a connection; beyond, nothing more is read from it.
    pub requests_in_flight_max: usize,
    /// Bytes of replies that wait for a connection; beyond, nothing more is read from it.
    pub replies_pending_bytes_max: usize,
    /// How long a peer may take to send the rest of a request, in seconds; then its connection is closed.
    pub partial_request_seconds: u32,
    /// How long a peer may read nothing of the replies that wait for it, in seconds; then its connection is
    /// closed.
    pub unread_reply_seconds: u32,
    /// How long a thread looks for the next call of a connection whose calls come one at a time and soon,
    /// before it sleeps until one comes, in microseconds; at 0 it sleeps at once. At most half the cores
    /// look.
    pub busy_poll_us: u32,
    /// Longest request and reply of a session, in bytes: less is granted than asked for.
    pub message_bytes_max: u32,
    /// Operations in a COMPOUND: fewer are granted than asked for; more get NFS4ERR_TOO_MANY_OPS.
    pub operations_max: u32,
    /// Clients; unconfirmed ones give way, and an address has at most as many as it leaves to others; one
    /// more gets NFS4ERR_DELAY.
    pub clients_max: usize,
    /// Sessions of a client; one more gets NFS4ERR_NOSPC.
    pub sessions_per_client_max: usize,
    /// Slots of a session: fewer are granted than asked for.
    pub slots_max: u32,
    /// Memory for slots and the replies in them, of all sessions together, in bytes; near the bound clients
    /// are asked to use fewer slots, and at it a new session gets NFS4ERR_NOSPC.
    pub session_bytes_max: u64,
    /// Longest reply that is kept in a slot, in bytes: less is granted than asked for.
    pub cached_reply_bytes_max: u32,
    /// How long a silent client keeps its state whoever wants it, in seconds.
    pub lease_seconds: u32,
    /// How long after that a silent client keeps what is in nobody's way, in seconds.
    pub courtesy_seconds: u32,
    /// Silent clients that keep state; of more, those silent the longest lose it.
    pub lapsed_clients_max: usize,
    /// Opens, locks and delegations of a client together; one more gets NFS4ERR_DELAY.
    pub states_per_client_max: usize,
    /// The same of all clients. An address has at most as many as it leaves to others; one more gets
    /// NFS4ERR_DELAY.
    pub states_max: usize,
    /// Ranges that are locked in a file; one more gets NFS4ERR_DELAY.
    pub ranges_per_file_max: usize,
    /// Delegations of all clients; beyond, none is granted.
    pub delegations_max: usize,
    /// How long a client may take to return a delegation before it is revoked, in seconds.
    pub recall_seconds: u32,
    /// How long after a recall a file is not delegated again, in seconds.
    pub recall_pause_seconds: u32,
    /// Replies to NFSv3 and NLM calls that are kept for retries, and calls under way; beyond, the client with
    /// the most loses its oldest.
    pub v3_replies_max: usize,
    /// Memory for these, in bytes; as with `v3_replies_max`.
    pub v3_replies_bytes_max: usize,
    /// How long such a reply is kept, in seconds.
    pub v3_reply_seconds: u32,
}

/// Why a configuration cannot be used, in one sentence with what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error("cannot read the configuration {}: {source}; name a file that you may read", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is no TOML, or has keys, options or values that are none.
    #[error("{}, line {line}: {message}", path.display())]
    Wrong {
        /// Which.
        path: PathBuf,
        /// Where, counted from 1.
        line: usize,
        /// Why.
        message: String,
    },
    /// What to serve is said more than once.
    #[error("{0} and {1} both say what to serve; leave one out")]
    Twice(&'static str, &'static str),
    /// Something is said of one directory that is not there.
    #[error("`{0}` is for a server of one directory; say it of each export")]
    NotOne(&'static str),
    /// A domain is none.
    #[error("the domain `{0}` is none; a domain has 1 to 255 letters, digits, dots, hyphens and underscores")]
    Domain(String),
    /// A host name is none.
    #[error(
        "the host name `{0}` is none; a name has 1 to 255 letters, digits, dots, hyphens and underscores"
    )]
    HostName(String),
    /// A congestion control has no possible name.
    #[error("congestion: {0}")]
    Congestion(String),
    /// A socket buffer is out of bounds.
    #[error("socket_buffer is {value}; it must be {least} to {most} bytes")]
    SocketBuffer {
        /// As given.
        value: u32,
        /// The least.
        least: u32,
        /// The most.
        most: u32,
    },
    /// A bound is out of bounds.
    #[error("limits.{name} is {value}; it must be {least} to {most}")]
    Limit {
        /// Which.
        name: &'static str,
        /// As given.
        value: u64,
        /// The least.
        least: u64,
        /// The most.
        most: u64,
    },
}

impl Default for Config {
    fn default() -> Self {
        Self {
            directory: None,
            listen: SocketAddr::from(([127, 0, 0, 1], 2049)),
            congestion: None,
            socket_buffer: None,
            read_only: false,
            no_root_squash: false,
            asynchronous: false,
            state_dir: None,
            delegations: true,
            local_changes: true,
            persistent_sessions: false,
            socket: None,
            metrics: None,
            idmap_domain: None,
            portmap: PortMapMode::None,
            host_name: None,
            hide_exports: false,
            exports: None,
            tls: None,
            kerberos: None,
            limits: ConfigLimits::default(),
            export: Vec::new(),
            specs: Vec::new(),
        }
    }
}

impl Default for ConfigLimits {
    fn default() -> Self {
        let (state, net, retries) = (Limits::default(), ServerOptions::default(), RetryLimits::default());
        Self {
            memory_bytes_max: None,
            connections_max: None,
            idle_connection_seconds: whole_seconds(net.idle_timeout.as_millis() as u64),
            requests_in_flight_max: net.requests_in_flight_max,
            replies_pending_bytes_max: net.replies_pending_bytes_max,
            partial_request_seconds: whole_seconds(net.partial_record_timeout.as_millis() as u64),
            unread_reply_seconds: whole_seconds(net.unread_timeout.as_millis() as u64),
            busy_poll_us: net.busy_poll_limit.as_micros() as u32,
            message_bytes_max: state.message_bytes_max,
            operations_max: state.operations_max,
            clients_max: state.clients_max,
            sessions_per_client_max: state.sessions_per_client_max,
            slots_max: state.slots_max,
            session_bytes_max: state.session_bytes_max,
            cached_reply_bytes_max: state.cached_reply_bytes_max,
            lease_seconds: state.lease_seconds,
            courtesy_seconds: state.courtesy_seconds,
            lapsed_clients_max: state.lapsed_clients_max,
            states_per_client_max: state.states_per_client_max,
            states_max: state.states_max,
            ranges_per_file_max: state.ranges_per_file_max,
            delegations_max: state.delegations_max,
            recall_seconds: whole_seconds(state.recall_ms),
            recall_pause_seconds: whole_seconds(state.recall_pause_ms),
            v3_replies_max: retries.replies_max,
            v3_replies_bytes_max: retries.bytes_max,
            v3_reply_seconds: retries.seconds,
        }
    }
}

/// What serde says of a word that is none, with the word that was probably meant instead of all that there
/// are.
fn with_nearest(message: &str) -> String {
    let Some((start, list)) = message.split_once(", expected") else { return message.to_owned() };
    let words: Vec<_> = list.split('`').skip(1).step_by(2).collect();
    match start.split('`').nth(1) {
        Some(word) if !words.is_empty() => format!("{start}{}", nearest(word, &words)),
        _ => message.to_owned(),
    }
}

/// A DNS name, as far as a name of an owner depends on it.
fn is_domain(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    (1..=255).contains(&text.len()) && text.bytes().all(allowed)
}

/// How many descriptors the process may have: a server raises its limit as far as it may.
fn descriptors_max() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum;
    limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX))
}

fn whole_seconds(ms: u64) -> u32 {
    (ms / 1000) as u32
}

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// See [`ConfigError`].
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
        let line_of = |place: usize| 1 + text.bytes().take(place).filter(|byte| *byte == b'\n').count();
        let wrong = |line, message| ConfigError::Wrong { path: path.to_owned(), line, message };
        let mut config: Self = toml::from_str(&text).map_err(|error| {
            wrong(line_of(error.span().map_or(0, |span| span.start)), with_nearest(error.message()))
        })?;
        config.specs = specs(&config.export, &line_of).map_err(|(line, message)| wrong(line, message))?;
        config.read_exports()?;
        config.check()?;
        Ok(config)
    }

    /// Reads the table of exports that `exports` names, if it names one.
    ///
    /// # Errors
    /// See [`ConfigError`].
    pub fn read_exports(&mut self) -> Result<(), ConfigError> {
        let Some(path) = &self.exports else { return Ok(()) };
        let text = std::fs::read(path).map_err(|source| ConfigError::Read { path: path.clone(), source })?;
        let read = parse_classic(&text);
        self.specs =
            read.map_err(|(line, message)| ConfigError::Wrong { path: path.clone(), line, message })?;
        Ok(())
    }

    /// Checks what is more than a matter of form.
    ///
    /// # Errors
    /// A bound that is out of bounds, a domain that is none, or more than one thing that says what to serve.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.check_one_source()?;
        self.tcp()?;
        match &self.idmap_domain {
            Some(domain) if !is_domain(domain) => Err(ConfigError::Domain(domain.clone())),
            _ if self.host_name.as_deref().is_some_and(|name| !is_domain(name)) => {
                Err(ConfigError::HostName(self.host_name.clone().unwrap_or_default()))
            }
            _ => self.limits.check(),
        }
    }

    /// Returns the settings of TCP.
    fn tcp(&self) -> Result<TcpOptions, ConfigError> {
        let congestion = self.congestion.as_deref().map(str::parse).transpose();
        let bounds = TcpOptions::SOCKET_BUFFER_BYTES;
        if let Some(value) = self.socket_buffer.filter(|bytes| !bounds.contains(bytes)) {
            return Err(ConfigError::SocketBuffer { value, least: *bounds.start(), most: *bounds.end() });
        }
        let congestion = congestion.map_err(ConfigError::Congestion)?;
        Ok(TcpOptions { congestion, socket_buffer_bytes: self.socket_buffer })
    }

    fn check_one_source(&self) -> Result<(), ConfigError> {
        let sources = [
            ("`directory`", self.directory.is_some()),
            ("`[[export]]`", !self.export.is_empty()),
            ("`exports`", self.exports.is_some()),
        ];
        let mut given = sources.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name);
        if let (Some(one), Some(other)) = (given.next(), given.next()) {
            return Err(ConfigError::Twice(one, other));
        }
        let of_one = [
            ("read_only", self.read_only),
            ("no_root_squash", self.no_root_squash),
            ("async", self.asynchronous),
        ];
        match of_one.into_iter().find(|(_, is_said)| *is_said && self.has_exports()) {
            Some((name, _)) => Err(ConfigError::NotOne(name)),
            None => Ok(()),
        }
    }

    /// True when not one directory is served, but what `exports` or `export` says.
    pub fn has_exports(&self) -> bool {
        self.exports.is_some() || !self.export.is_empty()
    }

    /// As it would stand in a file that says everything, with the rules in the order in which they are tried.
    pub fn to_toml(&self) -> String {
        let export = self.specs.iter().map(ExportTable::from).collect();
        let whole = Self { exports: None, export, limits: self.limits.resolved(), ..self.clone() };
        // Every value is of a kind that TOML has.
        toml::to_string(&whole).unwrap_or_default()
    }

    /// To serve this, with state kept in `state_directory`.
    pub fn options(&self, state_directory: Option<PathBuf>) -> ServeOptions {
        let limits = self.limits.resolved();
        let one = self.directory.as_deref().map(|directory| self.export(directory));
        ServeOptions {
            back_ends: super::BackEnds::default(),
            exports: if self.has_exports() { self.specs.clone() } else { one.into_iter().collect() },
            hide_exports: self.hide_exports,
            listen: self.listen,
            state_directory,
            delegations: self.delegations,
            local_changes: self.local_changes,
            persistent_sessions: self.persistent_sessions,
            metrics: self.metrics,
            idmap_domain: self.idmap_domain.clone(),
            portmap: self.portmap,
            host_name: self.host_name.clone(),
            memory_bytes_max: limits.memory_bytes(),
            limits: limits.state(),
            // What has been checked has no error here.
            net: ServerOptions { tcp: self.tcp().unwrap_or_default(), ..limits.net() },
            tls: self.tls.clone(),
            kerberos: self.kerberos.clone(),
            retries: limits.retries(),
        }
    }
}

impl Config {
    /// The one export of a server that is told a directory only.
    fn export(&self, directory: &Path) -> ExportSpec {
        let squash = if self.no_root_squash { Squash::NONE } else { Squash::default() };
        let rule = Rule { read_only: self.read_only, squash, ..Rule::default() };
        ExportSpec { asynchronous: self.asynchronous, options: rule.into(), ..ExportSpec::new(directory) }
    }
}

impl ConfigLimits {
    /// Checks each bound.
    ///
    /// # Errors
    /// The first that is out of bounds.
    fn check(&self) -> Result<(), ConfigError> {
        const ANY: u64 = 1 << 32;
        let seconds = |seconds: u32| u64::from(seconds);
        let all = [
            ("memory_bytes_max", self.memory_bytes(), 16 << 20, 1 << 44),
            ("connections_max", self.connections() as u64, 1, 1 << 20),
            ("idle_connection_seconds", seconds(self.idle_connection_seconds), 1, 24 * 3600),
            ("unread_reply_seconds", seconds(self.unread_reply_seconds), 1, 3600),
            ("requests_in_flight_max", self.requests_in_flight_max as u64, 1, 1 << 20),
            ("replies_pending_bytes_max", self.replies_pending_bytes_max as u64, 1 << 20, 1 << 32),
            ("partial_request_seconds", seconds(self.partial_request_seconds), 1, 3600),
            ("busy_poll_us", u64::from(self.busy_poll_us), 0, 1000),
            ("message_bytes_max", u64::from(self.message_bytes_max), 8 << 10, (1 << 20) + (16 << 10)),
            ("operations_max", u64::from(self.operations_max), 16, 1024),
            ("clients_max", self.clients_max as u64, 1, ANY),
            ("sessions_per_client_max", self.sessions_per_client_max as u64, 1, 1 << 16),
            ("slots_max", u64::from(self.slots_max), 1, 1 << 16),
            ("session_bytes_max", self.session_bytes_max, 1 << 20, 1 << 40),
            ("cached_reply_bytes_max", u64::from(self.cached_reply_bytes_max), 2 << 10, 1 << 20),
            ("lease_seconds", seconds(self.lease_seconds), 1, 3600),
            ("courtesy_seconds", seconds(self.courtesy_seconds), 0, 30 * 24 * 3600),
            ("lapsed_clients_max", self.lapsed_clients_max as u64, 0, ANY),
            ("states_per_client_max", self.states_per_client_max as u64, 16, ANY),
            ("states_max", self.states_max as u64, 32, ANY),
            ("ranges_per_file_max", self.ranges_per_file_max as u64, 16, 1 << 24),
            ("delegations_max", self.delegations_max as u64, 0, ANY),
            ("recall_seconds", seconds(self.recall_seconds), 1, 3600),
            ("recall_pause_seconds", seconds(self.recall_pause_seconds), 0, 3600),
            ("v3_replies_max", self.v3_replies_max as u64, 16, 1 << 24),
            ("v3_replies_bytes_max", self.v3_replies_bytes_max as u64, 64 << 10, 1 << 32),
            ("v3_reply_seconds", seconds(self.v3_reply_seconds), 1, 24 * 3600),
        ];
        match all.into_iter().find(|(_, value, least, most)| value < least || value > most) {
            Some((name, value, least, most)) => Err(ConfigError::Limit { name, value, least, most }),
            None => Ok(()),
        }
    }

    /// The memory budget.
    fn memory_bytes(&self) -> u64 {
        self.memory_bytes_max.unwrap_or_else(default_budget_bytes)
    }

    /// How many connections there may be.
    fn connections(&self) -> usize {
        self.connections_max.unwrap_or_else(|| {
            let by_memory = usize::try_from(self.memory_bytes() / 4 / CONNECTION_BYTES).unwrap_or(usize::MAX);
            by_memory
                .clamp(CONNECTIONS_MIN, CONNECTIONS_MOST)
                .min(Descriptors::of(descriptors_max()).connections)
        })
    }

    /// With what is derived from the machine in place of what is not said.
    fn resolved(self) -> Self {
        Self {
            memory_bytes_max: Some(self.memory_bytes()),
            connections_max: Some(self.connections()),
            session_bytes_max: self.session_bytes_max.min(self.memory_bytes() / 4),
            v3_replies_bytes_max: usize::try_from(self.memory_bytes() / 16)
                .map_or(self.v3_replies_bytes_max, |bytes| self.v3_replies_bytes_max.min(bytes)),
            ..self
        }
    }

    fn state(&self) -> Limits {
        Limits {
            lease_seconds: self.lease_seconds,
            courtesy_seconds: self.courtesy_seconds,
            lapsed_clients_max: self.lapsed_clients_max,
            clients_max: self.clients_max,
            sessions_per_client_max: self.sessions_per_client_max,
            slots_max: self.slots_max,
            session_bytes_max: self.session_bytes_max,
            message_bytes_max: self.message_bytes_max,
            cached_reply_bytes_max: self.cached_reply_bytes_max,
            operations_max: self.operations_max,
            states_per_client_max: self.states_per_client_max,
            states_max: self.states_max,
            ranges_per_file_max: self.ranges_per_file_max,
            delegations_max: self.delegations_max,
            recall_ms: u64::from(self.recall_seconds) * 1000,
            recall_pause_ms: u64::from(self.recall_pause_seconds) * 1000,
        }
    }

    fn retries(&self) -> RetryLimits {
        RetryLimits {
            replies_max: self.v3_replies_max,
            bytes_max: self.v3_replies_bytes_max,
            seconds: self.v3_reply_seconds,
        }
    }

    fn net(&self) -> ServerOptions {
        ServerOptions {
            connections_max: self.connections(),
            idle_timeout: Duration::from_secs(self.idle_connection_seconds.into()),
            unread_timeout: Duration::from_secs(self.unread_reply_seconds.into()),
            requests_in_flight_max: self.requests_in_flight_max,
            replies_pending_bytes_max: self.replies_pending_bytes_max,
            partial_record_timeout: Duration::from_secs(self.partial_request_seconds.into()),
            busy_poll_limit: Duration::from_micros(self.busy_poll_us.into()),
            threads: None,
            ..ServerOptions::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Config, ConfigError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        Config::read(file.path())
    }

    #[test]
    fn empty_configuration_has_defaults_within_their_bounds() {
        assert_eq!(parsed("").unwrap(), Config::default());
        let printed = Config::default().to_toml();
        assert_eq!(parsed(&printed).unwrap().to_toml(), printed);
        let options = Config::default().options(None);
        let memory = options.memory_bytes_max;
        let session_bytes_max = Limits::default().session_bytes_max.min(memory / 4);
        assert_eq!(options.limits, Limits { session_bytes_max, ..Limits::default() });
        let connections_max = options.net.connections_max;
        assert_eq!(options.net, ServerOptions { connections_max, ..ServerOptions::default() });
        assert!(options.retries.bytes_max as u64 <= memory / 16);
    }

    #[test]
    fn bounds_of_a_small_memory_fit_into_it() {
        let options = parsed("[limits]\nmemory_bytes_max = 67108864\n").unwrap().options(None);
        let (sessions, retries) = (options.limits.session_bytes_max, options.retries.bytes_max as u64);
        let connections = options.net.connections_max as u64 * CONNECTION_BYTES;
        assert_eq!((options.memory_bytes_max, sessions, retries), (64 << 20, 16 << 20, 4 << 20));
        assert!(connections <= 16 << 20);
        let few = parsed("[limits]\nmemory_bytes_max = 1\n").unwrap_err().to_string();
        assert!(few.starts_with("limits.memory_bytes_max is 1; it must be 16777216 to "), "{few}");
    }

    #[test]
    fn keys_and_values_that_are_none_are_named() {
        let unknown = parsed("[limits]\nclient_max = 5\n").unwrap_err().to_string();
        assert!(unknown.contains("client_max") && unknown.contains("clients_max"), "{unknown}");
        let out = parsed("[limits]\noperations_max = 0\n").unwrap_err().to_string();
        assert_eq!(out, "limits.operations_max is 0; it must be 16 to 1024");
        let missing = Config::read(Path::new("/nonexistent/primetime.toml")).unwrap_err().to_string();
        assert!(missing.contains("/nonexistent/primetime.toml"), "{missing}");
    }

    #[test]
    fn configuration_values_are_used() {
        let config = parsed(
            "async = true\n[limits]\nlease_seconds = 15\nconnections_max = 7\nv3_replies_max = \
                    99\nbusy_poll_us = 0\n",
        )
        .unwrap();
        let options = Config { directory: Some("/srv".into()), ..config }.options(None);
        assert!(options.exports[0].asynchronous);
        assert_eq!((options.limits.lease_seconds, options.net.connections_max), (15, 7));
        assert_eq!(options.retries.replies_max, 99);
        assert_eq!(options.net.busy_poll_limit, Duration::ZERO);
    }

    #[test]
    fn settings_of_tcp_are_checked_and_reach_the_listener() {
        let options = parsed("congestion = \"reno\"\nsocket_buffer = 65536\n").unwrap().options(None);
        let expected =
            TcpOptions { congestion: Some("reno".parse().unwrap()), socket_buffer_bytes: Some(65536) };
        assert_eq!(options.net.tcp, expected);
        let other = ServeOptions {
            net: ServerOptions { tcp: TcpOptions::default(), ..options.net.clone() },
            ..options.clone()
        };
        assert_eq!(options.differences(&other), ["congestion", "socket_buffer"]);
        let error = wrong("socket_buffer = 100\n");
        assert_eq!(error, "socket_buffer is 100; it must be 4096 to 67108864 bytes");
        assert!(wrong("congestion = \"../x\"\n").starts_with("congestion: `../x` is no name"));
    }

    fn wrong(text: &str) -> String {
        parsed(text).unwrap_err().to_string()
    }

    #[test]
    fn the_first_rule_that_is_for_a_client_says_what_is_different_for_it() {
        let config = parsed(
            r#"
            [[export]]
            path = "/srv/a"
            squash = "all"
            anonuid = 7
            [[export.client]]
            hosts = ["10.0.0.0/8", "*.example.org"]
            read_only = true
            [[export.client]]
            hosts = ["*"]
            squash = "none"
            security = ["none"]
            secure = true
            [[export]]
            path = "/srv/b"
            pseudo = "/x/b"
            async = true
            versions = ["3", "4.1"]
            manage_gids = true
            delegations = false
            "#,
        )
        .unwrap();
        let options = config.options(None);
        let [a, b] = &options.exports[..] else { panic!("{options:?}") };
        let shown: Vec<_> =
            a.options.rules.iter().map(|rule| (rule.clients.to_string(), rule.read_only)).collect();
        assert_eq!(shown, [("10.0.0.0/8".into(), true), ("*.example.org".into(), true), ("*".into(), false)]);
        assert_eq!(a.options.rules[0].squash, Squash::All { anonymous: (7, Squash::NOBODY.1) });
        assert_eq!(a.options.rules[2].squash, Squash::None { anonymous: (7, Squash::NOBODY.1) });
        assert!(a.options.rules[2].privileged_port && !a.options.rules[0].privileged_port);
        assert_eq!(
            (a.path.to_string(), a.asynchronous, a.options.delegations),
            ("/srv/a".into(), false, true)
        );
        assert_eq!((b.path.to_string(), b.asynchronous, b.options.delegations), ("/x/b".into(), true, false));
        assert!(b.options.manage_gids && b.options.rules == [Rule::default()]);
        let again = parsed(&config.to_toml()).unwrap();
        assert_eq!(again.options(None), options, "what is printed says the same:\n{}", config.to_toml());
    }

    #[test]
    fn invalid_export_is_reported_with_its_line() {
        for (text, line, reason) in [
            ("[[export]]\npath = \"/a\"\nreadonly = true\n", 3, "did you mean `read_only`?"),
            ("[[export]]\npath = \"/a\"\nsquash = \"al\"\n", 3, "did you mean `all`?"),
            ("[[export]]\npath = \"a\"\n", 2, "does not begin with /"),
            ("[[export]]\npath = \"/a\"\npseudo = \"b/../c\"\n", 3, "such as /data"),
            ("[[export]]\npath = \"/a\"\nanonuid = -1\n", 3, "is no id"),
            ("[[export]]\npath = \"/a\"\nsecurity = [\"krb4\"]\n", 3, "did you mean `krb5`?"),
            ("[[export]]\npath = \"/a\"\nversions = [\"5\"]\n", 3, "is no version"),
            ("[[export]]\npath = \"/a\"\nsync = true\nasync = true\n", 4, "opposite"),
            (
                "[[export]]\npath = \"/a\"\n[[export.client]]\nhosts = [\"*\",\n\"10.0.0.1\"]\n",
                5,
                "never applies",
            ),
            ("[[export]]\npath = \"/a\"\n[[export.client]]\nhosts = [\"@x y\"]\n", 4, "is no netgroup"),
            ("[[export]]\npseudo = \"/a\"\n", 1, "path"),
        ] {
            let text = wrong(text);
            assert!(text.contains(&format!("line {line}: ")) && text.contains(reason), "{text}");
            assert_eq!(text.lines().count(), 1, "{text}");
        }
    }

    #[test]
    fn directory_beside_a_configuration_is_refused() {
        let text = wrong("directory = \"/a\"\n[[export]]\npath = \"/b\"\n");
        assert!(text.contains("`directory`") && text.contains("`[[export]]`"), "{text}");
        assert!(wrong("read_only = true\n[[export]]\npath = \"/b\"\n").contains("say it of each export"));
    }
}

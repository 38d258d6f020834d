//! The server that is measured: the one that was named, or one of our own.
//!
//! Owns the directory that the benchmark works in, which is fresh and bears its own name, and its removal.
//! Nothing outside of it is touched.

use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::Error;
use super::arm::Arm;
use super::arm_spec::Target;
use super::clients::{self, Clients};
use super::leftovers::{self, PREFIX};
use super::own_server::OwnServer;
use super::path_of_v3;
use crate::seeded::mix;
use crate::terminal::say;
use crate::text::bytes;
use tempfile::TempDir;

use crate::workload::{self, Address, ClientKind, Mount};

/// What stands in results for the benchmark's own server.
pub(crate) const OWN: &str = "builtin";

/// A host that is lost notices that it is alone, and ends its work, within this time, unless its network is
/// gone.
const OTHERS_END_WITHIN: Duration = Duration::from_secs(5);
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// The timeouts for a server that does not answer: when it is first reached, and before the clean-up.
const REACHED_WITHIN: Duration = Duration::from_secs(15);
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);
/// The most paths at which an export is looked for, for each path that the server shows.
const EXPORT_PATHS_MAX: usize = 16;
/// The timeout for destroying the session of the witness.
const LAST_WORDS_WITHIN: Duration = Duration::from_secs(1);
/// The delay after which the benchmark says that it waits for a server.
const WAITS_AFTER: Duration = Duration::from_secs(1);

/// True for options of an address that demand TLS and name no certificates.
fn has_tls(query: &str) -> bool {
    let has = |option: &str| query.split('&').any(|one| one.starts_with(option));
    (has("xprtsec=tls") || has("xprtsec=mtls")) && !has("tls_ca=")
}

/// How servers are reached and started.
pub(crate) struct Reach<'a> {
    /// The executable of servers that are started; none where none may be.
    pub(crate) serve_command: Option<&'a Path>,
    /// The path over NFSv3 of servers that are named, where that is another one.
    pub(crate) path_of_v3: Option<&'a str>,
    /// Where servers that are started listen; none for this machine alone.
    pub(crate) listen: Option<IpAddr>,
    /// Whether a server that is started is the port mapper of its address and counts operations, for kernels
    /// that lock over NFSv3. Two servers cannot map the ports of one address.
    pub(crate) maps_ports: bool,
    /// Goes into the name of the directory.
    pub(crate) seed: u64,
}

/// A server and the directory on it.
pub(crate) struct Server {
    /// How it is named in results: its address, or "builtin".
    pub(crate) name: String,
    /// Where it is without any added delay.
    pub(crate) address: Address,
    /// The directory that all files of the benchmark are in.
    pub(crate) directory: String,
    /// A client that prepares files and checks what was written; it takes no part in any run.
    pub(crate) witness: Arc<Mount>,
    own: Option<OwnServer>,
    /// The directory was made, and is to be removed.
    is_made: AtomicBool,
    /// Where there is no server, and no directory was named.
    temporary: Option<TempDir>,
}

impl Server {
    /// Reaches the server at `target` over the first version of `arms` that it offers, or starts it. It makes
    /// nothing there yet.
    pub(crate) async fn open(how: &Reach<'_>, target: &Target, arms: &[Arm]) -> Result<Self, Error> {
        match target {
            Target::Directory(named) => {
                let (address, temporary) = clients::directory(named.as_deref())?;
                let name = if temporary.is_some() { OWN.to_owned() } else { address.to_string() };
                Self::at(address, name, how, arms, (None, temporary)).await
            }
            Target::Own { command, flags, query } => {
                let own = command.as_deref().or(how.serve_command).ok_or_else(|| {
                    Error::Usage("there is no server to measure; name one with --server".to_owned())
                })?;
                let listen = how.listen.unwrap_or(Ipv4Addr::LOCALHOST.into());
                let mut all_flags = flags.clone();
                if how.maps_ports {
                    let metrics = SocketAddr::new(listen, 0).to_string();
                    all_flags.extend(["--portmap", "builtin", "--metrics", &metrics].map(str::to_owned));
                }
                let own = match has_tls(query) {
                    true => OwnServer::start_with_tls(own, listen, &all_flags).await?,
                    false => OwnServer::start(own, listen, &all_flags).await?,
                };
                let address = Address::parse(&own.url_with(query)).map_err(Error::Usage)?;
                let name = own_name(command.as_deref(), flags, query);
                Self::at(address, name, how, arms, (Some(own), None)).await
            }
            Target::Url(url) => {
                let address = Address::parse(url).map_err(Error::Usage)?;
                let mut address = address.with_path_of_v3(how.path_of_v3);
                if let Some(version) = version_beside_v3(arms) {
                    let finding = async { Ok(path_of_v3::find(&address, version).await) };
                    if let Some(path) = reached(&address.to_string(), finding).await? {
                        say(&format!("Over NFSv3 the same directory is {path}."));
                        address = address.with_path_of_v3(Some(&path));
                    }
                }
                let name = address.to_string();
                Self::at(address, name, how, arms, (None, None)).await
            }
        }
    }

    async fn at(
        address: Address,
        name: String,
        how: &Reach<'_>,
        arms: &[Arm],
        (own, temporary): (Option<OwnServer>, Option<TempDir>),
    ) -> Result<Self, Error> {
        let witness = Arc::new(reached(&name, witness(&address, &name, arms)).await?);
        Ok(Self {
            name,
            address,
            directory: fresh_name(how.seed),
            witness,
            own,
            is_made: AtomicBool::new(false),
            temporary,
        })
    }

    /// The version of [`Server::witness`], which links are calibrated with.
    pub(crate) fn witness_arm(&self) -> Arm {
        Arm::of_version(self.witness.version(), false)
    }

    /// Makes the directory of the benchmark.
    pub(crate) async fn make_directory(&self) -> Result<(), Error> {
        // A stop drops this future, and the server may have made the directory by then.
        self.is_made.store(true, Ordering::Relaxed);
        let made = self.witness.make_directory(&self.directory).await;
        self.is_made.store(made.is_ok(), Ordering::Relaxed);
        made.map_err(|error| Error::Server {
            server: self.name.clone(),
            version: self.witness.version().to_owned(),
            cause: format!(
                "{error}; the benchmark needs a directory in which it may write{}",
                if error.is_read_only() {
                    ", and this one is exported to be read only"
                } else {
                    " (most servers take root for nobody: work as another user with ?uid=…&gid=… in the \
                     address)"
                }
            ),
        })?;
        let marked = leftovers::mark(&self.witness, &self.directory).await;
        marked.map_err(|error| self.unusable(&error))
    }

    /// Fails when there is no room for `needed` bytes.
    pub(crate) async fn check_space(&self, needed: f64) -> Result<(), Error> {
        let free = self.witness.free_bytes().await.map_err(|error| self.unusable(&error))? as f64;
        if free >= needed {
            return Ok(());
        }
        let [free, needed] = [free, needed].map(bytes);
        Err(Error::Space { server: self.name.clone(), free, needed })
    }

    /// Removes what benchmarks that were killed have left on a server that is not our own; with `all` also
    /// what others may have left. Gives a sentence for each.
    pub(crate) async fn sweep(&self, all: bool) -> Result<Vec<String>, Error> {
        if self.own.is_some() || self.temporary.is_some() {
            return Ok(Vec::new());
        }
        leftovers::sweep(&self.witness, all).await.map_err(|error| self.unusable(&error))
    }

    fn unusable(&self, error: &workload::Error) -> Error {
        Error::Server {
            server: self.name.clone(),
            version: self.witness.version().to_owned(),
            cause: error.to_string(),
        }
    }

    /// A client of `arm` without any added delay; the server's words when it refuses that version.
    pub(crate) async fn connect(&self, clients: &Clients, arm: &Arm) -> Result<Result<Mount, String>, Error> {
        let connecting = async { Ok(clients.connect(&self.address, arm, arm.habits(), 0).await) };
        match reached(&self.name, connecting).await? {
            Err(error) if error.is_refusal() => Ok(Err(error.to_string())),
            Err(error @ workload::Error::Mount { .. }) => Err(Error::Mount(error.to_string())),
            other => other.map(Ok).map_err(|error| refused(&self.name, arm, &error)),
        }
    }

    /// Whether its files are on this machine, as those of the benchmark's own servers and directories are.
    pub(crate) fn is_here(&self) -> bool {
        self.own.is_some() || self.address.directory().is_some()
    }

    /// The directory of this machine that all files are in; `None` for a server that was named, which may be
    /// anywhere.
    pub(crate) fn export(&self) -> Option<&Path> {
        self.own.as_ref().map(OwnServer::export).or(self.address.directory())
    }

    /// The paths at which the server's machine may have the directory of the benchmark. Servers may show an
    /// export under its path there, or under the end of it.
    pub(crate) fn possible_exports(&self) -> Vec<String> {
        let mut paths = Vec::new();
        for url in ["4.1", "3"].into_iter().filter_map(|version| self.address.url(version)) {
            let Ok(path) = std::str::from_utf8(url.path()) else { continue };
            let path = format!("{}{}", path.trim_end_matches('/'), self.directory);
            let ends = path.match_indices('/').map(|(place, _)| &path[place..]);
            paths.extend(ends.take(EXPORT_PATHS_MAX).map(str::to_owned));
        }
        paths
    }

    /// The process of the benchmark's own server.
    pub(crate) fn process(&self) -> Option<u32> {
        self.own.as_ref().and_then(OwnServer::process)
    }

    /// The address of the metrics of the benchmark's own server; `None` where it counts no operations.
    pub(crate) fn metrics(&self) -> Option<SocketAddr> {
        self.own.as_ref().and_then(OwnServer::metrics)
    }

    /// Kills the benchmark's own server and starts it again at the same address, on the same directory.
    pub(crate) async fn kill_and_restart(&mut self) -> Result<(), Error> {
        let none = || Error::OwnServer("it is another's".to_owned());
        self.own.as_mut().ok_or_else(none)?.kill_and_restart().await
    }

    /// Why the benchmark's own server has ended; none while it runs, or when it is another's.
    pub(crate) fn has_ended(&mut self) -> Option<Error> {
        self.own.as_mut()?.has_ended().map(Error::OwnServer)
    }

    /// Removes everything that was made, and stops the server when it is our own. With `others_work`,
    /// somebody may make files there for a while yet.
    pub(crate) async fn close(self, others_work: bool) -> Result<(), Error> {
        if let Some(own) = self.own {
            // It may be gone.
            let _ = tokio::time::timeout(LAST_WORDS_WITHIN, self.witness.shut_down()).await;
            return own.stop().await;
        }
        if !self.is_made.load(Ordering::Relaxed) {
            let _ = tokio::time::timeout(LAST_WORDS_WITHIN, self.witness.shut_down()).await;
            return Ok(());
        }
        if tokio::time::timeout(ANSWERS_WITHIN, self.witness.free_bytes()).await.is_err() {
            return Err(Error::LeftBehind {
                server: self.name,
                directory: self.directory,
                cause: format!("the server has not answered for {} s", ANSWERS_WITHIN.as_secs()),
            });
        }
        let patience = if others_work { OTHERS_END_WITHIN } else { Duration::ZERO };
        let begun = Instant::now();
        let removed = loop {
            let removed = leftovers::remove(&self.witness, &self.directory).await;
            if removed.is_ok() || begun.elapsed() >= patience {
                break removed;
            }
            tokio::time::sleep(LOOK_AGAIN_AFTER).await;
        };
        self.witness.shut_down().await;
        removed.map_err(|error| Error::LeftBehind {
            server: self.name,
            directory: self.directory,
            cause: error.to_string(),
        })
    }
}

/// A version of NFSv4 that is compared with NFSv3; none where only one of the two is measured.
fn version_beside_v3(arms: &[Arm]) -> Option<&str> {
    let has_v3 = arms.iter().any(|arm| arm.version() == "3");
    let known = ClientKind::Builtin.versions();
    let other = arms.iter().map(Arm::version).find(|version| *version != "3" && known.contains(version));
    other.filter(|_| has_v3)
}

/// What comes of reaching the server, unless it takes too long: one that accepts connections and closes them,
/// or says nothing, could be waited for for ever.
async fn reached<T>(name: &str, reaching: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let mut reaching = std::pin::pin!(reaching);
    if let Ok(outcome) = tokio::time::timeout(WAITS_AFTER, &mut reaching).await {
        return outcome;
    }
    say(&format!("Waiting for {name} to answer …"));
    let outcome = tokio::time::timeout(REACHED_WITHIN, reaching).await;
    outcome.unwrap_or_else(|_| {
        Err(Error::Silent { server: name.to_owned(), seconds: (WAITS_AFTER + REACHED_WITHIN).as_secs() })
    })
}

/// A client of the first of `arms` that the server offers; the first refusal when it offers none.
pub(crate) async fn witness(address: &Address, name: &str, arms: &[Arm]) -> Result<Mount, Error> {
    let mut first = None;
    let known = ClientKind::Builtin.versions();
    let is_known = |arm: &&Arm| address.directory().is_some() || known.contains(&arm.version());
    // A kernel may be measured with versions that the client library does not have.
    let others = known.iter().rev().map(|version| Arm::of_version(version, false));
    let candidates: Vec<Arm> = arms.iter().filter(is_known).cloned().chain(others).collect();
    for arm in candidates {
        // What it holds would have to be recalled from it.
        let arm = Arm::of_version(arm.version(), false);
        match Mount::connect(address, arm.version(), arm.habits()).await {
            Ok(mount) => return Ok(mount),
            Err(error) if error.is_refusal() => {
                first.get_or_insert(refused(name, &arm, &error));
            }
            Err(error) => return Err(refused(name, &arm, &error)),
        }
    }
    Err(first.unwrap_or_else(|| Error::Usage("there is no version to measure".to_owned())))
}

fn refused(name: &str, arm: &Arm, error: &workload::Error) -> Error {
    Error::Server { server: name.to_owned(), version: arm.version().to_owned(), cause: error.to_string() }
}

/// Returns how a server of the benchmark's own is named in results: with what tells it from others.
fn own_name(command: Option<&Path>, flags: &[String], query: &str) -> String {
    let command = command.map(|command| command.display().to_string());
    let own = if query.is_empty() { OWN.to_owned() } else { format!("{OWN}?{query}") };
    let words = std::iter::once(own).chain(command).chain(flags.iter().cloned());
    words.collect::<Vec<_>>().join(" ")
}

/// A name that no other benchmark has: the process and a number that neither a seed nor a clock alone
/// decides.
fn fresh_name(seed: u64) -> String {
    let clock = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |elapsed| elapsed.as_nanos() as u64);
    format!("/{PREFIX}{}-{:016x}", std::process::id(), mix(mix(seed) ^ clock))
}

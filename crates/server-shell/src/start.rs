//! Starting and stopping.

use std::convert::Infallible;
use std::fs::DirBuilder;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rpc::auth::FlavorAuthenticator;
use rpc_net::memory::MemoryBudget;
use server::dispatch::Programs;
use server::exports::{Flavor, TransportSecurity};
use server::host_monitor::Restart;
use server::nfs4::{Nfs4, Nfs4Options, OwnerNames};
use server::nsm1::Nsm1;
use server::retries::Retries;
use server::runtime::Runtime;
use server::services::StateService;
use server::stable::{Forgetful, StableRecords};
use state::{Now, State};
use tls::ServerUpgrade;
use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use vfs::local::raise_descriptor_limit;

use super::control::Controlled;
use super::descriptors::Descriptors;
use super::exports::{
    ExportSpec, ExportStore, Exported, ExportsError, Probes, Reloaded, Terms, check_state_is_outside,
};
use super::host_caller::HostCaller;
use super::identity;
use super::memory_use;
use super::metrics::MetricsServer;
use super::names::SystemNames;
use super::own_work::spawn_blocking;
use super::records::{Records, RecoveredRecords};
use super::side_listeners::{SideError, SideListeners};
use super::state_files::StateFiles;
use super::world::TokioWorld;
use super::{KerberosError, KerberosTable, ServeOptions, TlsTable, certificate, kerberos};

/// Connections that wait to be accepted.
const BACKLOG: u32 = 1024;
/// How often leases and recalls are looked at.
const TICK: Duration = Duration::from_secs(1);
/// How often exports are tried that are left out because their file system is dead.
const RETRY: Duration = Duration::from_secs(10);

/// Why a server did not start, in one sentence with what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// What it was to export it cannot.
    #[error(transparent)]
    Exports(#[from] ExportsError),
    /// Clients cannot see an export at this path.
    #[error("clients cannot see an export at `{path}`: {source}; use a path such as /data")]
    Path {
        /// Which.
        path: String,
        /// Why.
        source: vfs::Error,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}; choose another address or port with --listen")]
    Listen {
        /// Which.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// TCP cannot be set as the options say.
    #[error("cannot set TCP for {address}: {source}")]
    Tcp {
        /// Where the server was to listen.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The address of the counters cannot be listened on.
    #[error("cannot tell metrics at {address}: {source}; choose another address or port with --metrics")]
    Metrics {
        /// Which.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The certificate cannot be used.
    #[error(transparent)]
    Tls(#[from] tls::Error),
    /// Kerberos cannot be used.
    #[error(transparent)]
    Kerberos(#[from] KerberosError),
    /// Clients of NFSv3 cannot find the programs.
    #[error(transparent)]
    Side(#[from] SideError),
}

/// A server that accepts connections. Dropped, it goes on until the runtime ends.
#[derive(Debug)]
pub struct Running {
    address: SocketAddr,
    metrics: Option<SocketAddr>,
    options: ServeOptions,
    keeper: Arc<ExportStore>,
    services: StateService,
    programs: Arc<Programs<Exported, StateService, StateService>>,
    memory: Arc<MemoryBudget>,
    started: Instant,
    stop: oneshot::Sender<()>,
    task: JoinHandle<io::Result<()>>,
    records: Option<Arc<Records>>,
    files: Option<Arc<StateFiles>>,
    side: SideListeners,
    upgrade: Option<ServerUpgrade>,
}

impl Running {
    /// Starts to serve.
    ///
    /// # Errors
    /// See [`StartError`].
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn start(options: &ServeOptions) -> Result<Self, StartError> {
        start_with(options, Box::new(|| listen(options.listen))).await
    }

    /// Starts to serve on a socket that listens already, whatever the options say of an address.
    ///
    /// # Errors
    /// See [`StartError`].
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn start_on(
        listener: std::net::TcpListener,
        options: &ServeOptions,
    ) -> Result<Self, StartError> {
        let listen = || {
            listener.set_nonblocking(true)?;
            TcpListener::from_std(listener)
        };
        start_with(options, Box::new(listen)).await
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where its counters are told, if anywhere.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics
    }

    /// What commands look at and work on.
    pub fn controlled(&self) -> Controlled {
        Controlled {
            address: self.address,
            started: self.started,
            services: self.services.clone(),
            keeper: Arc::clone(&self.keeper),
            programs: Arc::clone(&self.programs),
            records: self.records.as_ref().map(|records| Arc::clone(records.health())),
            memory: Arc::clone(&self.memory),
        }
    }

    /// Replaces the exports by those of `options`: all or none, while requests go on. Those whose directory
    /// stays keep their handles, open files and locks. The other options wait for the next start; which of
    /// them differ is told.
    ///
    /// # Errors
    /// See [`ExportsError`]; then everything is as it was.
    pub async fn reload(&self, options: &ServeOptions) -> Result<Reloaded, ExportsError> {
        // A table [tls] that is new waits for the next start.
        check_transports(&options.exports, self.options.tls.as_ref())?;
        check_flavors(&options.exports, self.options.kerberos.as_ref())?;
        let (keeper, exports, hides) =
            (Arc::clone(&self.keeper), options.exports.clone(), options.hide_exports);
        if let Some(upgrade) = self.upgrade.clone() {
            certificate::reload(upgrade).await;
        }
        let reloaded = reload_by(keeper, exports, hides, self.files.clone()).await?;
        Ok(Reloaded { needs_restart: self.options.differences(options), ..reloaded })
    }

    /// Takes no more requests, answers those under way, and ends.
    ///
    /// # Errors
    /// What ended the server before.
    pub async fn stop(self) -> io::Result<()> {
        self.side.stop().await;
        // A server that has ended takes no message.
        let _ = self.stop.send(());
        let ended = self.task.await.map_err(io::Error::other)?;
        // A callback under way may still hold them; the next server must not find them open.
        if let Some(records) = self.records {
            let closed = spawn_blocking(&Handle::current(), move || records.close());
            closed.await.map_err(io::Error::other)?;
        }
        ended
    }

    /// Runs until the server ends by itself.
    ///
    /// # Errors
    /// What ended it.
    pub async fn ended(&mut self) -> io::Result<()> {
        (&mut self.task).await.map_err(io::Error::other)?
    }
}

/// What gives the socket to listen on.
type Listen<'a> = Box<dyn FnOnce() -> io::Result<TcpListener> + Send + 'a>;

/// In a box, as what is generic or a future is compiled again in every crate that uses it: with this one, the
/// whole server.
fn start_with<'a>(
    options: &'a ServeOptions,
    listen: Listen<'a>,
) -> Pin<Box<dyn Future<Output = Result<Running, StartError>> + Send + 'a>> {
    Box::pin(async move {
        let upgrade = options.tls.as_ref().map(TlsTable::upgrade).transpose()?;
        check_transports(&options.exports, options.tls.as_ref())?;
        check_flavors(&options.exports, options.kerberos.as_ref())?;
        let authenticator = options.kerberos.as_ref().map(kerberos::authenticator).transpose()?;
        let probes = Probes::default();
        let identity = prepare_state(options, &probes)?;
        let memory = MemoryBudget::new(options.memory_bytes_max);
        let Prepared { mut programs, keeper, services, records, files, restart } =
            programs(options, identity, probes).await?;
        let health = records.as_ref().map(|records| Arc::clone(records.health()));
        let listener = listen().map_err(|source| StartError::Listen { address: options.listen, source })?;
        let address =
            listener.local_addr().map_err(|source| StartError::Listen { address: options.listen, source })?;
        // Also done by `serve_within`; an error there would come after the announcement that the server is
        // ready.
        options.net.tcp.apply(&listener).map_err(|source| StartError::Tcp { address, source })?;
        let metrics = match options.metrics {
            Some(address) => {
                let scraped = MetricsServer::bind(address, &services, keeper.exports(), health, &memory)
                    .map_err(|source| StartError::Metrics { address, source })?;
                programs = programs.with_metrics(scraped.metrics());
                Some(scraped)
            }
            None => None,
        };
        if let Some(gss) = authenticator {
            programs = programs.with_authenticator(Arc::new(FlavorAuthenticator::new(gss)));
        }
        let metrics_address = metrics.as_ref().map(MetricsServer::address);
        let programs = Arc::new(programs);
        let side = SideListeners::start(options.portmap, address, &programs).await?;
        tell_hosts(&services, restart);
        let (stop, stopped) = oneshot::channel();
        let mut net = options.net.clone();
        net.upgrade = upgrade.clone().map(|upgrade| Arc::new(upgrade) as _);
        net.connections_max = net.connections_max.min(Descriptors::of(raise_descriptor_limit()).connections);
        let (service, ticked) = (Arc::clone(&programs), (services.clone(), Arc::clone(&keeper)));
        let (retried, reviewed) = (Arc::clone(&keeper), upgrade.clone());
        let (budget, told) = (Arc::clone(&memory), Arc::clone(&programs));
        let told = memory_use::tell_forever(Arc::clone(&memory), services.clone(), told);
        let task = tokio::spawn(async move {
            let stopped = async {
                // A dropped sender is no reason to stop.
                if stopped.await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            let metrics = async move {
                match metrics {
                    Some(metrics) => metrics.serve().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                never = metrics => match never {},
                ended = rpc_net::serve_within(listener, service, net, budget, stopped) => ended,
                never = told => match never {},
                never = tick_forever(ticked) => match never {},
                never = retry_forever(retried) => match never {},
                never = certificate::review_forever(reviewed) => match never {},
            }
        });
        Ok(Running {
            address,
            metrics: metrics_address,
            options: options.clone(),
            keeper,
            services,
            programs,
            memory,
            started: Instant::now(),
            stop,
            task,
            records,
            files,
            side,
            upgrade,
        })
    })
}

/// Checks that clients can reach every export: one that accepts only protected connections needs a
/// certificate, and rules for certificates of clients need authorities.
fn check_transports(exports: &[ExportSpec], tls: Option<&TlsTable>) -> Result<(), ExportsError> {
    let looks_at_certificates =
        |spec: &&ExportSpec| spec.options.rules.iter().any(|rule| !rule.certificates.is_empty());
    if tls.is_none_or(|tls| tls.client_authorities.is_none())
        && let Some(spec) = exports.iter().find(looks_at_certificates)
    {
        return Err(ExportsError::NoClientAuthorities { path: spec.path.clone() });
    }
    let accepts_plain = |spec: &&ExportSpec| {
        spec.options.rules.iter().any(|rule| rule.transports.contains(TransportSecurity::None))
    };
    match exports.iter().find(|spec| !accepts_plain(spec)) {
        Some(spec) if tls.is_none() => Err(ExportsError::NoCertificate { path: spec.path.clone() }),
        _ => Ok(()),
    }
}

/// Checks that there is a key for every export that names Kerberos.
fn check_flavors(exports: &[ExportSpec], kerberos: Option<&KerberosTable>) -> Result<(), ExportsError> {
    let is_kerberos = |flavor: &Flavor| matches!(flavor, Flavor::Kerberos(_));
    let names_kerberos =
        |spec: &&ExportSpec| spec.options.rules.iter().any(|rule| rule.flavors.iter().any(is_kerberos));
    match exports.iter().find(names_kerberos) {
        Some(spec) if kerberos.is_none() => Err(ExportsError::NoKerberos { path: spec.path.clone() }),
        _ => Ok(()),
    }
}

/// In a box for the same reason as [`start_with`].
fn reload_by(
    keeper: Arc<ExportStore>,
    exports: Vec<ExportSpec>,
    hides: bool,
    files: Option<Arc<StateFiles>>,
) -> Pin<Box<dyn Future<Output = Result<Reloaded, ExportsError>> + Send>> {
    Box::pin(on_a_thread(async move {
        let Some(files) = files else { return keeper.reload(&exports, hides).await };
        let failed = |source| ExportsError::StateDirectory { path: files.directory().to_owned(), source };
        // An export that is new must not find another key than the rest have.
        files.restore().map_err(failed)?;
        let reloaded = keeper.reload(&exports, hides).await?;
        files.remember().map_err(failed)?;
        Ok(reloaded)
    }))
}

fn prepare_state(options: &ServeOptions, probes: &Probes) -> Result<bytes::Bytes, StartError> {
    let failed = |source| ExportsError::StateDirectory {
        path: options.state_directory.clone().unwrap_or_default(),
        source,
    };
    if let Some(directory) = &options.state_directory {
        check_state_is_outside((&options.exports, &options.back_ends), directory, probes)?;
        // Whoever reads the keys can make handles.
        DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(failed)?;
    }
    Ok(identity::load(options.state_directory.as_deref()).map_err(failed)?)
}

/// Runs what blocks on the disk where that stops nobody.
async fn on_a_thread<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    let runtime = Handle::current();
    let handle = runtime.clone();
    match spawn_blocking(&runtime, move || handle.block_on(work)).await {
        Ok(done) => done,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

/// A server that is put together and does not listen yet.
struct Prepared {
    programs: Programs<Exported, StateService, StateService>,
    keeper: Arc<ExportStore>,
    services: StateService,
    records: Option<Arc<Records>>,
    files: Option<Arc<StateFiles>>,
    restart: Restart,
}

async fn programs(
    options: &ServeOptions,
    identity: bytes::Bytes,
    probes: Probes,
) -> Result<Prepared, StartError> {
    let (specs, hides) = (options.exports.clone(), options.hide_exports);
    let terms = Terms {
        state_directory: options.state_directory.clone(),
        watches: options.delegations && options.local_changes,
        back_ends: options.back_ends.clone(),
        probes,
    };
    let keeper = on_a_thread(async move { ExportStore::open(&specs, hides, terms).await }).await?;
    let exports = Arc::clone(keeper.exports());
    let world: Arc<dyn Runtime> = Arc::new(TokioWorld::new());
    let state = Arc::new(State::new(options.limits, identity::boot_number()));
    let files = options.state_directory.as_deref().map(|directory| Arc::new(StateFiles::new(directory)));
    let (records, RecoveredRecords { sessions, mut restart, .. }) =
        open_records(options, files.as_ref(), &state, Now(world.now_ms()))?;
    restart.name = Some(options.host_name.clone().map_or_else(host_name, Into::into));
    let stable: Arc<dyn StableRecords> = match &records {
        Some(records) => Arc::clone(records) as _,
        None => Arc::new(Forgetful),
    };
    let services = StateService::new(state, Arc::clone(&world), stable);
    let retries = Retries::new(options.retries, world, Arc::clone(services.events()));
    let nfs4 = Nfs4::new(
        Arc::clone(&exports),
        services.clone(),
        Nfs4Options {
            delegations: options.delegations,
            identity,
            owner_names: options.idmap_domain.clone().map_or(OwnerNames::Numeric, OwnerNames::Domain),
        },
    )
    .with_names(Arc::new(SystemNames::new()));
    nfs4.bring_back(sessions).await;
    services.call_hosts_by(Arc::new(HostCaller::new(proto::portmap::PORT)));
    services.let_hosts_reclaim(restart.may_reclaim.iter().map(|host| host.name.clone()));
    let programs = Programs::new(exports, services.clone(), services.clone())
        .with_nfs4(nfs4)
        .with_retries(retries)
        .with_nsm1(Nsm1::new(services.clone(), restart.state_number));
    Ok(Prepared { programs, keeper: Arc::new(keeper), services, records, files, restart })
}

/// Opens the records of clients, and begins the grace period for those who held state.
fn open_records(
    options: &ServeOptions,
    files: Option<&Arc<StateFiles>>,
    state: &State,
    now: Now,
) -> Result<(Option<Arc<Records>>, RecoveredRecords), StartError> {
    let Some(files) = files else { return Ok((None, RecoveredRecords::default())) };
    let failed = |source| ExportsError::StateDirectory { path: files.directory().to_owned(), source };
    files.remember().map_err(failed)?;
    let (records, mut found) = Records::open(files, options.persistent_sessions).map_err(failed)?;
    let owners = std::mem::take(&mut found.owners);
    if !owners.is_empty() {
        tracing::info!(clients = owners.len(), "clients may take back what they held before the restart");
    }
    state.begin_grace(owners, now);
    let hosts = found.restart.may_reclaim.len();
    if hosts > 0 {
        tracing::info!(hosts, "hosts may take back the locks that they held over NFSv3");
        state.begin_grace_of_hosts(now);
    }
    Ok((Some(Arc::new(records)), found))
}

/// Tells hosts that held locks of the restart, beside the requests.
fn tell_hosts(services: &StateService, restart: Restart) {
    let services = services.clone();
    tokio::spawn(async move { services.tell_hosts(restart).await });
}

/// The name of this host.
fn host_name() -> bytes::Bytes {
    bytes::Bytes::copy_from_slice(rustix::system::uname().nodename().to_bytes())
}

async fn retry_forever(keeper: Arc<ExportStore>) -> Infallible {
    loop {
        tokio::time::sleep(RETRY).await;
        let keeper = Arc::clone(&keeper);
        on_a_thread(async move { keeper.retry_unavailable().await }).await;
    }
}

async fn tick_forever((services, keeper): (StateService, Arc<ExportStore>)) -> Infallible {
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        keeper.sweep();
        services.tick().await;
    }
}

pub(super) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // A server that is started again must not wait for the connections of the one before.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

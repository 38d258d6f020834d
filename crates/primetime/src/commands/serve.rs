//! `primetime serve`: directories over NFSv3, NFSv4.1 and NFSv4.2, without kernel module, rpcbind or root.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use server_shell::control::{Control, ReloadRequest, SOCKET_NAME, protocol};
use server_shell::{
    Config, PortMapMode, Running, ServeOptions, ServingRuntime, TlsTable, default_state_directory,
};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::failure::Failure;
use crate::log::{self, LogOptions};
use crate::service_manager;

/// The arguments of `serve`. What is given here goes before what stands in the configuration.
#[derive(Debug, Args)]
#[command(after_help = "\
Mount it (NFSv4.2): mount -t nfs -o port=2049 ADDR:/ /mnt
Mount it (NFSv3):   mount -t nfs -o vers=3,nolock,tcp,mountproto=tcp,port=2049,mountport=2049 ADDR:/ /mnt
With --portmap builtin or register, clients find the ports, and locks are shared: mount -t nfs -o vers=3 \
ADDR:/ /mnt

`primetime serve DIR --check` prints a configuration file with every key and its value. Several directories, \
each with
rules for its clients, stand in such a file or in a table like /etc/exports; both are read again at SIGHUP, \
and applied as a
whole or not at all. docs/exports.md has every key and option.")]
pub(crate) struct Arguments {
    /// The directory that becomes `/`
    directory: Option<PathBuf>,
    /// Where to listen; port 0 takes a free one [default: 127.0.0.1:2049]
    #[arg(long, value_name = "ADDR:PORT")]
    listen: Option<SocketAddr>,
    /// The congestion control of connections, such as cubic or bbr [default: the system's]
    #[arg(long, value_name = "NAME")]
    congestion: Option<String>,
    /// The size of each of the two socket buffers of a connection, in bytes [default: the system adapts them]
    #[arg(long, value_name = "BYTES")]
    socket_buffer: Option<u32>,
    /// Read the configuration from this file (TOML)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Export what this table says, which is written as exports(5) has it
    #[arg(long, value_name = "FILE", conflicts_with = "directory")]
    exports: Option<PathBuf>,
    /// Print what the server would run with, see whether directory and address can be used, and end
    #[arg(long)]
    check: bool,
    /// Refuse every change
    #[arg(long)]
    read_only: bool,
    /// Let the clients' superuser be the superuser here
    #[arg(long)]
    no_root_squash: bool,
    /// Acknowledge changes before they are on disk: fast, and a crash of this host loses them
    #[arg(long = "async")]
    asynchronous: bool,
    /// Keep the keys of file handles and the names of clients here, so that clients survive a restart of the
    /// server [default: a directory below /var/lib/primetime, or below ~/.local/state without root]
    #[arg(long, value_name = "DIR", conflicts_with = "forget")]
    state_dir: Option<PathBuf>,
    /// Keep nothing over a restart: clients must mount again
    #[arg(long)]
    forget: bool,
    /// Grant no delegations to NFSv4.1 clients
    #[arg(long)]
    no_delegations: bool,
    /// Do not recall delegations for what other processes change in the directory
    #[arg(long)]
    ignore_local_changes: bool,
    /// Let what NFSv4.1 clients change be changed once, whenever this server crashes: slower, see
    /// docs/durability.md
    #[arg(long, conflicts_with = "forget")]
    persistent_sessions: bool,
    /// How long a silent NFSv4.1 client keeps its opens and locks from others, in seconds [default: 90]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=3600))]
    lease: Option<u32>,
    /// Take the commands of `primetime ctl` at this socket [default: control.sock in the state directory]
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Count what is done, and tell it to Prometheus at http://ADDR:PORT/metrics; port 0 takes a free one
    #[arg(long, value_name = "ADDR:PORT")]
    metrics: Option<SocketAddr>,
    /// Show NFSv4.1 clients owners as NAME@DOMAIN, by this host's name service, instead of as numbers
    #[arg(long, value_name = "DOMAIN")]
    idmap_domain: Option<String>,
    /// Offer TLS (RFC 9289) with the certificate in this file, followed by its issuers (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Accept certificates of clients that the authorities in this file have signed (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_client_ca: Option<PathBuf>,
    /// Refuse the certificates that the lists in this file revoke, and end their connections (CRL, PEM)
    #[arg(long, value_name = "FILE", requires = "tls_client_ca")]
    tls_client_crl: Option<PathBuf>,
    /// How clients of NFSv3 find the ports: `none`, they are told; `register` with a running rpcbind;
    /// `builtin`, this server answers at port 111. Without it they cannot share locks [default: none]
    #[arg(long, value_name = "HOW")]
    portmap: Option<PortMapMode>,
    #[command(flatten)]
    log: LogOptions,
}

/// Turns that connections have on a thread before it looks which sockets have got something: a turn may take
/// a tenth of a millisecond.
const TURNS_BETWEEN_LOOKS: u32 = 8;

/// Serves until SIGTERM or SIGINT.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    log::begin(&arguments.log)?;
    let config = config(arguments)?;
    let mut options = options(arguments, &config)?;
    // Clients give modes; the process's own mask must not change them.
    server_shell::clear_umask();
    take_small_pages();
    let runtime = ServingRuntime::new(TURNS_BETWEEN_LOOKS).map_err(|error| {
        Failure::set_up(format_args!("cannot start threads: {error}; raise the limit of processes"))
    })?;
    options.net.threads = Some(runtime.threads());
    if arguments.check {
        return runtime.block_on(check(&config, &options));
    }
    runtime.block_on(serve(arguments, &config, &options))
}

/// Takes memory in small pages: in huge ones an idle server holds twice as much.
fn take_small_pages() {
    // Where that is refused nothing is lost but memory.
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}

/// Starts the server on a free port of its address and without its state, which a running server may have in
/// use.
async fn check(config: &Config, options: &ServeOptions) -> Result<(), Failure> {
    // Whoever started us may have closed its end; the check is still worth its exit code.
    let _ = std::io::stdout().write_all(config.to_toml().as_bytes());
    let mut options = ServeOptions { state_directory: None, portmap: PortMapMode::None, ..options.clone() };
    options.listen.set_port(0);
    if let Some(metrics) = &mut options.metrics {
        metrics.set_port(0);
    }
    let running = Running::start(&options).await.map_err(Failure::set_up)?;
    running
        .stop()
        .await
        .map_err(|error| Failure::invalid_run(format_args!("the server did not end well: {error}")))
}

async fn serve(arguments: &Arguments, config: &Config, options: &ServeOptions) -> Result<(), Failure> {
    let cannot_wait = |error| Failure::set_up(format_args!("cannot wait for signals: {error}"));
    let mut terminate = signal(SignalKind::terminate()).map_err(cannot_wait)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(cannot_wait)?;
    let mut hang_up = signal(SignalKind::hangup()).map_err(cannot_wait)?;
    let mut running = match service_manager::listener()? {
        Some(listener) => Running::start_on(listener, options).await,
        None => Running::start(options).await,
    }
    .map_err(Failure::set_up)?;
    let (reloads, mut asked) = mpsc::channel(1);
    let control = control(config, options, &running, reloads)?;
    announce(&running);
    let status = format!("serving at nfs://{}/", running.address());
    service_manager::ready(&status);
    service_manager::show_life();
    loop {
        tokio::select! {
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            _ = hang_up.recv() => {
                // What is wrong was reported; nobody waits for an answer.
                let _ = reload(arguments, &running).await;
            }
            Some(answer) = asked.recv() => {
                // Whoever asked may be gone.
                let _: Result<_, _> = answer.send(reload(arguments, &running).await);
            }
            ended = running.ended() => {
                let reason = ended.err().map_or_else(|| "it stopped".to_owned(), |error| error.to_string());
                return Err(Failure::invalid_run(format_args!("the server ended by itself: {reason}")));
            }
        }
    }
    service_manager::stopping();
    drop(control);
    running
        .stop()
        .await
        .map_err(|error| Failure::invalid_run(format_args!("the server did not end well: {error}")))
}

/// Begins to take commands, where there is a place for their socket.
fn control(
    config: &Config,
    options: &ServeOptions,
    running: &Running,
    reloads: mpsc::Sender<ReloadRequest>,
) -> Result<Option<Control>, Failure> {
    if let Some(path) = &config.socket {
        let control = Control::start(path.clone(), running.controlled(), reloads);
        return control.map(Some).map_err(Failure::set_up);
    }
    let Some(directory) = &options.state_directory else { return Ok(None) };
    match Control::start(directory.join(SOCKET_NAME), running.controlled(), reloads) {
        Ok(control) => Ok(Some(control)),
        Err(error) => {
            // Nobody has asked for it.
            tracing::warn!(%error, "no commands are taken");
            Ok(None)
        }
    }
}

/// Reads the configuration again and applies it; one that is wrong changes nothing.
async fn reload(arguments: &Arguments, running: &Running) -> Result<protocol::Reloaded, String> {
    service_manager::reloading();
    let reloaded = match read_again(arguments) {
        Ok(options) => running.reload(&options).await.map_err(|error| error.to_string()),
        Err(sentence) => Err(sentence),
    };
    match &reloaded {
        Ok(_) => service_manager::ready(&format!("serving at nfs://{}/", running.address())),
        Err(error) => service_manager::ready(&format!(
            "serving by the old configuration, for the new one is refused: {error}"
        )),
    }
    let mut said = std::io::stderr().lock();
    // Whoever has asked is told, whatever is reported otherwise; where nobody reads that, the server goes on.
    let _ = match &reloaded {
        Ok(reloaded) => writeln!(said, "primetime: the exports were reloaded: {reloaded}"),
        Err(error) => writeln!(said, "primetime: nothing was reloaded: {error}"),
    };
    drop(said);
    reloaded.map(protocol::Reloaded::from)
}

fn read_again(arguments: &Arguments) -> Result<ServeOptions, String> {
    let config = config(arguments).map_err(|failure| failure.to_string())?;
    options(arguments, &config).map_err(|failure| failure.to_string())
}

/// The configuration with the command line's changes.
fn config(arguments: &Arguments) -> Result<Config, Failure> {
    let mut config = match &arguments.config {
        Some(path) => Config::read(path).map_err(Failure::set_up)?,
        None => Config::default(),
    };
    // What is named here goes before what the file says is to be served.
    if arguments.directory.is_some() {
        config.directory.clone_from(&arguments.directory);
    }
    if arguments.exports.is_some() {
        config.exports.clone_from(&arguments.exports);
        config.read_exports().map_err(Failure::set_up)?;
    }
    config.state_dir = arguments.state_dir.clone().or(config.state_dir);
    config.listen = arguments.listen.unwrap_or(config.listen);
    config.congestion = arguments.congestion.clone().or(config.congestion);
    config.socket_buffer = arguments.socket_buffer.or(config.socket_buffer);
    config.limits.lease_seconds = arguments.lease.unwrap_or(config.limits.lease_seconds);
    config.socket = arguments.socket.clone().or(config.socket);
    config.metrics = arguments.metrics.or(config.metrics);
    config.idmap_domain = arguments.idmap_domain.clone().or(config.idmap_domain);
    config.portmap = arguments.portmap.unwrap_or(config.portmap);
    if let (Some(certificate), Some(key)) = (&arguments.tls_cert, &arguments.tls_key) {
        config.tls = Some(TlsTable {
            certificate: certificate.clone(),
            key: key.clone(),
            client_authorities: arguments.tls_client_ca.clone(),
            client_revocations: arguments.tls_client_crl.clone(),
        });
    }
    config.read_only |= arguments.read_only;
    config.no_root_squash |= arguments.no_root_squash;
    config.asynchronous |= arguments.asynchronous;
    config.persistent_sessions |= arguments.persistent_sessions;
    config.delegations &= !arguments.no_delegations;
    config.local_changes &= !arguments.ignore_local_changes;
    if !arguments.forget && config.state_dir.is_none() {
        let named = [&config.directory, &config.exports, &arguments.config];
        let named = named.into_iter().flatten().next();
        config.state_dir = named.and_then(|path| default_state_directory(path));
    }
    config.check().map_err(Failure::set_up)?;
    Ok(config)
}

fn options(arguments: &Arguments, config: &Config) -> Result<ServeOptions, Failure> {
    if config.directory.is_none() && !config.has_exports() {
        return Err(Failure::set_up("there is no directory to serve; name one: primetime serve DIR"));
    }
    let state_directory = config.state_dir.clone().filter(|_| !arguments.forget);
    let missing = state_directory.is_none() && !arguments.forget;
    if missing && config.directory.as_ref().is_none_or(|directory| directory.is_dir()) {
        return Err(Failure::set_up(
            "there is no place to keep state, since no home directory is known; name one with --state-dir, \
             or give --forget",
        ));
    }
    if config.persistent_sessions && state_directory.is_none() {
        return Err(Failure::set_up("persistent sessions need a place to keep state; leave out --forget"));
    }
    Ok(config.options(state_directory))
}

/// The lines that programs wait for; `ready` is the last. Whoever started us may have closed its end; that is
/// no reason to stop.
fn announce(running: &Running) {
    let mut out = std::io::stdout().lock();
    if let Some(address) = running.metrics_address() {
        let _ = writeln!(out, "metrics http://{address}/metrics");
    }
    let _ = writeln!(out, "ready nfs://{}/", running.address()).and_then(|()| out.flush());
}

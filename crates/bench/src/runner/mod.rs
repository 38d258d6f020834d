//! The measuring: experiments × delays × blocks × versions, on real clients against a real server.
//!
//! Owns the order of things, the start and the end of servers and links, and the removal of all that was
//! made. What an application does is the workloads' matter, what numbers mean that of the statistics.

pub mod agent;
mod arm;
mod arm_spec;
mod cache_state;
mod calibration;
mod campaign;
mod check;
mod client_namespaces;
mod clients;
mod clock;
mod crew;
mod delegating;
mod earlier;
mod fetched;
mod floors;
mod identity;
mod journal;
mod leftovers;
mod link;
mod lock_counts;
mod machine;
mod measure;
mod network;
mod own_certificates;
mod own_server;
mod path_of_v3;
mod placed;
mod servers;
mod stop;
mod target;
mod unit;
mod window;

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

pub(crate) use arm::Arm;
pub use arm_spec::{ArmSpec, Target};
pub use client_namespaces::ClientNamespaces;
pub(crate) use clients::Clients;
pub(crate) use own_server::OwnServer;
pub(crate) use stop::Stop;
pub(crate) use target::{Reach, Server};
pub(crate) use window::{Quantity, Recording, outcome};

pub use crate::error::Error;
pub use crate::workload::ClientKind;

use crate::agents::{Access, Hosts, Secret, ServerHost};
use crate::experiment::{Experiment, Plan, Runs};
use crate::explain::Profile;
use crate::guests::CAVEAT;
use crate::results::{Asked, Environment, Results, write_csv};
use crate::terminal::{Progress, Watched, say};
use crate::{compare, report};

use arm::Arms;
use campaign::{Limits, Measured};
use check::{check, most_clients, points};
use client_namespaces::ClientNetwork;
use clock::Clock;
use delegating::Delegating;
use floors::negotiation_key;
use journal::{Journal, Unfinished};
use measure::Trial;
use network::Network;
use placed::placed;
use servers::Servers;
use unit::Common;

/// The share of the time asked for that goes by until the last block: the rest is for the calibration of the
/// links and for removing what was made.
const MEASURING_SHARE: f64 = 0.96;

/// What to measure, and where.
#[derive(Debug, Clone)]
pub struct Options {
    /// Experiments, delays, versions and runs.
    pub plan: Plan,
    /// Arms that are compared, in the place of `plan.versions` on one server; none for the versions.
    pub arms: Vec<ArmSpec>,
    /// Which arms are compared, candidate and baseline; none to compare all with the first one.
    pub pairs: Vec<(String, String)>,
    /// The server's address (`nfs://…`); none to start one with `serve_command`.
    pub server: Option<String>,
    /// The path of the same directory over NFSv3, where the server has another one there.
    pub path_of_v3: Option<String>,
    /// Whether the others are measured when the server refuses a version.
    pub allow_missing_versions: bool,
    /// A `primetime` executable, called as `primetime serve DIR --listen 127.0.0.1:0`; needed when no server
    /// is named.
    pub serve_command: Option<PathBuf>,
    /// Whether each version that has delegations is also measured without them.
    pub without_delegations: bool,
    /// Which client carries the workloads.
    pub client: ClientKind,
    /// Options of mount(8) for [`ClientKind::Kernel`], after those that the benchmark gives itself.
    pub mount_options: Vec<String>,
    /// Network namespaces for mounts of [`ClientKind::Kernel`] and [`ClientKind::Fuse`]: the first client is
    /// in the first, and so on, and each is a client of its own to the server.
    pub client_namespaces: ClientNamespaces,
    /// Hosts with agents, on which the clients are: `host:port` of one that runs, or a host to start one on
    /// by ssh. Without any, the clients are on this machine.
    pub hosts: Vec<String>,
    /// The machine of the server, named as one of [`Options::hosts`]: an agent there tells how busy its
    /// processors and disks are.
    pub server_host: Option<String>,
    /// The secret of agents that run.
    pub agent_secret: Option<Secret>,
    /// The executable of agents that are started.
    pub agent_command: String,
    /// The address by which clients in guests reach a server of the benchmark's own; none where there are no
    /// guests. Their agents are [`Options::hosts`].
    pub guests_reach: Option<IpAddr>,
    /// Whether each guest runs a port mapper and a status monitor, which its kernel needs to lock over NFSv3.
    pub guests_lock: bool,
    /// Clients instead of each experiment's own number.
    pub clients: Option<u32>,
    /// What the verdict weighs.
    pub profile: Profile,
    /// The directory for results, made when it is absent.
    pub out: PathBuf,
    /// The seed of every random choice.
    pub seed: u64,
    /// Whether an interrupted benchmark in [`Options::out`] is continued.
    pub resume: bool,
    /// Whether progress is a view of the whole terminal; where there is none it is as without.
    pub live: bool,
    /// Whether also what other machines' benchmarks may still use is removed from the server.
    pub clean: bool,
    /// The version of the tool, for the record.
    pub tool_version: String,
    /// The command with its arguments, for the record.
    pub command_line: Vec<String>,
}

/// Measures, and writes `results.json`, the CSV files and `report.html` into [`Options::out`]. Shows progress
/// on standard error. Whatever was made on the server is removed, also after an error, Ctrl-C or SIGTERM.
///
/// # Errors
/// When something stands in the way ([`Error::is_invalid_run`] is false) or the measurement cannot be trusted
/// (true). Nothing is written then, except after Ctrl-C or SIGTERM what is complete ([`Error::Stopped`]).
/// Runs that were made stay in `runs.jsonl`, from which [`Options::resume`] goes on, unless they cannot be
/// trusted.
pub async fn run(options: Options) -> Result<Results, Error> {
    let arms = check(&options)?;
    let unfinished = if options.resume {
        Some(earlier::to_continue(&options.out, &identity::of(&options))?)
    } else {
        None
    };
    let made = !options.out.exists();
    std::fs::create_dir_all(&options.out)
        .map_err(|source| Error::Out { path: options.out.clone(), source })?;
    let outcome = Box::pin(run_into_directory(&options, &arms, unfinished)).await;
    if made && outcome.is_err() {
        // Only when it is still empty; what could be written before an error is worth keeping.
        let _ = std::fs::remove_dir(&options.out);
    }
    outcome
}

async fn run_into_directory(
    options: &Options,
    arms: &Arms,
    unfinished: Option<Unfinished>,
) -> Result<Results, Error> {
    let stop = Stop::listen()?;
    // Declared before the clients, whose mounts are in it, and so dropped after them.
    let network = ClientNetwork::open(options)?;
    let new = |client| Clients::new(options, network.names(), client).map(Arc::new);
    let clients = arms.clients.iter().map(new);
    let clients = clients.collect::<Result<Vec<_>, _>>()?;
    let agents = stop.or(Agents::reach(options)).await?;
    let listen = options.guests_reach.or_else(|| network.host_address());
    let mut servers = stop.or(Box::pin(Servers::open(options, arms, listen))).await?;
    let mut journal = None;
    let parts = (&servers, &clients[..], &agents, listen);
    let measuring = measure_all(options, &arms.arms, parts, &stop, unfinished, &mut journal);
    let measured = stop.or_soon(Box::pin(measuring)).await;
    tokio::select! {
        () = agents.dismiss() => {}
        () = stop.times(2) => {}
    }
    // A server of our own that died is the cause of whatever else went wrong.
    let died = servers.has_ended();
    let (name, directory) = servers.places();
    let is_host_lost = matches!(measured, Err(Error::LostHost { .. }));
    let closed = tokio::select! {
        closed = servers.close(is_host_lost) => closed,
        () = stop.times(2) => {
            Err(Error::LeftBehind { server: name, directory, cause: "stopped while it was \
                                                                     removed".to_owned() })
        }
    };
    if let (Err(_), Err(left)) = (&measured, &closed) {
        // The caller prints the error that ended the benchmark. This one would be lost.
        say(&left.to_string());
    }
    if let Some(died) =
        died.filter(|_| measured.as_ref().is_err_and(|error| !matches!(error, Error::Interrupted)))
    {
        return Err(died);
    }
    let results = match (measured, journal) {
        (Ok(results), journal) => {
            // What was measured is worth keeping even where something was left behind.
            write(&results, options)?;
            journal.map_or(Ok(()), Journal::remove)?;
            results
        }
        (Err(error), None) => return Err(error),
        (Err(error), Some(journal)) => return Err(give_up(error, journal, options, &arms.arms)?),
    };
    closed.map(|()| results)
}

/// The agents on other machines.
struct Agents {
    hosts: Option<Hosts>,
    server_host: Option<ServerHost>,
}

impl Agents {
    async fn reach(options: &Options) -> Result<Self, Error> {
        let access = Access {
            secret: options.agent_secret.as_ref(),
            command: &options.agent_command,
            version: &options.tool_version,
        };
        let hosts = match &options.hosts[..] {
            [] => None,
            named => Some(Hosts::reach(named, &access).await?),
        };
        let server_host = match &options.server_host {
            None => None,
            Some(name) => Some(ServerHost::reach(name, &access).await?),
        };
        Ok(Self { hosts, server_host })
    }

    /// Lets all of them go. Who still works would make files again while they are removed.
    async fn dismiss(self) {
        let Self { hosts, server_host } = self;
        let hosts = async {
            if let Some(hosts) = hosts {
                hosts.dismiss().await;
            }
        };
        let server_host = async {
            if let Some(host) = server_host {
                host.dismiss().await;
            }
        };
        tokio::join!(hosts, server_host);
    }

    async fn describe(&self, environment: &mut Environment) {
        if let Some(hosts) = &self.hosts {
            environment.hosts = hosts.facts().await;
        }
        if let Some(host) = &self.server_host {
            environment.server_host = Some(host.facts().await);
        }
    }
}

/// Keeps of a benchmark that ended with `error` what is worth it, and gives what to say.
fn give_up(error: Error, journal: Journal, options: &Options, arms: &[Arm]) -> Result<Error, Error> {
    if journal.is_empty() || matches!(error, Error::WrongData { .. }) {
        journal.remove()?;
        return Ok(error);
    }
    if !matches!(error, Error::Interrupted) {
        return Ok(error);
    }
    let mut cells = journal.complete_cells(&options.plan.runs.looks(), arms);
    let stopped = Error::Stopped { out: options.out.clone(), cells: cells.len() };
    if !cells.is_empty() {
        let mut environment = journal.environment().clone();
        environment
            .doubts
            .push("Stopped before the end: settings are missing, and --resume makes them.".to_owned());
        floors::set(&mut cells, &environment, options);
        let results = compare::results(environment, asked(&options.plan), cells, &options.profile);
        write(&Results { partial: true, ..results }, options)?;
    }
    Ok(stopped)
}

async fn measure_all(
    options: &Options,
    arms: &[Arm],
    (servers, clients, agents, listen): (&Servers, &[Arc<Clients>], &Agents, Option<IpAddr>),
    stop: &Stop,
    unfinished: Option<Unfinished>,
    kept: &mut Option<Journal>,
) -> Result<Results, Error> {
    let plan = &options.plan;
    let (began, started) = (Clock::now(), Instant::now());
    let mut environment =
        Environment::of_this_machine(&options.tool_version, options.command_line.clone(), options.seed);
    environment.plan = identity::of(options);
    environment.same_within = plan.same_within;
    environment.doubts.extend(options.guests_reach.map(|_| CAVEAT.to_owned()));
    if cfg!(debug_assertions) {
        environment
            .doubts
            .push("This is a debug build, which is many times slower; build with --release.".to_owned());
    }
    for server in servers.all() {
        for clients in clients {
            stop.or(clients.check_route(&server.address)).await?;
        }
    }
    let arms = match options.guests_reach {
        // This machine's kernel need not have NFS: what theirs agrees on, the guests alone know.
        Some(_) => arms.to_vec(),
        None => {
            let go_on = options.allow_missing_versions;
            let offered = negotiate(&mut environment, arms, (servers, clients), go_on);
            stop.or(Box::pin(offered)).await?
        }
    };
    let arms = &arms[..];
    let notes = stop.or(servers.sweep(options.clean)).await?;
    servers.make_directories(plan.space(options.clients).bytes()).await?;
    let (network, links, doubts) =
        stop.or(Box::pin(Network::open(servers.all(), &plan.delays_ms, listen))).await?;
    environment.links = links;
    environment.doubts.extend(doubts);
    environment.doubts.extend(doubts_about_clients(options, arms, clients));
    let places = placed(options, servers.all());
    let settings = places.len() * plan.delays_ms.len() * arms.len();
    let runs_total = settings as u64 * u64::from(plan.runs.first());
    let mut progress = progress_of(options, runs_total, &servers.name(), stop)?;
    environment.doubts.iter().for_each(|doubt| progress.doubt(doubt));
    let notes = notes.into_iter().chain(begin_journal(&mut environment, arms, options, unfinished, kept)?);
    notes.for_each(|note| progress.note(&note));
    let journal = kept.as_mut().expect("it was just begun");
    let trial = |placed| Trial {
        servers: servers.all(),
        clients,
        stop,
        hosts: agents.hosts.as_ref(),
        server_host: agents.server_host.as_ref(),
        size: plan.size,
        placed,
    };
    let trials: Vec<Vec<Trial<'_>>> = places.iter().map(|place| place.iter().map(trial).collect()).collect();
    let looks = plan.runs.looks();
    let delegating = Delegating::default();
    let common = Common { arms, seed: options.seed, looks: &looks, delegating: &delegating };
    let until = started + plan.runs.time_max().mul_f64(MEASURING_SHARE);
    let limits = Limits {
        until,
        same_within: plan.same_within,
        is_planned: matches!(plan.runs, Runs::UntilFound { .. }),
    };
    let mut measured: Vec<Measured<'_>> =
        trials.iter().map(|trial| Measured::new(trial, &network.delays)).collect();
    let mut cells = campaign::measure(&mut measured, &common, &limits, (journal, &mut progress)).await?;
    drop(measured);
    environment.doubts.extend(delegating.doubts());
    environment.doubts.extend(stop.or(Box::pin(network.close(servers.all()))).await?);
    environment.doubts.extend(began.doubt(&Clock::now()));
    agents.describe(&mut environment).await;
    floors::set(&mut cells, &environment, options);
    Ok(compare::results(environment, asked(plan), cells, &options.profile))
}

/// Progress as it was asked for.
fn progress_of(options: &Options, runs_total: u64, server: &str, stop: &Stop) -> Result<Progress, Error> {
    if !options.live {
        return Ok(Progress::new(runs_total));
    }
    let (server, client) = (server.to_owned(), options.client.as_str().to_owned());
    let key = stop.clone();
    let progress = Progress::live(Watched { server, client, runs_total }, move || key.ask());
    if progress.is_live() {
        stop.listen_for_the_terminal()?;
    }
    Ok(progress)
}

/// What cannot be as it should with this kind of client.
fn doubts_about_clients(options: &Options, arms: &[Arm], clients: &[Arc<Clients>]) -> Vec<String> {
    let plan = &options.plan;
    // Each host has a kernel of its own.
    let several = most_clients(options) as usize > options.hosts.len().max(1);
    let mut doubts: Vec<String> = Vec::new();
    for (clients, index) in clients.iter().zip(0..) {
        let own: Vec<Arm> = arms.iter().filter(|arm| arm.client == index).cloned().collect();
        doubts.extend(clients.doubts(&own, several));
    }
    let left_out = |one: &&Experiment| points(one, options).len() < one.setup(plan.size).points().len();
    doubts.extend(plan.experiments.iter().filter(left_out).map(|experiment| {
        format!(
            "Operations on whole trees were left out of {}: the client {} has none.",
            experiment.name,
            options.client.as_str()
        )
    }));
    doubts
}

/// What a report needs to know of the experiments.
fn asked(plan: &Plan) -> Vec<Asked> {
    plan.experiments.iter().map(Experiment::asked).collect()
}

/// Begins the journal, with the runs of the one that is continued. Gives what must be said of what was there
/// before.
fn begin_journal(
    environment: &mut Environment,
    arms: &[Arm],
    options: &Options,
    unfinished: Option<Unfinished>,
    kept: &mut Option<Journal>,
) -> Result<Option<String>, Error> {
    let (note, earlier) = match unfinished {
        Some(unfinished) => {
            environment.date.clone_from(&unfinished.environment.date);
            (None, unfinished.whole_blocks(arms.len()))
        }
        None => (earlier::put_aside(&options.out, &environment.plan)?, Vec::new()),
    };
    *kept = Some(Journal::begin(&options.out, environment, earlier)?);
    Ok(note)
}

/// Reaches the server over every arm, so that a version it lacks is known before anything is measured. Gives
/// those that it offers; with `go_on` the others are a doubt, else the end.
async fn negotiate(
    environment: &mut Environment,
    arms: &[Arm],
    (servers, clients): (&Servers, &[Arc<Clients>]),
    go_on: bool,
) -> Result<Vec<Arm>, Error> {
    let mut offered = Vec::new();
    for arm in arms {
        let server = &servers.all()[arm.server];
        match server.connect(&clients[arm.client], arm).await? {
            Err(cause) if !go_on => {
                return Err(Error::NotOffered { server: server.name.clone(), version: arm.name(), cause });
            }
            Ok(mount) => {
                environment.negotiated.entry(negotiation_key(&arm.id)).or_insert_with(|| mount.negotiated());
                mount.shut_down().await;
                offered.push(arm.clone());
            }
            Err(cause) => environment
                .doubts
                .push(format!("{} is not offered by the server and was left out: {cause}.", arm.name())),
        }
    }
    Ok(offered)
}

fn write(results: &Results, options: &Options) -> Result<(), Error> {
    results.save(&options.out.join("results.json"))?;
    write_csv(results, &options.out)?;
    report::write(results, &options.out)?;
    Ok(())
}

//! What can be known to be wrong before anything is started.

use std::collections::BTreeSet;

use netlab::guest::BridgedNamespaces;

use super::arm::Arms;
use super::arm_spec::{ArmSpec, Target};
use super::window::Quantity;
use super::{ClientNamespaces, Error, Options};
use crate::experiment::{Experiment, Point, Runs, SECONDS_MAX, Size};
use crate::text::percent;
use crate::workload::{self, ClientKind};

/// A delay above this is no network.
const RTT_MS_MAX: f64 = 10_000.0;
/// More runs than this tell nothing new.
const RUNS_MAX: u32 = 1000;
/// A wider margin would call everything the same.
const SAME_WITHIN_MAX: f64 = 0.5;
const ARMS_MAX: usize = 8;
const HOW_HOSTS_ARE_NAMED: &str = "a host is named by its name, such as node1, user@node1 or node1:7000";

/// Checks what can be known to be wrong before anything is started, and gives what is compared.
pub(crate) fn check(options: &Options) -> Result<Arms, Error> {
    let plan = &options.plan;
    check_namespaces(options)?;
    check_hosts(options)?;
    check_server_host(options)?;
    if options.arms.is_empty() {
        check_client(options)?;
    } else if options.server.is_some() || options.path_of_v3.is_some() {
        return Err(Error::Usage("arms name their servers; leave out --server and --v3-path".to_owned()));
    }
    let wrong = |text: String| Err(Error::Usage(text));
    if plan.experiments.is_empty() || plan.delays_ms.is_empty() || plan.versions.is_empty() {
        return wrong("there is nothing to measure: no experiment, no delay or no version".to_owned());
    }
    if let Some(delay) = plan.delays_ms.iter().find(|delay| !(0.0..=RTT_MS_MAX).contains(*delay)) {
        return wrong(format!("a delay of {delay} ms is not between 0 and {RTT_MS_MAX} ms"));
    }
    match plan.runs {
        Runs::Fixed(runs) if !(1..=RUNS_MAX).contains(&runs) => {
            return wrong(format!("{runs} runs are not between 1 and {RUNS_MAX}"));
        }
        Runs::UntilDecided { seconds } | Runs::UntilFound { seconds: Some(seconds) }
            if !(1..=SECONDS_MAX).contains(&seconds) =>
        {
            return wrong(format!("{seconds} seconds are not between 1 and {SECONDS_MAX}"));
        }
        _ => {}
    }
    if !(plan.same_within > 0.0 && plan.same_within <= SAME_WITHIN_MAX) {
        return wrong(format!(
            "versions that differ by {} cannot count as the same; use more than 0 % and at most {}",
            percent(plan.same_within),
            percent(SAME_WITHIN_MAX)
        ));
    }
    if options.clients == Some(0) || options.clients > Some(crate::experiment::CLIENTS_MAX) {
        return wrong(format!("clients must be from 1 to {}", crate::experiment::CLIENTS_MAX));
    }
    for experiment in &plan.experiments {
        Quantity::of_unit(&experiment.name, &experiment.metric.unit)?;
        for unit in workload::parts(&experiment.setup(plan.size).workload)
            .iter()
            .filter_map(|part| part.unit.as_ref())
        {
            Quantity::of_unit(&experiment.name, unit)?;
        }
    }
    check_arms(options)
}

/// Checks the arms that were named, and returns what is compared.
fn check_arms(options: &Options) -> Result<Arms, Error> {
    let wrong = |text: String| Err(Error::Usage(text));
    let names: BTreeSet<&str> = options.arms.iter().map(|arm| arm.name.as_str()).collect();
    if names.len() < options.arms.len() {
        return wrong("two arms have the same name; give each one of its own".to_owned());
    }
    if options.arms.len() > ARMS_MAX {
        return wrong(format!("more than {ARMS_MAX} arms make blocks that last too long; name fewer"));
    }
    for name in options.pairs.iter().flat_map(|(candidate, baseline)| [candidate, baseline]) {
        if !names.contains(name.as_str()) {
            return wrong(format!("there is no arm `{name}` to compare; name it with --arm {name}=…"));
        }
    }
    if let Some((same, _)) = options.pairs.iter().find(|(candidate, baseline)| candidate == baseline) {
        return wrong(format!("arm `{same}` cannot be compared with itself; name another one"));
    }
    if !options.arms.is_empty() && options.without_delegations {
        return wrong("arms say it themselves: NAME=nfs://host/path?delegations=off".to_owned());
    }
    let all = Arms::of(options);
    for arm in &options.arms {
        check_arm(arm, options)?;
    }
    for arm in &all.arms {
        let (kind, _) = &all.clients[arm.client];
        if !kind.versions().contains(&arm.version()) {
            return wrong(format!(
                "the client {} has no version `{}`; use {}",
                kind.as_str(),
                arm.version(),
                kind.versions().join(" or ")
            ));
        }
    }
    Ok(all)
}

/// Checks what does not go together in one arm.
fn check_arm(arm: &ArmSpec, options: &Options) -> Result<(), Error> {
    let name = &arm.name;
    let wrong = |text: &str| Err(Error::Usage(format!("arm `{name}`: {text}")));
    let client = arm.client.as_ref().unwrap_or(&options.client);
    if !matches!(arm.target, Target::Url(_)) && !options.hosts.is_empty() {
        return wrong("other hosts do not reach what is on this machine; name a server");
    }
    if matches!(arm.target, Target::Directory(_)) && options.plan.delays_ms.iter().any(|delay| *delay > 0.0) {
        return wrong("a directory has no delay; give --rtt-ms 0");
    }
    if matches!(client, ClientKind::Path(_)) && !matches!(arm.target, Target::Directory(_)) {
        return wrong("the client path has no server; name a directory");
    }
    if *client != ClientKind::Kernel && !arm.mount_options.is_empty() {
        return wrong("mount_options are for mount.nfs; use client=kernel");
    }
    if *client == ClientKind::Kernel && has_library_settings(&arm.target) {
        return wrong(LIBRARY_SETTINGS);
    }
    if *client == ClientKind::Kernel && !arm.delegations {
        return wrong("a kernel cannot be asked to do without delegations; use serve=--no-delegations");
    }
    if *client == ClientKind::Kernel && !rustix::process::geteuid().is_root() {
        return wrong("only root may mount with client=kernel; work as root, or use client=fuse");
    }
    Ok(())
}

const LIBRARY_SETTINGS: &str = "congestion, socket_buffer and slots are settings of the client library; \
    a kernel's client has those of its system (sysctl net.ipv4.tcp_congestion_control and tcp_rmem, and the \
    parameter max_session_slots of the module nfs)";

/// Returns whether the address of a target has settings that a kernel's client cannot follow.
fn has_library_settings(target: &Target) -> bool {
    let text = match target {
        Target::Url(url) => url.clone(),
        Target::Own { query, .. } => format!("nfs://localhost/?{query}"),
        Target::Directory(_) => return false,
    };
    let default = client::Options::default();
    text.parse::<client::Url>().is_ok_and(|url| {
        let options = url.options();
        options.tcp != default.tcp || options.slots_max != default.slots_max
    })
}

/// Checks what does not go together with the kind of client.
fn check_client(options: &Options) -> Result<(), Error> {
    let wrong = |text: &str| Err(Error::Usage(text.to_owned()));
    if options.client != ClientKind::Kernel && !options.mount_options.is_empty() {
        return wrong("mount options are for mount.nfs; use them with --client kernel");
    }
    match &options.client {
        ClientKind::Builtin | ClientKind::Fuse => Ok(()),
        ClientKind::Kernel
            if options.server.clone().is_some_and(|url| has_library_settings(&Target::Url(url))) =>
        {
            wrong(LIBRARY_SETTINGS)
        }
        ClientKind::Kernel if options.without_delegations => wrong(
            "a kernel cannot be asked to do without delegations; switch them off at the server (`primetime \
             serve --no-delegations`) and measure it again",
        ),
        ClientKind::Kernel if !rustix::process::geteuid().is_root() => {
            wrong("only root may mount with --client kernel; work as root, or use --client fuse")
        }
        ClientKind::Kernel => Ok(()),
        ClientKind::Path(_) if options.server.is_some() => wrong(
            "--client path measures a directory of this machine; leave out --server, or use another client",
        ),
        ClientKind::Path(_) if options.plan.delays_ms != [0.0] || options.without_delegations => wrong(
            "--client path has no network and no delegations; leave out --rtt-ms and --without-delegations",
        ),
        ClientKind::Path(_) => Ok(()),
    }
}

/// Checks what does not go together with clients on other machines.
fn check_hosts(options: &Options) -> Result<(), Error> {
    let wrong = |text: &str| Err(Error::Usage(text.to_owned()));
    if options.hosts.is_empty() {
        return Ok(());
    }
    if !names_server(options) || options.plan.delays_ms != [0.0] {
        return wrong(
            "other hosts do not reach a server or a delay of the benchmark's own; name the server with \
             --server, and leave out --rtt-ms (tc-netem(8) on the hosts makes a delay)",
        );
    }
    if matches!(options.client, ClientKind::Path(_)) || !options.client_namespaces.is_empty() {
        return wrong("--hosts is for clients of a server; leave out --client path and --client-namespaces");
    }
    if options.hosts.iter().collect::<BTreeSet<_>>().len() < options.hosts.len() {
        return wrong("a host is named twice; name each once, and give it more clients with --clients");
    }
    if !options.hosts.iter().all(|host| is_host(host)) {
        return wrong(HOW_HOSTS_ARE_NAMED);
    }
    Ok(())
}

/// Checks that there is a server on the machine that is to be watched.
fn check_server_host(options: &Options) -> Result<(), Error> {
    let wrong = |text: &str| Err(Error::Usage(text.to_owned()));
    match &options.server_host {
        Some(_) if !names_server(options) => {
            wrong("--server-host is the machine of the server that --server names; without one, leave it out")
        }
        Some(host) if !is_host(host) => wrong(HOW_HOSTS_ARE_NAMED),
        Some(host) if options.hosts.contains(host) => wrong(
            "a machine is in --hosts and is --server-host; how busy the machines of the clients are is told \
             anyway, so leave out --server-host",
        ),
        _ => Ok(()),
    }
}

/// Whether other machines reach all servers.
fn names_server(options: &Options) -> bool {
    let is_url = |arm: &ArmSpec| matches!(arm.target, Target::Url(_));
    options.server.is_some()
        || options.guests_reach.is_some()
        || !options.arms.is_empty() && options.arms.iter().all(is_url)
}

/// Nothing that ssh would take for an option.
fn is_host(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('-')
}

/// Checks that each client has a namespace, from which it reaches the server.
fn check_namespaces(options: &Options) -> Result<(), Error> {
    let wrong = |text: String| Err(Error::Usage(text));
    if options.client_namespaces.is_empty() {
        return Ok(());
    }
    if !Arms::of(options).clients.iter().all(|(kind, _)| kind.is_mounted()) {
        return wrong(
            "--client-namespaces are for mounts; use them with --client kernel or --client fuse, in every arm"
                .to_owned(),
        );
    }
    let clients = most_clients(options);
    let named = match &options.client_namespaces {
        ClientNamespaces::Auto if clients > BridgedNamespaces::COUNT_MAX => {
            let most = BridgedNamespaces::COUNT_MAX;
            return wrong(format!("--client-namespaces auto has room for {most} clients; lower --clients"));
        }
        ClientNamespaces::Auto => return check_root(),
        ClientNamespaces::Named(named) => named,
    };
    if !names_server(options) || options.plan.delays_ms != [0.0] {
        return wrong(
            "a network namespace of the user does not reach a server or a delay of the benchmark's own; \
             use --client-namespaces auto, or name the server with --server and give --rtt-ms 0"
                .to_owned(),
        );
    }
    if clients as usize > named.len() {
        let named = named.len();
        return wrong(format!(
            "{clients} clients need as many network namespaces, and {named} are named; name more, or lower \
             --clients"
        ));
    }
    if named.iter().collect::<BTreeSet<_>>().len() < named.len() {
        return wrong(
            "two clients in one network namespace are one to the server; name each once".to_owned(),
        );
    }
    check_root()
}

/// Checks that network namespaces can be entered.
fn check_root() -> Result<(), Error> {
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    Err(Error::Usage(
        "only root may enter network namespaces; work as root, or leave out --client-namespaces".to_owned(),
    ))
}

/// How many clients work at the same time, at most.
pub(crate) fn most_clients(options: &Options) -> u32 {
    let of = |experiment| points(experiment, options).iter().map(|point| point.setup.clients).max();
    let most = options.plan.experiments.iter().filter_map(of).max().unwrap_or_default();
    options.clients.unwrap_or(most)
}

/// The points of an experiment that this kind of client can carry out.
pub(crate) fn points(experiment: &Experiment, options: &Options) -> Vec<Point> {
    let mut points = points_for(&options.client, experiment, options.plan.size);
    for client in options.arms.iter().filter_map(|arm| arm.client.as_ref()) {
        let own = points_for(client, experiment, options.plan.size);
        points.retain(|point| own.contains(point));
    }
    if options.arms.iter().any(|arm| matches!(arm.target, Target::Directory(_))) {
        points.retain(|point| !point.setup.workload.is_batch());
    }
    points
}

/// As [`points`], of that size.
pub(crate) fn points_for(client: &ClientKind, experiment: &Experiment, size: Size) -> Vec<Point> {
    let mut points = experiment.setup(size).points();
    points.retain(|point| client.has_batches() || !point.setup.workload.is_batch());
    points
}

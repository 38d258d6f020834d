//! `primetime bench` without a subcommand: measures, and prints the table and the verdict.

use std::path::PathBuf;

use bench::agents::Secret;
use bench::experiment::{self, Experiment, Plan, Runs, Size};
use bench::explain::Profile;
use bench::guests::Guests;
use bench::push::{Gateway, push};
use bench::results::{LOCAL, Results};
use bench::runner::{self, ArmSpec, ClientKind, ClientNamespaces, Options, Target};
use bench::security::Security;
use bench::share::parse_share;
use bench::terminal::{Style, summary};
use clap::Args;
use jiff::SignedDuration;

use super::{command_line, own_executable, print, runtime};
use crate::failure::Failure;

/// Runs of each version in each setting where one run takes minutes, or there are many settings.
pub(super) const RUNS_OF_LONG_PLANS: u32 = 5;

/// What to measure.
#[derive(Debug, Args)]
pub(super) struct Measure {
    /// Compare arms instead of versions of one server; give it once for each arm, the baseline first. TARGET
    /// is nfs://host/path with the client's options, builtin (a server that the benchmark starts: exe=PATH
    /// for another executable, serve=--async,… for its options), local (a temporary directory) or a
    /// directory. Options of the arm: version=4.1 (else each of --versions), delegations=off,
    /// client=builtin|fuse|kernel, mount_options=LIST, slower=5% (its values are made worse on purpose, to
    /// see what the benchmark finds). All arms take turns in each block of runs
    #[arg(long = "arm", value_name = "NAME=TARGET[?OPTION&...]", conflicts_with = "server")]
    arms: Vec<ArmSpec>,

    /// Compare only these arms, candidate and baseline, instead of all with the first
    #[arg(long = "pair", value_name = "NAME/NAME", value_parser = pair, requires = "arms")]
    pairs: Vec<(String, String)>,

    /// Compare these securities of requests instead of versions, the baseline first: sys (plain connections),
    /// tls, mtls (TLS with certificates of the clients too). The benchmark's own server has certificates for
    /// them; options of the address of another server name them (tls_ca, tls_cert, tls_key)
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with_all = ["arms", "guests"])]
    security: Vec<Security>,

    /// The server to measure, nfs://host:port/path (port 2049 unless given); without it the benchmark starts
    /// its own on a temporary directory
    #[arg(long, value_name = "URL")]
    server: Option<String>,

    /// The path of the same directory over NFSv3, where the server has another one there: NFS-Ganesha's
    /// pseudo paths, Linux's fsid=0
    #[arg(long, value_name = "PATH", requires = "server")]
    v3_path: Option<String>,

    /// Measure the other versions when the server refuses one, instead of ending with exit code 3
    #[arg(long)]
    allow_missing_versions: bool,

    /// Which client does the work: builtin (called by the benchmark, exact counts), fuse (the same behind a
    /// mount of its own), kernel (this machine's, mounted by mount.nfs; as root), path (no NFS: a directory,
    /// by default a temporary one)
    #[arg(long, value_name = "builtin|fuse|kernel|path[=DIR]", default_value_t)]
    client: ClientKind,

    /// Options for mount.nfs with --client kernel, such as rsize=65536 or nolock
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    mount_options: Vec<String>,

    /// Mount each client in a network namespace of its own (--client kernel or fuse), which makes it a client
    /// of its own to the server: auto, made and removed by the benchmark, for its own server with its delays
    /// and for addresses of this machine other than loopback; or names (ip-netns(8)), at least as many as
    /// clients, with a way to the server. As root
    #[arg(long, value_name = "auto|LIST")]
    client_namespaces: Option<ClientNamespaces>,

    /// Let the clients be Linux kernels in so many guests (user-mode Linux), each with an agent, beside a
    /// server of the benchmark's own: for a machine whose kernel has no NFS, or to have several kernels. As
    /// root; times are those of such guests
    #[arg(
        long,
        value_name = "N",
        conflicts_with_all = ["server", "arms", "hosts", "client_namespaces", "server_host"]
    )]
    guests: Option<u32>,

    /// Machines that the clients run on, in turn: node1 or user@node1 to start an agent there by ssh,
    /// node1:20490 for one that runs (see `bench agent`); without any, this one
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    hosts: Vec<String>,

    /// The machine of the server, named as those of --hosts: an agent there tells how busy its processors and
    /// disks are, of which the reasons and the report say so
    #[arg(long, value_name = "HOST")]
    server_host: Option<String>,

    /// The file with the secret of agents that run
    #[arg(long, value_name = "FILE")]
    agent_secret_file: Option<PathBuf>,

    /// The executable on machines that are reached by ssh
    #[arg(long, value_name = "PATH", default_value = "primetime")]
    agent_command: String,

    /// Only this experiment: a built-in one (see `bench list`) or a file of one's own; may be given again
    #[arg(long = "experiment", value_name = "NAME|FILE")]
    experiments: Vec<String>,

    /// Fewer experiments, delays and runs: at most 40 seconds
    #[arg(long, conflicts_with = "paper")]
    quick: bool,

    /// Every built-in experiment instead of the standard ones; with --quick each in its smallest size, once
    #[arg(long, conflicts_with = "experiments")]
    all: bool,

    /// The sizes that were published: large files, five minutes for each run
    #[arg(long)]
    paper: bool,

    /// What was published, with fewer and smaller files: minutes instead of hours (see `bench study`)
    #[arg(long, conflicts_with_all = ["paper", "quick"])]
    scaled: bool,

    /// What the verdict weighs, and so what is measured unless --experiment or --all say it: even,
    /// home-directories, build, vm-images, database, media, web or mail; or weights of experiments, as in
    /// create=2,random-read=1 [default: even]
    #[arg(long, value_name = "NAME|WEIGHTS", value_parser = Profile::parse)]
    profile: Option<Profile>,

    /// Versions to measure; version 3 is what the others are compared with [default: 3,4.1]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    versions: Vec<String>,

    /// Round-trip delays to add, in milliseconds [default: 0,1,10; with --quick 0,10]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    rtt_ms: Vec<f64>,

    /// Runs of each version in each setting, instead of as many as it takes to decide the comparisons
    #[arg(long, value_name = "N", conflicts_with = "time")]
    runs: Option<u32>,

    /// How long it may go on until all comparisons are decided, such as 90s, 3m or 1h; what is measured at
    /// least may take longer [default: 3m; with --quick 40s; --paper and --all have five runs of each, or
    /// one]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    time: Option<u32>,

    /// Versions whose ratio is within this share of 1 count as the same
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = parse_share)]
    same_within: f64,

    /// Clients at the same time, instead of each experiment's own number (5 in most)
    #[arg(long, value_name = "N")]
    clients: Option<u32>,

    /// Measure each version that has delegations also without them
    #[arg(long)]
    without_delegations: bool,

    /// Where results.json, report.html and the CSV files go; results of another plan that are there are put
    /// into earlier-1 and so on
    #[arg(long, value_name = "DIR", default_value = "primetime-report")]
    out: PathBuf,

    /// Go on with a benchmark that was interrupted, from its complete blocks in --out; with the same options
    /// as before
    #[arg(long)]
    resume: bool,

    /// Also remove from the server what benchmarks of other machines have left there, or may still be using
    #[arg(long)]
    clean: bool,

    /// Show in the whole terminal what happens while it measures: rates, latencies and clients of the run
    /// under way, what was measured so far, the time left; q or Ctrl-C stop and keep what is complete. It is
    /// drawn on standard error; where that is no terminal, or TERM is dumb, a sentence says so and progress
    /// is shown as without
    #[arg(long)]
    live: bool,

    /// Print results.json instead of the table
    #[arg(long)]
    json: bool,

    /// Also push the results to a Prometheus Pushgateway, http://host:9091 or with a path /metrics/job/NAME;
    /// that it cannot be done is told, and changes no result and no exit code
    #[arg(long, value_name = "URL")]
    push: Option<Gateway>,

    /// Search for a difference of this size, instead of going on until `time` is used up.
    #[arg(skip)]
    detect: Option<f64>,

    /// The seed of every random choice; the same seed gives the same files and the same order of runs
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// Measures, and prints what was found.
pub(super) fn run(measure: Measure) -> Result<(), Failure> {
    measured(measure).map(drop)
}

/// As [`run`], and returns what was found.
pub(super) fn measured(measure: Measure) -> Result<Results, Failure> {
    let (json, out, gateway) = (measure.json, measure.out.clone(), measure.push.clone());
    let guests = measure.guests;
    let mut options = options(measure)?;
    let results = match guests {
        None => run_here(options)?,
        Some(count) => {
            let guests = Guests::boot(count, &own_executable()?).map_err(Failure::set_up)?;
            (options.hosts, options.agent_secret) = (guests.hosts(), Some(guests.secret()));
            options.guests_reach = Some(guests.server_address());
            options.guests_lock = guests.have_lock_services();
            guests.inside(|| run_here(options)).map_err(Failure::set_up)??
        }
    };
    if let Some(gateway) = gateway {
        // The results are whole without it.
        if let Err(error) = runtime()?.block_on(push(&results, &gateway)) {
            let _ = Failure::refused(error).report();
        }
    }
    if json {
        let text = serde_json::to_string_pretty(&results).map_err(Failure::invalid_run)?;
        print(&format!("{text}\n"))?;
        return Ok(results);
    }
    print(&format!(
        "{}\nThe report is {}\n",
        summary(&results, Style::of_stdout()),
        out.join("report.html").display()
    ))?;
    Ok(results)
}

/// Measures in the network of this thread.
fn run_here(options: Options) -> Result<Results, Failure> {
    runtime()?.block_on(runner::run(options)).map_err(|error| {
        if error.is_invalid_run() { Failure::invalid_run(error) } else { Failure::set_up(error) }
    })
}

impl Measure {
    /// Compares these two arms instead of whatever was asked for.
    pub(super) fn compare(&mut self, arms: [ArmSpec; 2]) {
        self.arms = arms.into();
    }

    /// Goes on until a difference of `share` would have been found.
    pub(super) fn detect(&mut self, share: f64) {
        self.detect = Some(share);
    }
}

fn options(measure: Measure) -> Result<Options, Failure> {
    let serve_command = match measure.server {
        Some(_) => None,
        None => Some(own_executable()?),
    };
    let client = client(&measure);
    let plan = plan(&measure)?;
    let arms = arms(&measure, &plan)?;
    Ok(Options {
        plan,
        arms,
        pairs: measure.pairs,
        server: measure.server,
        path_of_v3: measure.v3_path,
        allow_missing_versions: measure.allow_missing_versions,
        serve_command,
        without_delegations: measure.without_delegations,
        client,
        guests_reach: None,
        guests_lock: false,
        mount_options: measure.mount_options,
        client_namespaces: measure.client_namespaces.unwrap_or_default(),
        hosts: measure.hosts,
        server_host: measure.server_host,
        agent_secret: measure
            .agent_secret_file
            .as_deref()
            .map(Secret::read)
            .transpose()
            .map_err(Failure::set_up)?,
        agent_command: measure.agent_command,
        clients: measure.clients,
        out: measure.out,
        seed: measure.seed,
        resume: measure.resume,
        profile: measure.profile.unwrap_or_default(),
        live: measure.live,
        clean: measure.clean,
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        command_line: command_line(),
    })
}

/// The arms that were named, or those of the securities that were named or that the experiments compare.
fn arms(measure: &Measure, plan: &Plan) -> Result<Vec<ArmSpec>, Failure> {
    if !measure.arms.is_empty() {
        return Ok(measure.arms.clone());
    }
    let of_experiments: Vec<&Vec<Security>> = plan.experiments.iter().map(|one| &one.security).collect();
    let securities = match (&measure.security[..], &of_experiments[..]) {
        ([], []) => &[],
        ([], [first, rest @ ..]) if rest.iter().all(|other| other == first) => &first[..],
        ([], _) => {
            return Err(Failure::invalid_run(
                "the experiments compare different securities; name those to compare with --security",
            ));
        }
        (named, _) => named,
    };
    Ok(securities.iter().map(|security| security.arm(measure.server.as_deref())).collect())
}

/// Guests have kernels.
fn client(measure: &Measure) -> ClientKind {
    if measure.guests.is_some() { ClientKind::Kernel } else { measure.client.clone() }
}

fn plan(measure: &Measure) -> Result<Plan, Failure> {
    let mut plan = match (measure.all, measure.quick) {
        (true, true) => Plan::all(),
        (false, true) => Plan::quick(),
        (true, false) => Plan { experiments: experiment::comparing_versions(), ..Plan::standard() },
        (false, false) => Plan::standard(),
    };
    if measure.paper {
        plan.size = Size::Paper;
    }
    if measure.scaled {
        plan.size = Size::Scaled;
    }
    if !measure.experiments.is_empty() {
        let found: Result<Vec<Experiment>, _> =
            measure.experiments.iter().map(|name| experiment::find(name)).collect();
        plan.experiments = found.map_err(Failure::set_up)?;
    } else if let Some(weights) = measure.profile.as_ref().and_then(Profile::weights).filter(|_| !measure.all)
    {
        let weighed = weights.iter().filter(|(_, weight)| **weight > 0.0);
        let found: Result<Vec<Experiment>, _> = weighed.map(|(name, _)| experiment::find(name)).collect();
        plan.experiments = found.map_err(Failure::set_up)?;
    }
    if !measure.versions.is_empty() {
        plan.versions.clone_from(&measure.versions);
    }
    if !measure.rtt_ms.is_empty() {
        plan.delays_ms.clone_from(&measure.rtt_ms);
    }
    plan.same_within = measure.detect.unwrap_or(measure.same_within);
    plan.runs = match (measure.runs, measure.time) {
        _ if measure.detect.is_some() => Runs::UntilFound { seconds: measure.time },
        (Some(runs), _) => Runs::Fixed(runs),
        (None, Some(seconds)) => Runs::UntilDecided { seconds },
        (None, None) if (measure.paper || measure.all) && !measure.quick => Runs::Fixed(RUNS_OF_LONG_PLANS),
        (None, None) => plan.runs,
    };
    let is_directory = matches!(measure.client, ClientKind::Path(_));
    if is_directory && measure.versions.is_empty() {
        plan.versions = vec![LOCAL.to_owned()];
    }
    let works_here = |arm: &ArmSpec| matches!(arm.target, Target::Directory(_));
    let is_elsewhere = measure.guests.is_some() || !measure.hosts.is_empty();
    let has_own_network = is_directory || is_elsewhere || measure.arms.iter().any(works_here);
    if has_own_network && measure.rtt_ms.is_empty() {
        plan.delays_ms = vec![0.0];
    }
    Ok(plan)
}

/// A time such as "90s" or "3m", in whole seconds.
fn seconds(text: &str) -> Result<u32, String> {
    let wrong = || format!("`{text}` is no time; write it as 90s, 3m or 1h");
    let time: SignedDuration = text.parse().map_err(|_| wrong())?;
    u32::try_from(time.as_secs()).ok().filter(|seconds| *seconds > 0).ok_or_else(wrong)
}

/// Two arms such as "new/old", candidate and baseline.
fn pair(text: &str) -> Result<(String, String), String> {
    let names =
        text.split_once('/').filter(|(candidate, baseline)| !candidate.is_empty() && !baseline.is_empty());
    let (candidate, baseline) = names.ok_or_else(|| format!("`{text}` is no pair; write it as NEW/OLD"))?;
    Ok((candidate.to_owned(), baseline.to_owned()))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::commands::bench::Arguments;

    #[derive(Debug, Parser)]
    struct Cli {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn planned(words: &str) -> Plan {
        let cli = Cli::try_parse_from(std::iter::once("bench").chain(words.split_whitespace())).unwrap();
        plan(&cli.arguments.measure).unwrap()
    }

    #[test]
    fn without_arguments_everything_is_measured() {
        assert_eq!(planned(""), Plan::standard());
        assert_eq!(planned("--quick"), Plan::quick());
    }

    #[test]
    fn named_experiments_replace_the_plan() {
        let plan = planned(
            "--experiment create --experiment locked-read --rtt-ms 0,2.5 --runs 4 --versions 3,4.1 --paper",
        );
        let names: Vec<_> = plan.experiments.iter().map(|experiment| experiment.name.as_str()).collect();
        assert_eq!(names, ["create", "locked-read"]);
        assert_eq!((plan.delays_ms, plan.runs, plan.size), (vec![0.0, 2.5], Runs::Fixed(4), Size::Paper));
    }

    #[test]
    fn an_unknown_experiment_is_answered_with_the_nearest() {
        let cli = Cli::try_parse_from(["bench", "--experiment", "craete"]).unwrap();
        let failure = plan(&cli.arguments.measure).unwrap_err();
        assert!(format!("{failure:?}").contains("did you mean `create`?"), "{failure:?}");
    }

    #[test]
    fn all_means_every_experiment() {
        assert_eq!(planned("--all --quick"), Plan::all());
        let plan = planned("--all --runs 2");
        assert_eq!((plan.experiments, plan.runs), (experiment::comparing_versions(), Runs::Fixed(2)));
    }

    #[test]
    fn a_directory_has_no_versions_and_no_delays() {
        let plan = planned("--client path=/srv --quick");
        assert_eq!((plan.versions, plan.delays_ms), (vec![LOCAL.to_owned()], vec![0.0]));
        assert_eq!(planned("--client fuse --quick"), Plan::quick());
    }

    #[test]
    fn quick_and_paper_exclude_each_other() {
        assert!(Cli::try_parse_from(["bench", "--quick", "--paper"]).is_err());
    }
}

//! One run: fresh clients, all together, and what they did.

use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::Error;
use super::arm::Arm;
use super::clients::Clients;
use super::crew::{self, Crew};
use super::link::Link;
use super::lock_counts::LockCounts;
use super::placed::Placed;
use super::stop::Stop;
use super::target::Server;
use super::window::{Outcome, Quantity, Recording, outcome};
use super::{cache_state, calibration};
use crate::agents::{Hosts, Job, Lost, ServerHost, Watch, Worked};
use crate::experiment::{Setup, Size};
use crate::results::{Form, Run, named};
use crate::run_part::{Conductor, Curves, PartUsage};
use crate::text::percent;
use crate::workload::{self, Address, Counters, Curve, Meters, Part, WorkDirectory};

/// How much longer than its own limit a run may take before it is given up: getting ready, the operation
/// under way.
const PATIENCE: Duration = Duration::from_secs(120);

/// Other programs that use more of the processors than this disturb a run.
const OTHERS_SHARE_MAX: f64 = 0.25;
/// Other machines of the same host that take more than this disturb a run.
const STOLEN_SHARE_MAX: f64 = 0.05;
/// The kernel counts in ticks of 10 ms: shorter runs have too few of them.
const TOLD_FROM_SECONDS: f64 = 0.08;

/// The timeout for destroying sessions after a stop was requested.
const LAST_WORDS_WITHIN: Duration = Duration::from_millis(500);

/// Clients that use more of the processors than this measure themselves.
const BUSY_SHARE_MAX: f64 = 0.8;

/// What all runs of an experiment have in common.
pub(crate) struct Trial<'a> {
    pub(crate) placed: &'a Placed<'a>,
    /// The servers and the kinds of clients of all arms.
    pub(crate) servers: &'a [Server],
    pub(crate) clients: &'a [Arc<Clients>],
    pub(crate) stop: &'a Stop,
    /// Where the clients are, unless they are here.
    pub(crate) hosts: Option<&'a Hosts>,
    /// The machine of the server, where an agent tells of it.
    pub(crate) server_host: Option<&'a ServerHost>,
    /// Which of the experiment's sizes this is.
    pub(crate) size: Size,
}

/// Which run it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Number {
    /// The block that it belongs to.
    pub(crate) block: u32,
    /// Its number among all runs of the experiment, from 1.
    pub(crate) run: u64,
}

impl Trial<'_> {
    pub(crate) fn setup(&self) -> &Setup {
        &self.placed.point.setup
    }

    /// The experiment with its levels, as it is shown to people.
    pub(crate) fn name(&self) -> String {
        named(&self.placed.experiment.name, &self.placed.point.levels)
    }

    /// Makes the directory of the experiment on each server, and the files that all its runs share.
    pub(crate) async fn prepare(&self, arms: &[Arm]) -> Result<(), Error> {
        for (index, server) in self.servers.iter().enumerate() {
            let arm = arms.iter().find(|arm| arm.server == index).map(Arm::name).unwrap_or_default();
            let failed = |error| Error::workload(&self.placed.experiment.name, &arm, &error);
            let (witness, place) = (&server.witness, &self.placed.places[index]);
            witness.make_directory(&place.directory).await.map_err(failed)?;
            workload::prepare(&self.setup().workload, witness, place).await.map_err(failed)?;
        }
        Ok(())
    }

    pub(crate) fn server(&self, arm: &Arm) -> &Server {
        &self.servers[arm.server]
    }

    pub(crate) fn clients(&self, arm: &Arm) -> &Arc<Clients> {
        &self.clients[arm.client]
    }

    fn place(&self, arm: &Arm) -> &WorkDirectory {
        &self.placed.places[arm.server]
    }

    /// Measures `arm` once, through `link`; gives a run for each part that is measured. Threads tell `meters`
    /// of their work, if any.
    pub(crate) async fn run(
        &self,
        arm: &Arm,
        link: &Link,
        number: Number,
        meters: Option<Arc<Meters>>,
    ) -> Result<Vec<Run>, Error> {
        let failed =
            |error: &workload::Error| Error::workload(&self.placed.experiment.name, &arm.name(), error);
        let workload = &self.setup().workload;
        let preparing = async {
            let place = (&self.server(arm).witness, self.place(arm));
            workload::prepare_run(workload, place.0, place.1, number.run)
                .await
                .map_err(|error| failed(&error))
        };
        self.stop.or(preparing).await?;
        let mut watch = Watch::new(self.server_host, self.server(arm).possible_exports());
        let metrics = self.server(arm).metrics();
        let metrics = metrics.filter(|_| self.clients(arm).counts_locks_of(arm.version()));
        let mut counts = LockCounts::new(metrics, &mut watch);
        let before_ms = self.hosts.is_none().then(calibration::look);
        let mut worked = match self.hosts {
            None => self.work_here(arm, link, number, meters, &mut counts).await?,
            Some(hosts) => self.work_there(hosts, arm, number, &mut counts).await?,
        };
        let lock_requests = counts.of_parts(worked.parts.len()).unwrap_or_else(|cause| {
            worked.doubts.push(format!("NLM requests are missing, as the server's counts failed: {cause}."));
            vec![Default::default(); worked.parts.len()]
        });
        let calibration_ms = before_ms.map(|before_ms| [before_ms, calibration::look()]);
        for ((seen, _), load) in worked.parts.iter_mut().zip(watch.loads()?) {
            seen.add_server_load(load);
        }
        self.stop
            .or(async {
                let place = (&self.server(arm).witness, self.place(arm));
                let removed = workload::remove_run(workload, place.0, place.1, number.run);
                removed.await.map_err(|error| failed(&error))
            })
            .await?;
        let parts = self.placed.parts.iter().zip(worked.parts.iter().zip(lock_requests));
        let run_of_part = |(part, (done, lock_requests))| {
            let mut run = self.run_of_part(part, done, arm, number, &link.address)?;
            // After the means of the kernel's times, which are of the requests that it counts itself.
            run.rpcs.extend(lock_requests);
            run.doubts.extend_from_slice(&worked.doubts);
            run.calibration_ms = calibration_ms;
            Ok(run)
        };
        parts.filter(|(part, _)| part.measured).map(run_of_part).collect()
    }

    fn run_of_part(
        &self,
        part: &Part,
        (seen, curves): &(PartUsage, Curves),
        arm: &Arm,
        number: Number,
        address: &Address,
    ) -> Result<Run, Error> {
        let unit = part.unit.as_ref().unwrap_or(&self.placed.experiment.metric.unit);
        let quantity = Quantity::of_unit(&self.placed.experiment.name, unit)?;
        let recording = match self.has_timeline() {
            true => Recording::Clients { fetched: seen.fetched.as_ref() },
            false => Recording::Together,
        };
        let client_hosts = self.hosts_of(curves);
        let curves: Vec<Vec<Curve>> = curves.values().cloned().collect();
        let mut outcome = outcome(&curves, quantity, self.stagger(), recording).ok_or_else(|| {
            Error::Nothing { experiment: self.placed.experiment.name.clone(), arm: arm.name() }
        })?;
        if arm.planted > 0.0 {
            outcome.value = self.placed.experiment.metric.better.worse_by(outcome.value, arm.planted);
            outcome.doubts.push(format!("Its value was made {} worse on purpose.", percent(arm.planted)));
        }
        if seen.busy > BUSY_SHARE_MAX {
            outcome.doubts.push("The clients used more than 80 % of the processors.".to_owned());
        }
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
        let by_others = seen.resources.and_then(|used| used.used_by_others(outcome.seconds, processors));
        if by_others.is_some_and(|share| share > OTHERS_SHARE_MAX) && outcome.seconds >= TOLD_FROM_SECONDS {
            outcome.doubts.push("Something else used more than a quarter of the processors.".to_owned());
        }
        let stolen = seen.resources.and_then(|used| used.stolen);
        if stolen.is_some_and(|share| share > STOLEN_SHARE_MAX) && outcome.seconds >= TOLD_FROM_SECONDS {
            outcome
                .doubts
                .push("Other machines of the same host took more than 5 % of the processors.".to_owned());
        }
        if seen.counters.unanswered > 0 {
            outcome.doubts.push("Some requests were never answered.".to_owned());
        }
        let mut run =
            Run { resources: seen.resources, client_hosts, ..run_of(number.block, outcome, &seen.counters) };
        if address.directory().is_none() {
            run.doubts.extend(cache_state::doubt(&self.setup().workload, &run));
        }
        Ok(run)
    }

    /// The host of each client that worked; none where all are here.
    fn hosts_of(&self, curves: &Curves) -> Vec<String> {
        let worked = curves.iter().filter(|(_, threads)| !threads.is_empty());
        let hosts = self.hosts.map(|hosts| worked.map(|(client, _)| hosts.of_client(*client).to_owned()));
        hosts.map(Iterator::collect).unwrap_or_default()
    }

    /// By clients of this machine. They connect and take leave without the delay: the time for it is better
    /// spent on more runs.
    async fn work_here(
        &self,
        arm: &Arm,
        link: &Link,
        number: Number,
        meters: Option<Arc<Meters>>,
        conductor: &mut impl Conductor,
    ) -> Result<Worked, Error> {
        let failed =
            |error: workload::Error| Error::workload(&self.placed.experiment.name, &arm.name(), &error);
        let numbers = 0..self.setup().clients;
        let connecting = async {
            crew::connect(self.clients(arm), numbers, (arm, self.setup()), &link.address)
                .await
                .map_err(failed)
        };
        link.set_delayed(false).await;
        let mounts = match self.clients(arm).kind().is_mounted() {
            // A mount that is half made is to be finished, to be taken away.
            true => connecting.await,
            false => self.stop.or(connecting).await,
        };
        link.set_delayed(true).await;
        let mounts = mounts?;
        let crew = Crew {
            workload: &self.setup().workload,
            parts: &self.placed.parts,
            place: self.place(arm),
            witness: &self.server(arm).witness,
            stagger: self.stagger(),
            number,
            meters,
            server: self.server(arm).process(),
            export: self.server(arm).export().map(Path::to_owned),
            records_reads: self.has_timeline(),
        };
        let stuck = |seconds| workload::Error::Stuck { seconds };
        let working = self.in_time(crew.work(&mounts, conductor), stuck);
        let working = self.unless_server_host_is_lost(Box::pin(async { working.await.map_err(failed) }));
        let worked = self.stop.or(working).await;
        // A mount that stayed would have to be taken away by hand; a client without one may be cut off.
        let is_cut_off = self.stop.is_asked() && !self.clients(arm).kind().is_mounted();
        let within = if is_cut_off { LAST_WORDS_WITHIN } else { crew::SHUT_DOWN_WITHIN };
        link.set_delayed(false).await;
        crew::shut_down(mounts, within).await;
        link.set_delayed(true).await;
        worked.map(|parts| Worked { parts, doubts: Vec::new() })
    }

    /// By clients of other machines.
    async fn work_there(
        &self,
        hosts: &Hosts,
        arm: &Arm,
        number: Number,
        conductor: &mut impl Conductor,
    ) -> Result<Worked, Error> {
        let job = Job {
            experiment: self.placed.experiment.source.clone(),
            size: self.size,
            point: self.placed.nth,
            clients: self.setup().clients,
            numbers: Vec::new(),
            directory: self.place(arm).directory.clone(),
            seed: self.place(arm).seed,
            server: self.server(arm).address.to_string(),
            path_of_v3: self.server(arm).address.path_of_v3().map(str::to_owned),
            version: arm.version().to_owned(),
            delegations: arm.id.delegations,
            client: self.clients(arm).kind().to_string(),
            mount_options: self.clients(arm).mount_options().to_vec(),
            run: number.run,
            block: number.block,
        };
        let stuck = |seconds| Lost::stuck(seconds);
        let working = self.in_time(hosts.work(&job, self.placed.parts.len(), conductor), stuck);
        let failed = |lost: Lost| lost.into_error(&self.placed.experiment.name, &arm.name());
        let working = self.unless_server_host_is_lost(Box::pin(async { working.await.map_err(failed) }));
        self.stop.or(working).await
    }

    async fn unless_server_host_is_lost<T>(
        &self,
        working: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let Some(host) = self.server_host else { return working.await };
        tokio::select! {
            worked = working => worked,
            lost = host.lost() => Err(lost),
        }
    }

    /// What `working` gives, unless it takes far longer than the workload's own limit.
    async fn in_time<T, E>(
        &self,
        working: impl Future<Output = Result<T, E>>,
        stuck: impl FnOnce(u64) -> E,
    ) -> Result<T, E> {
        let seconds = self.setup().seconds();
        let Some(limit) = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()) else {
            return working.await;
        };
        let patience = limit + PATIENCE;
        tokio::time::timeout(patience, working).await.unwrap_or_else(|_| Err(stuck(patience.as_secs())))
    }

    /// Whether the experiment's figure shows rates over time.
    fn has_timeline(&self) -> bool {
        self.placed.experiment.figure.form == Form::Timeline
    }

    fn stagger(&self) -> Duration {
        Duration::try_from_secs_f64(self.setup().stagger_seconds).unwrap_or_default()
    }
}

fn run_of(block: u32, outcome: Outcome, counters: &Counters) -> Run {
    let mean_ms = |time: Duration| time.as_secs_f64() * 1000.0 / counters.requests_total().max(1) as f64;
    Run {
        block,
        value: outcome.value,
        seconds: outcome.seconds,
        operations: outcome.operations,
        application_bytes: outcome.application_bytes,
        application_read_bytes: outcome.application_read_bytes,
        read_bytes: counters.read_bytes,
        compound_operations: counters.compound_operations.clone(),
        callbacks: counters.callbacks.clone(),
        latency_ms: outcome.latency_ms,
        latency_histogram: outcome.latency_histogram,
        timeline: outcome.timeline,
        calibration_ms: None,
        rpcs: counters.requests.clone(),
        wire_bytes: counters.wire_bytes,
        queue_ms: mean_ms(counters.queued),
        wire_ms: mean_ms(counters.wire),
        resources: None,
        start_skew_ms: outcome.start_skew_ms,
        client_values: outcome.client_values,
        client_hosts: Vec::new(),
        fairness: outcome.fairness,
        doubts: outcome.doubts,
    }
}

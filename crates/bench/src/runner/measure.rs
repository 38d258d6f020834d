//! One run: fresh clients, all together, and what they did.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use super::Error;
use super::arm::Arm;
use super::cache_state;
use super::clients::Clients;
use super::machine::Machine;
use super::stop::Stop;
use super::target::Server;
use super::window::{Outcome, Quantity, outcome};
use crate::experiment::{Experiment, Setup};
use crate::results::{Form, Resources, Run};
use crate::workload::{self, Address, Counters, Curve, Gate, Habits, Mount, Part, Place, Station, threads};

/// How much longer than its own limit a run may take before it is given up: getting ready, the operation under way.
const PATIENCE: Duration = Duration::from_secs(120);

/// Time for saying good-bye.
const SHUT_DOWN_WITHIN: Duration = Duration::from_secs(10);
/// Clients that use more of the processors than this measure themselves.
const BUSY_SHARE_MAX: f64 = 0.8;

/// What all runs of an experiment have in common.
pub(crate) struct Trial<'a> {
    pub(crate) experiment: &'a Experiment,
    pub(crate) levels: &'a BTreeMap<String, String>,
    pub(crate) setup: &'a Setup,
    pub(crate) parts: &'a [Part],
    pub(crate) place: Place,
    pub(crate) server: &'a Server,
    pub(crate) clients: &'a Arc<Clients>,
    pub(crate) stop: &'a Stop,
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
    /// Makes the directory of the experiment and the files that all its runs share.
    pub(crate) async fn prepare(&self, arm: &Arm) -> Result<(), Error> {
        let failed = |error| Error::workload(&self.experiment.name, &arm.name(), &error);
        let witness = &self.server.witness;
        witness.make_directory(&self.place.directory).await.map_err(failed)?;
        workload::prepare(&self.setup.workload, witness, &self.place).await.map_err(failed)
    }

    /// Measures `arm` once, through the link that ends at `address`; gives a run for each part that is measured.
    pub(crate) async fn run(&self, arm: &Arm, address: &Address, number: Number) -> Result<Vec<Run>, Error> {
        let failed = |error: &workload::Error| Error::workload(&self.experiment.name, &arm.name(), error);
        let workload = &self.setup.workload;
        workload::prepare_run(workload, &self.server.witness, &self.place, number.run)
            .await
            .map_err(|error| failed(&error))?;
        let mounts = self.connect(arm, address).await.map_err(|error| failed(&error))?;
        // Clients are shut down whatever happens: a server waits long for those that hold something and are gone.
        let measured = self
            .stop
            .or(async { self.measure_in_time(&mounts, number).await.map_err(|error| failed(&error)) });
        let measured = measured.await;
        shut_down(mounts).await;
        let seen = measured?;
        self.stop
            .or(async {
                let removed = workload::remove_run(workload, &self.server.witness, &self.place, number.run);
                removed.await.map_err(|error| failed(&error))
            })
            .await?;
        let parts = self.parts.iter().zip(&seen).filter(|(part, _)| part.measured);
        parts.map(|(part, seen)| self.run_of_part(part, seen, arm, number, address)).collect()
    }

    fn run_of_part(
        &self,
        part: &Part,
        seen: &Seen,
        arm: &Arm,
        number: Number,
        address: &Address,
    ) -> Result<Run, Error> {
        let unit = part.unit.as_ref().unwrap_or(&self.experiment.metric.unit);
        let quantity = Quantity::of_unit(&self.experiment.name, unit)?;
        let with_timeline = self.experiment.figure.form == Form::Timeline;
        let mut outcome = outcome(&seen.curves, quantity, self.stagger(), with_timeline)
            .ok_or_else(|| Error::Nothing { experiment: self.experiment.name.clone(), arm: arm.name() })?;
        if seen.busy > BUSY_SHARE_MAX {
            outcome.doubts.push("The clients used more than 80 % of the processors.".to_owned());
        }
        if seen.counters.unanswered > 0 {
            outcome.doubts.push("Some requests were never answered.".to_owned());
        }
        let mut run = Run { resources: seen.resources, ..run_of(number.block, outcome, &seen.counters) };
        if address.directory().is_none() {
            run.doubts.extend(cache_state::doubt(&self.setup.workload, &run));
        }
        Ok(run)
    }

    /// Fresh clients, connected at the same time, in the order of their numbers.
    async fn connect(&self, arm: &Arm, address: &Address) -> Result<Vec<Arc<Mount>>, workload::Error> {
        let mut connecting = JoinSet::new();
        for number in 0..self.setup.clients {
            let (address, arm) = (address.clone(), arm.clone());
            let Setup { readahead, data_cache, .. } = *self.setup;
            let habits = Habits { readahead, data_cache, ..arm.habits() };
            let clients = self.clients.clone();
            connecting.spawn(async move { (number, clients.connect(&address, &arm, habits, number).await) });
        }
        let mut mounts = BTreeMap::new();
        while let Some(ended) = connecting.join_next().await {
            let (number, connected) = ended.map_err(|error| workload::Error::Thread(error.to_string()))?;
            mounts.insert(number, Arc::new(connected?));
        }
        Ok(mounts.into_values().collect())
    }

    /// As [`Trial::measure`], given up when it takes far longer than the workload's own limit.
    async fn measure_in_time(
        &self,
        mounts: &[Arc<Mount>],
        number: Number,
    ) -> Result<Vec<Seen>, workload::Error> {
        let seconds = self.setup.seconds();
        let Some(limit) = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()) else {
            return self.measure(mounts, number).await;
        };
        let patience = limit + PATIENCE;
        tokio::time::timeout(patience, self.measure(mounts, number))
            .await
            .unwrap_or(Err(workload::Error::Stuck { seconds: patience.as_secs() }))
    }

    fn stagger(&self) -> Duration {
        Duration::try_from_secs_f64(self.setup.stagger_seconds).unwrap_or_default()
    }

    /// Lets all clients work.
    async fn measure(&self, mounts: &[Arc<Mount>], number: Number) -> Result<Vec<Seen>, workload::Error> {
        let workload = &self.setup.workload;
        let gates: Vec<Gate> =
            self.parts.iter().map(|part| Gate::new(part.waiting(self.setup.clients))).collect();
        let mut clients = JoinSet::new();
        for (mount, client) in mounts.iter().zip(0..) {
            let station = Station {
                place: self.place.clone(),
                mount: mount.clone(),
                witness: self.server.witness.clone(),
                client,
                run: number.run,
                block: number.block,
                gates: gates.clone(),
                stagger: self.stagger(),
            };
            let workload = workload.clone();
            let mount = mount.clone();
            let work = workload::run(workload, station);
            clients.spawn(async move { (client, threads::run(&mount, work).await) });
        }
        let server = self.server.process();
        let look = || Look::at(mounts, server);
        let mut curves = BTreeMap::new();
        let mut looks = Vec::new();
        for gate in &gates {
            let before = unless_one_fails(&mut clients, &mut curves, gate.pass(look)).await?;
            let after = unless_one_fails(&mut clients, &mut curves, gate.pass(look)).await?;
            looks.push((before, after));
        }
        while let Some(ended) = clients.join_next().await {
            let (client, outcome) = ended.map_err(|error| workload::Error::Thread(error.to_string()))?;
            curves.insert(client, outcome?);
        }
        let seen = looks.iter().enumerate().map(|(part, (before, after))| Seen {
            curves: curves.values().filter_map(|parts: &Vec<Vec<Curve>>| parts.get(part).cloned()).collect(),
            busy: after.machine.own_share(&before.machine),
            resources: after.machine.since(&before.machine),
            counters: after.since(before),
        });
        Ok(seen.collect())
    }
}

/// What one part of a run showed.
struct Seen {
    /// Of all threads, by client.
    curves: Vec<Vec<Curve>>,
    /// What crossed the network on all clients together.
    counters: Counters,
    /// The share of the processors that the clients used.
    busy: f64,
    /// What was used of this machine.
    resources: Option<Resources>,
}

/// Counters and clocks at one moment.
struct Look {
    counters: Vec<Counters>,
    machine: Machine,
}

impl Look {
    fn at(mounts: &[Arc<Mount>], server: Option<u32>) -> Self {
        Self {
            counters: mounts.iter().map(|mount| mount.counters()).collect(),
            machine: Machine::look(server),
        }
    }

    fn since(&self, earlier: &Self) -> Counters {
        earlier.counters.iter().zip(&self.counters).map(|(before, after)| after.since(before)).sum()
    }
}

/// The curves of each client's threads, by part.
type Running = JoinSet<(u32, Result<Vec<Vec<Curve>>, workload::Error>)>;

/// What `passing` gives, unless a client fails before: then its error, as the others would wait for it for ever. A client
/// that the last thread at the gate belongs to may be done with everything before we hear that the gate is open;
/// what it has goes into `done`.
async fn unless_one_fails<T>(
    clients: &mut Running,
    done: &mut BTreeMap<u32, Vec<Vec<Curve>>>,
    passing: impl Future<Output = T>,
) -> Result<T, workload::Error> {
    let mut passing = std::pin::pin!(passing);
    loop {
        tokio::select! {
            biased;
            passed = &mut passing => return Ok(passed),
            Some(ended) = clients.join_next() => {
                let (client, outcome) = ended.map_err(|error| workload::Error::Thread(error.to_string()))?;
                done.insert(client, outcome?);
            }
        }
    }
}

async fn shut_down(mounts: Vec<Arc<Mount>>) {
    let mut tasks = JoinSet::new();
    for mount in mounts {
        tasks.spawn(async move { mount.shut_down().await });
    }
    let all = async { while tasks.join_next().await.is_some() {} };
    // A server that no longer answers must not keep the benchmark from ending.
    let _ = tokio::time::timeout(SHUT_DOWN_WITHIN, all).await;
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
        timeline: outcome.timeline,
        rpcs: counters.requests.clone(),
        wire_bytes: counters.wire_bytes,
        queue_ms: mean_ms(counters.queued),
        wire_ms: mean_ms(counters.wire),
        resources: None,
        start_skew_ms: outcome.start_skew_ms,
        client_values: outcome.client_values,
        fairness: outcome.fairness,
        doubts: outcome.doubts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_client_that_is_done_before_the_gate_is_heard_of_has_not_failed() {
        let mut clients: Running = JoinSet::new();
        clients.spawn(async { (7, Ok(Vec::new())) });
        let mut done = BTreeMap::new();
        let late = async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            "open"
        };
        assert_eq!(unless_one_fails(&mut clients, &mut done, late).await.unwrap(), "open");
        assert_eq!(done.keys().copied().collect::<Vec<_>>(), [7]);
        clients.spawn(async { (8, Err(workload::Error::Thread("broken".to_owned()))) });
        let never = std::future::pending::<()>();
        assert!(unless_one_fails(&mut clients, &mut done, never).await.is_err());
    }
}

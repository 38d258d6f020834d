//! The clients of one run that are on this machine: they connect, begin and end together, and are counted
//! from gate to gate.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use super::arm::Arm;
use super::clients::Clients;
use super::fetched::Fetched;
use super::machine::Machine;
use super::measure::Number;
use crate::experiment::{Setup, Workload};
use crate::run_part::{Conductor, Curves, PartUsage};
use crate::workload::{
    self, Address, Counters, Curve, Gate, Habits, Meters, Mount, Part, Station, WorkDirectory, threads,
};

/// Time for saying good-bye.
pub(crate) const SHUT_DOWN_WITHIN: Duration = Duration::from_secs(10);

/// What the clients have in common.
pub(crate) struct Crew<'a> {
    pub(crate) workload: &'a Workload,
    pub(crate) parts: &'a [Part],
    pub(crate) place: &'a WorkDirectory,
    pub(crate) witness: &'a Arc<Mount>,
    pub(crate) stagger: Duration,
    pub(crate) number: Number,
    /// What the threads tell of their work, where somebody looks on.
    pub(crate) meters: Option<Arc<Meters>>,
    /// The process of a server on this machine that is of the benchmark.
    pub(crate) server: Option<u32>,
    /// The directory on this machine that the server exports, or that is worked in without one.
    pub(crate) export: Option<PathBuf>,
    /// Whether reads from the server are recorded over time.
    pub(crate) records_reads: bool,
}

/// Fresh clients with these numbers, connected at the same time, in the order of their numbers.
pub(crate) async fn connect(
    clients: &Arc<Clients>,
    numbers: impl IntoIterator<Item = u32>,
    (arm, setup): (&Arm, &Setup),
    address: &Address,
) -> Result<BTreeMap<u32, Arc<Mount>>, workload::Error> {
    let mut connecting = JoinSet::new();
    for number in numbers {
        let (address, arm) = (address.clone(), arm.clone());
        let Setup { readahead, data_cache, .. } = *setup;
        let habits = Habits { readahead, data_cache, ..arm.habits() };
        let clients = clients.clone();
        connecting.spawn(async move { (number, clients.connect(&address, &arm, habits, number).await) });
    }
    let mut mounts = BTreeMap::new();
    while let Some(ended) = connecting.join_next().await {
        let (number, connected) = ended.map_err(|error| workload::Error::Thread(error.to_string()))?;
        mounts.insert(number, Arc::new(connected?));
    }
    Ok(mounts)
}

impl Crew<'_> {
    /// Lets all clients work. Gives for each part what was seen of it, and what the threads did.
    pub(crate) async fn work(
        &self,
        mounts: &BTreeMap<u32, Arc<Mount>>,
        conductor: &mut impl Conductor,
    ) -> Result<Vec<(PartUsage, Curves)>, workload::Error> {
        let of = |part: &Part| Gate::new(part.waiting(mounts.keys().copied()));
        let gates: Vec<Gate> = self.parts.iter().map(of).collect();
        let mut clients = self.start(mounts, &gates);
        let look = || Look::at(mounts, self.server, self.export.as_deref());
        let mut done = BTreeMap::new();
        let mut seen = Vec::new();
        for (part, gate) in gates.iter().enumerate() {
            let begin = gate.pass_when(look, async |_| conductor.ready(part).await);
            let before = unless_one_fails(&mut clients, &mut done, begin).await?;
            let mut fetched = self.records_reads.then(|| Fetched::begin(mounts, &before.counters));
            let end = gate.pass_when(look, async |_| conductor.finished(part).await);
            let after = tokio::select! {
                biased;
                after = unless_one_fails(&mut clients, &mut done, end) => after?,
                never = watch(&mut fetched) => match never {},
            };
            let fetched = fetched.map(|fetched| fetched.end(&after.counters));
            seen.push(PartUsage { fetched, ..after.since(&before) });
        }
        while let Some(ended) = clients.join_next().await {
            let (client, outcome) = ended.map_err(|error| workload::Error::Thread(error.to_string()))?;
            done.insert(client, outcome?);
        }
        let curves_of = |part: usize| -> Curves {
            done.iter().filter_map(|(client, parts)| Some((*client, parts.get(part)?.clone()))).collect()
        };
        Ok(seen.into_iter().enumerate().map(|(part, seen)| (seen, curves_of(part))).collect())
    }

    fn start(&self, mounts: &BTreeMap<u32, Arc<Mount>>, gates: &[Gate]) -> Running {
        let mut clients = JoinSet::new();
        for (client, mount) in mounts {
            let client = *client;
            let station = Station {
                place: self.place.clone(),
                mount: mount.clone(),
                witness: self.witness.clone(),
                client,
                run: self.number.run,
                block: self.number.block,
                gates: gates.to_vec(),
                stagger: self.stagger,
                meters: self.meters.clone(),
            };
            let mount = mount.clone();
            let work = workload::run(self.workload.clone(), station);
            clients.spawn(async move { (client, threads::run(&mount, work).await) });
        }
        clients
    }
}

/// Counters and clocks at one moment.
struct Look {
    counters: Vec<Counters>,
    machine: Machine,
}

impl Look {
    fn at(mounts: &BTreeMap<u32, Arc<Mount>>, server: Option<u32>, export: Option<&Path>) -> Self {
        Self {
            counters: mounts.values().map(|mount| mount.counters()).collect(),
            machine: Machine::look(server, export),
        }
    }

    fn since(&self, earlier: &Self) -> PartUsage {
        let counters = earlier.counters.iter().zip(&self.counters);
        PartUsage {
            counters: counters.map(|(before, after)| after.since(before)).sum(),
            busy: self.machine.own_share(&earlier.machine),
            resources: self.machine.since(&earlier.machine),
            fetched: None,
        }
    }
}

/// Samples the clients' reads, where those are recorded.
async fn watch(fetched: &mut Option<Fetched<'_>>) -> Infallible {
    match fetched {
        Some(fetched) => fetched.watch().await,
        None => std::future::pending().await,
    }
}

/// The curves of each client's threads, by part.
type Running = JoinSet<(u32, Result<Vec<Vec<Curve>>, workload::Error>)>;

/// What `passing` gives, unless a client fails before: then its error, as the others would wait for it for
/// ever. A client that the last thread at the gate belongs to may be done with everything before we hear that
/// the gate is open; what it has goes into `done`.
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

/// Takes leave of the server, whatever the clients did: it waits long for those that hold something and are
/// gone.
pub(crate) async fn shut_down(mounts: BTreeMap<u32, Arc<Mount>>, within: Duration) {
    let mut tasks = JoinSet::new();
    for mount in mounts.into_values() {
        tasks.spawn(async move { mount.shut_down().await });
    }
    let all = async { while tasks.join_next().await.is_some() {} };
    // A server that no longer answers must not keep the benchmark from ending.
    let _ = tokio::time::timeout(within, all).await;
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

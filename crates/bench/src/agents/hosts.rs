//! All hosts of a benchmark: each has its share of the clients, and they begin at one moment.

use std::time::{Duration, Instant};

use futures_util::future::{join_all, try_join_all};
use tokio::sync::Mutex;

use super::host::{Access, Host};
use super::message::{Answer, Job, Order, Portion};
use crate::error::Error;
use crate::results::{self, Resources};
use crate::run_part::{Conductor, Curves, PartUsage};

/// From when all are ready until they begin: long enough for the slowest to hear of it.
const NOTICE: Duration = Duration::from_millis(50);

/// The hosts, with agents that have been reached.
pub(crate) struct Hosts {
    names: Vec<String>,
    reached: Mutex<Vec<Host>>,
}

/// What came of a run.
pub(crate) struct Worked {
    /// For each part what was seen of it, and what the threads did.
    pub(crate) parts: Vec<(PartUsage, Curves)>,
    /// Why all of it deserves less trust, one sentence each.
    pub(crate) doubts: Vec<String>,
}

/// Why there is no result of a run.
#[derive(Debug)]
pub(crate) enum Lost {
    /// The agent does not do its part any more.
    Agent { host: String, cause: String },
    /// The workload could not be carried out there.
    Workload { host: String, cause: String, wrong_data: bool },
    /// It has not come to its end.
    Stuck { seconds: u64 },
}

impl Lost {
    pub(crate) fn stuck(seconds: u64) -> Self {
        Self::Stuck { seconds }
    }

    pub(crate) fn into_error(self, experiment: &str, arm: &str) -> Error {
        let (experiment, arm) = (experiment.to_owned(), arm.to_owned());
        match self {
            Self::Agent { host, cause } => Error::LostHost { host, cause },
            Self::Workload { host, cause, wrong_data } => {
                let cause = format!("on {host}: {cause}");
                match wrong_data {
                    true => Error::WrongData { experiment, arm, cause },
                    false => Error::Workload { experiment, arm, cause },
                }
            }
            Self::Stuck { seconds } => {
                let cause = format!("it was not over after {seconds} s on every host");
                Error::Workload { experiment, arm, cause }
            }
        }
    }
}

impl Hosts {
    /// Reaches an agent on each of them.
    pub(crate) async fn reach(names: &[String], access: &Access<'_>) -> Result<Self, Error> {
        let mut reached = Vec::new();
        let mut first_cause = None;
        for host in join_all(names.iter().map(|name| Host::reach(name, access))).await {
            match host {
                Ok(host) => reached.push(host),
                Err(cause) => first_cause = first_cause.or(Some(cause)),
            }
        }
        let hosts = Self { names: names.to_vec(), reached: Mutex::new(reached) };
        let Some(cause) = first_cause else { return Ok(hosts) };
        hosts.dismiss().await;
        Err(Error::Usage(cause))
    }

    /// Lets all agents go, and waits until they have ended what they were doing, for a time: from then on
    /// they do nothing to the server any more.
    pub(crate) async fn dismiss(self) {
        join_all(self.reached.into_inner().into_iter().map(Host::dismiss)).await;
    }

    /// The host that a client works on.
    pub(crate) fn of_client(&self, client: u32) -> &str {
        &self.names[client as usize % self.names.len()]
    }

    /// What is known of them.
    pub(crate) async fn facts(&self) -> Vec<results::Host> {
        self.reached.lock().await.iter().map(|host| host.facts.clone()).collect()
    }

    /// Carries out a run of that many parts, client `n` on the host `n` modulo their number. Gives for each
    /// part what was seen and done on all of them together, and why all of it deserves less trust.
    pub(crate) async fn work(
        &self,
        job: &Job,
        parts: usize,
        conductor: &mut impl Conductor,
    ) -> Result<Worked, Lost> {
        let mut hosts = self.reached.lock().await;
        let count = hosts.len();
        let mut working: Vec<(&mut Host, Vec<u32>)> = hosts
            .iter_mut()
            .enumerate()
            .map(|(nth, host)| (host, (0..job.clients).skip(nth).step_by(count).collect()))
            .filter(|(_, numbers): &(_, Vec<u32>)| !numbers.is_empty())
            .collect();
        try_join_all(working.iter_mut().map(|(host, numbers)| begin(host, job, numbers))).await?;
        for part in 0..parts {
            all(&mut working, |answer| matches!(answer, Answer::Ready)).await?;
            conductor.ready(part).await;
            let moment = Instant::now() + NOTICE;
            for (host, _) in &mut working {
                let order = Order::Begin { at_ns: host.there(moment) };
                host.send(&order).await.map_err(|cause| lost(host, cause))?;
            }
            all(&mut working, |answer| matches!(answer, Answer::Finished)).await?;
            conductor.finished(part).await;
            for (host, _) in &mut working {
                host.send(&Order::GoOn).await.map_err(|cause| lost(host, cause))?;
            }
        }
        let ended = try_join_all(working.iter_mut().map(|(host, _)| end(host))).await?;
        let (portions, doubts): (Vec<_>, Vec<_>) = ended.into_iter().unzip();
        Ok(Worked { parts: together(portions, parts), doubts: doubts.into_iter().flatten().collect() })
    }
}

fn lost(host: &Host, cause: String) -> Lost {
    Lost::Agent { host: host.name.clone(), cause }
}

async fn begin(host: &mut Host, job: &Job, numbers: &[u32]) -> Result<(), Lost> {
    host.compare_clocks().await.map_err(|cause| lost(host, cause))?;
    let job = Job { numbers: numbers.to_vec(), ..job.clone() };
    host.send(&Order::Work(Box::new(job))).await.map_err(|cause| lost(host, cause))
}

/// Waits until each has given the answer that is wanted.
async fn all(
    working: &mut [(&mut Host, Vec<u32>)],
    wanted: impl Fn(&Answer) -> bool + Copy,
) -> Result<(), Lost> {
    try_join_all(working.iter_mut().map(|(host, _)| async move {
        match answer_of(host).await? {
            answer if wanted(&answer) => Ok(()),
            _ => Err(lost(host, "it is at another part of the run".to_owned())),
        }
    }))
    .await
    .map(drop)
}

/// What it did, and why that deserves less trust.
async fn end(host: &mut Host) -> Result<((Vec<Portion>, &Host), Option<String>), Lost> {
    let Answer::Done(portions) = answer_of(host).await? else {
        return Err(lost(host, "it is at another part of the run".to_owned()));
    };
    let doubt = host.compare_clocks_again().await.map_err(|cause| lost(host, cause))?;
    Ok(((portions, host), doubt))
}

async fn answer_of(host: &mut Host) -> Result<Answer, Lost> {
    match host.receive().await {
        Ok(Answer::Failed { cause, wrong_data }) => {
            Err(Lost::Workload { host: host.name.clone(), cause, wrong_data })
        }
        other => other.map_err(|cause| lost(host, cause)),
    }
}

/// What all did, on our own clock.
fn together(of_hosts: Vec<(Vec<Portion>, &Host)>, parts: usize) -> Vec<(PartUsage, Curves)> {
    let mut sum: Vec<(Option<PartUsage>, Curves)> = (0..parts).map(|_| Default::default()).collect();
    for (portions, host) in of_hosts {
        for (portion, (seen, curves)) in portions.into_iter().zip(&mut sum) {
            *seen = Some(match seen.take() {
                Some(before) => both(before, portion.usage),
                None => portion.usage,
            });
            for (client, threads) in portion.clients {
                let threads = threads.into_iter().map(|recorded| recorded.into_curve(|ns| host.here(ns)));
                curves.insert(client, threads.collect());
            }
        }
    }
    sum.into_iter().filter_map(|(seen, curves)| Some((seen?, curves))).collect()
}

/// Of processors and disks that of the busiest host, of the rest the sum.
fn both(one: PartUsage, other: PartUsage) -> PartUsage {
    let resources = |one: Resources, other: Resources| Resources {
        busy: one.busy.max(other.busy),
        client_seconds: one.client_seconds + other.client_seconds,
        disk_busy: [one.disk_busy, other.disk_busy].into_iter().flatten().reduce(f64::max),
        io_wait: [one.io_wait, other.io_wait].into_iter().flatten().reduce(f64::max),
        ..Resources::default()
    };
    PartUsage {
        counters: [one.counters, other.counters].into_iter().sum(),
        busy: one.busy.max(other.busy),
        resources: one.resources.zip(other.resources).map(|(one, other)| resources(one, other)),
        fetched: None,
    }
}

//! An agent's part of a run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};

use super::channel::Sender;
use super::message::{Answer, Job, Order, Portion};
use crate::experiment;
use crate::runner::{
    Arm, Clients, Conductor, Crew, Number, SHUT_DOWN_WITHIN, Seen, connect, points_for, shut_down, witness,
};
use crate::workload::{self, Address, ClientKind, Place};

/// Of the marks of all curves together; with more of them each keeps fewer.
const MARKS_MAX: usize = 1 << 18;
/// Sleeping may be late by as much; what is left is waited for awake.
const SLEEP_SHORT: Duration = Duration::from_millis(2);

/// Why there is no result.
pub(super) struct Failure {
    pub(super) cause: String,
    pub(super) wrong_data: bool,
}

impl Failure {
    fn new(cause: impl Into<String>) -> Self {
        Self { cause: cause.into(), wrong_data: false }
    }

    fn told(cause: &impl ToString) -> Self {
        Self::new(cause.to_string())
    }
}

impl From<workload::Error> for Failure {
    fn from(error: workload::Error) -> Self {
        Self { cause: error.to_string(), wrong_data: matches!(error, workload::Error::Content { .. }) }
    }
}

/// The way to who measures, while a run is carried out.
pub(super) struct Line<'a> {
    pub(super) to: &'a mut Sender,
    pub(super) orders: &'a mut mpsc::Receiver<Order>,
    /// Becomes true when nobody is there any more.
    pub(super) gone: watch::Receiver<bool>,
    /// When the agent's clock stood at zero.
    pub(super) origin: Instant,
}

/// Carries it out; none when nobody is there any more who would want the result. Clients have taken leave of
/// the server then.
pub(super) async fn carry_out(job: &Job, line: &mut Line<'_>) -> Result<Option<Vec<Portion>>, Failure> {
    let experiment =
        experiment::parse(&job.experiment, "experiment").map_err(|error| Failure::told(&error))?;
    let kind: ClientKind = job.client.parse().map_err(|error| Failure::told(&error))?;
    let point = points_for(&kind, &experiment, job.size).into_iter().nth(job.point);
    let mut setup = point.ok_or_else(|| Failure::new("the experiment has no such point"))?.setup;
    setup.clients = job.clients;
    let address = Address::parse(&job.server).map_err(|error| Failure::told(&error))?;
    let address = address.with_path_of_v3(job.path_of_v3.as_deref());
    let arm = Arm::of_version(&job.version, job.delegations);
    // Dropped, it unmounts what is mounted: it stays until the clients have ended.
    let clients = Clients::of_kind(kind, job.mount_options.clone(), Vec::new());
    let clients = Arc::new(clients.map_err(|error| Failure::told(&error))?);
    let witness = Arc::new(
        witness(&address, &job.server, std::slice::from_ref(&arm))
            .await
            .map_err(|error| Failure::told(&error))?,
    );
    let place = Place { directory: job.directory.clone(), clients: job.clients, seed: job.seed };
    let parts = workload::parts(&setup.workload);
    let crew = Crew {
        workload: &setup.workload,
        parts: &parts,
        place: &place,
        witness: &witness,
        stagger: Duration::try_from_secs_f64(setup.stagger_seconds).unwrap_or_default(),
        number: Number { block: job.block, run: job.run },
        meters: None,
        server: None,
        export: None,
        records_reads: false,
    };
    let mounts = connect(&clients, job.numbers.iter().copied(), (&arm, &setup), &address).await?;
    let (origin, mut gone) = (line.origin, line.gone.clone());
    let worked = tokio::select! {
        worked = crew.work(&mounts, line) => Some(worked),
        _ = gone.wait_for(|gone| *gone) => None,
    };
    shut_down(mounts, SHUT_DOWN_WITHIN).await;
    witness.shut_down().await;
    let Some(worked) = worked.transpose()? else { return Ok(None) };
    let curves = || worked.iter().flat_map(|(_, curves)| curves.values().flatten());
    let marks_max = MARKS_MAX / curves().count().max(1);
    let portion = |(seen, curves): &(Seen, _)| Portion {
        seen: seen.clone(),
        clients: recorded(curves, origin, marks_max),
    };
    Ok(Some(worked.iter().map(portion).collect()))
}

fn recorded(
    curves: &crate::runner::Curves,
    origin: Instant,
    marks_max: usize,
) -> Vec<(u32, Vec<workload::Recorded>)> {
    let of_client = |threads: &Vec<workload::Curve>| {
        threads.iter().map(|curve| curve.recorded(origin, marks_max)).collect()
    };
    curves.iter().map(|(client, threads)| (*client, of_client(threads))).collect()
}

impl Conductor for Line<'_> {
    async fn ready(&mut self, _part: usize) {
        match self.ask(&Answer::Ready).await {
            Some(Order::Begin { at_ns }) => wait_until(self.origin + Duration::from_nanos(at_ns)).await,
            _ => std::future::pending().await,
        }
    }

    async fn finished(&mut self, _part: usize) {
        if self.ask(&Answer::Finished).await.is_none() {
            // It is given up when it is known that nobody is there any more.
            std::future::pending::<()>().await;
        }
    }
}

impl Line<'_> {
    async fn ask(&mut self, answer: &Answer) -> Option<Order> {
        self.to.send(answer).await.ok()?;
        self.orders.recv().await
    }
}

async fn wait_until(moment: Instant) {
    if let Some(early) = moment.checked_sub(SLEEP_SHORT) {
        tokio::time::sleep_until(early.into()).await;
    }
    while Instant::now() < moment {
        std::hint::spin_loop();
    }
}

//! Agents whose clients are those of the runner: each carries out its part of a run.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::arm::Arm;
use super::check::points_for;
use super::clients::Clients;
use super::crew::{Crew, SHUT_DOWN_WITHIN, connect, shut_down};
use super::measure::Number;
use super::target::witness;
use crate::agents::{self, Failure, Job, Line, Portion, Secret, Worker};
use crate::experiment;
use crate::run_part::{Curves, PartUsage};
use crate::workload::{self, Address, ClientKind, WorkDirectory};

/// Of the marks of all curves together; with more of them each keeps fewer.
const MARKS_MAX: usize = 1 << 18;
/// Serves one benchmark through standard input and output. Ends with its input.
///
/// # Errors
/// When it cannot write.
pub async fn serve_stdio(version: &str) -> io::Result<()> {
    agents::serve_stdio(RunnerClients, version).await
}

/// Serves benchmarks that know the secret at an address, one at a time; others wait. Calls `on_listening`
/// with the address.
///
/// # Errors
/// When it cannot listen there.
pub async fn serve(
    listen: SocketAddr,
    secret: Secret,
    version: &str,
    on_listening: impl FnOnce(SocketAddr),
) -> io::Result<()> {
    agents::serve(RunnerClients, listen, secret, version, on_listening).await
}

/// Works with the runner's clients.
#[derive(Clone, Copy)]
struct RunnerClients;

impl Worker for RunnerClients {
    /// The clients have taken leave of the server when this returns.
    async fn work(self, job: &Job, line: &mut Line<'_>) -> Result<Option<Vec<Portion>>, Failure> {
        carry_out(job, line).await
    }
}

async fn carry_out(job: &Job, line: &mut Line<'_>) -> Result<Option<Vec<Portion>>, Failure> {
    let experiment = experiment::parse(&job.experiment, "experiment").map_err(|error| Failure::of(&error))?;
    let kind: ClientKind = job.client.parse().map_err(|error| Failure::of(&error))?;
    let point = points_for(&kind, &experiment, job.size).into_iter().nth(job.point);
    let mut setup = point.ok_or_else(|| Failure::new("the experiment has no such point"))?.setup;
    setup.clients = job.clients;
    let address = Address::parse(&job.server).map_err(|error| Failure::of(&error))?;
    let address = address.with_path_of_v3(job.path_of_v3.as_deref());
    let arm = Arm::of_version(&job.version, job.delegations);
    // Dropped, it unmounts what is mounted: it stays until the clients have ended.
    let clients = Clients::of_kind(kind, job.mount_options.clone(), Vec::new());
    let clients = Arc::new(clients.map_err(|error| Failure::of(&error))?);
    let witness = Arc::new(
        witness(&address, &job.server, std::slice::from_ref(&arm))
            .await
            .map_err(|error| Failure::of(&error))?,
    );
    let place = WorkDirectory { directory: job.directory.clone(), clients: job.clients, seed: job.seed };
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
    let (origin, mut gone) = (line.origin(), line.gone());
    let worked = tokio::select! {
        worked = crew.work(&mounts, line) => Some(worked),
        _ = gone.wait_for(|gone| *gone) => None,
    };
    shut_down(mounts, SHUT_DOWN_WITHIN).await;
    witness.shut_down().await;
    let Some(worked) = worked.transpose()? else { return Ok(None) };
    let curves = || worked.iter().flat_map(|(_, curves)| curves.values().flatten());
    let marks_max = MARKS_MAX / curves().count().max(1);
    let portion = |(usage, curves): &(PartUsage, Curves)| Portion {
        usage: usage.clone(),
        clients: recorded(curves, origin, marks_max),
    };
    Ok(Some(worked.iter().map(portion).collect()))
}

fn recorded(curves: &Curves, origin: Instant, marks_max: usize) -> Vec<(u32, Vec<workload::Recorded>)> {
    let of_client = |threads: &Vec<workload::Curve>| {
        threads.iter().map(|curve| curve.recorded(origin, marks_max)).collect()
    };
    curves.iter().map(|(client, threads)| (*client, of_client(threads))).collect()
}

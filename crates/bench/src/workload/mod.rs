//! Workloads carried out: each kind prepares its files and then runs on every thread of every client.
//!
//! Owns what an application does and what it counts. It knows nothing of versions, delays, blocks or
//! statistics; the runner gives it a client and a gate.

mod composed;
mod create;
mod curve;
pub(crate) mod delegated;
mod error;
pub(crate) mod files;
mod gate;
mod locked_read;
mod meter;
mod mount;
mod passes;
mod pattern;
mod random_read;
mod random_write;
mod sequential_read;
mod sequential_write;
mod small_file_read;
mod source_tree;
pub(crate) mod threads;
mod time;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

pub(crate) use curve::{Curve, Recorded, empty_histogram};
pub(crate) use error::Error;
pub(crate) use gate::Gate;
use gate::Limit;
pub(crate) use meter::{Meters, Reading};
pub use mount::ClientKind;
pub(crate) use mount::{
    Access, Address, Counters, File, Habits, Mount, NetworkNamespace, keeps_locks_local, unmount,
};
use passes::Passes;
pub(crate) use pattern::Pattern;

use crate::experiment::Workload;
use crate::experiment::composed::{Participants, Phase};
use crate::seeded::{Seeded, mix};

/// The directory of one experiment and what stands in it.
#[derive(Debug, Clone)]
pub(crate) struct WorkDirectory {
    /// Its path, made by the runner and used by this experiment only.
    pub(crate) directory: String,
    /// Clients that will work in it.
    pub(crate) clients: u32,
    /// The seed of its contents.
    pub(crate) seed: u64,
}

/// One client's part in one run.
pub(crate) struct Station {
    /// Where the files are.
    pub(crate) place: WorkDirectory,
    /// The client, connected.
    pub(crate) mount: Arc<Mount>,
    /// A client that takes no part in the run and reads back what was written.
    pub(crate) witness: Arc<Mount>,
    /// Which one it is, from 0.
    pub(crate) client: u32,
    /// The number of the run among all of the experiment, from 1: it names what only this run makes.
    pub(crate) run: u64,
    /// The block that the run belongs to.
    pub(crate) block: u32,
    /// Where its threads wait for each other, in each part of the workload.
    pub(crate) gates: Vec<Gate>,
    /// How much later than the one before it each client starts.
    pub(crate) stagger: Duration,
    /// What its threads tell of their work, where somebody looks on.
    pub(crate) meters: Option<Arc<Meters>>,
}

impl Station {
    /// The random choices of one thread in this run. They do not depend on the version, so that all versions
    /// of a block do the same.
    pub(crate) fn random(&self, thread: u32) -> Seeded {
        let stream = u64::from(self.client) << 32 | u64::from(thread);
        Seeded::new(self.place.seed ^ mix(u64::from(self.block)), stream)
    }

    /// The curve of a thread that begins at `start`.
    fn curve(&self, start: Instant) -> Curve {
        let meter = self.meters.as_ref().and_then(|meters| meters.take(self.client, start));
        Curve::new(start).told_to(meter)
    }

    /// A thread is ready. Resolves to its start, when all others are ready too, and to its limit of time.
    async fn begin(&self, seconds: Option<f64>) -> (Instant, Limit) {
        self.begin_part(0, seconds).await
    }

    /// A thread has done its work; what it does after this is not counted.
    async fn finish(&self) {
        self.finish_part(0).await;
    }

    /// As [`Station::begin`] for one of several parts. All clients end together: `seconds` after the last one
    /// started.
    async fn begin_part(&self, part: usize, seconds: Option<f64>) -> (Instant, Limit) {
        let opened = self.gates[part].start().await;
        if self.stagger.is_zero() {
            return (opened, Limit::new(opened, seconds));
        }
        let last = self.stagger * self.place.clients.saturating_sub(1);
        let limit = Limit::new(opened, seconds.map(|seconds| seconds + last.as_secs_f64()));
        tokio::time::sleep_until((opened + self.stagger * self.client).into()).await;
        (Instant::now(), limit)
    }

    /// As [`Station::finish`] for one of several parts.
    async fn finish_part(&self, part: usize) {
        self.gates[part].finish().await;
    }

    /// Takes no part in this part of the workload.
    async fn stand_by(&self, part: usize) {
        self.gates[part].start().await;
        self.gates[part].finish().await;
    }
}

/// Makes the files that all runs of an experiment share. What only one run needs is made by [`prepare_run`].
pub(crate) async fn prepare(
    workload: &Workload,
    mount: &Arc<Mount>,
    place: &WorkDirectory,
) -> Result<(), Error> {
    match workload {
        Workload::SequentialRead { file_bytes, .. } | Workload::RandomRead { file_bytes, .. } => {
            files::make_large(mount, &files::shared(place), place.seed, 0, *file_bytes).await
        }
        Workload::SequentialWrite { file_bytes, .. } | Workload::RandomWrite { file_bytes, .. } => {
            files::make_large_each(mount, place, *file_bytes).await
        }
        Workload::SmallFileRead { files, file_bytes, .. }
        | Workload::LockedRead { files, file_bytes, .. } => {
            files::make_small(mount, place, *files, *file_bytes).await
        }
        Workload::Create { .. } | Workload::SourceTree { .. } => Ok(()),
        Workload::Composed(workload) => composed::prepare(workload, mount, place).await,
    }
}

/// What is measured in one go: the work of some clients between two looks at the counters.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Part {
    /// Its name, where a workload has several.
    pub(crate) name: Option<String>,
    /// Threads of each client that takes part.
    pub(crate) threads: u32,
    /// Which clients these are.
    pub(crate) clients: Participants,
    /// Whether it is a result.
    pub(crate) measured: bool,
    /// Its unit, where that is not the experiment's.
    pub(crate) unit: Option<String>,
}

impl Part {
    /// How many wait at the gate for these clients: every thread, and each client that stands by.
    pub(crate) fn waiting(&self, clients: impl Iterator<Item = u32>) -> usize {
        clients.map(|client| if self.clients.includes(client) { self.threads as usize } else { 1 }).sum()
    }
}

/// The parts of a workload, in order.
pub(crate) fn parts(workload: &Workload) -> Vec<Part> {
    if let Workload::SourceTree { .. } = workload {
        let part = |name: &&str| Part {
            name: Some((*name).to_owned()),
            threads: 1,
            clients: Participants::All,
            measured: true,
            unit: None,
        };
        return source_tree::PARTS.iter().map(part).collect();
    }
    let Workload::Composed(composed) = workload else {
        let threads = workload.threads();
        return vec![Part { name: None, threads, clients: Participants::All, measured: true, unit: None }];
    };
    let several = composed.measured().count() > 1;
    let part = |phase: &Phase| Part {
        name: (several && phase.measured).then(|| phase.name.clone()),
        threads: composed.threads_of(phase),
        clients: phase.clients,
        measured: phase.measured,
        unit: phase.unit.clone(),
    };
    composed.phases.iter().map(part).collect()
}

/// Makes what one run needs for itself.
pub(crate) async fn prepare_run(
    workload: &Workload,
    mount: &Arc<Mount>,
    place: &WorkDirectory,
    run: u64,
) -> Result<(), Error> {
    match workload {
        Workload::Create { threads, .. } => create::prepare_run(mount, place, run, *threads).await,
        Workload::Composed(workload) => composed::prepare_run(workload, mount, place, run).await,
        Workload::SourceTree { .. } => source_tree::prepare_run(mount, place, run).await,
        _ => Ok(()),
    }
}

/// Removes what only one run needed, where that is much.
pub(crate) async fn remove_run(
    workload: &Workload,
    mount: &Arc<Mount>,
    place: &WorkDirectory,
    run: u64,
) -> Result<(), Error> {
    match workload {
        Workload::Composed(workload) => composed::remove_run(workload, mount, place, run).await,
        Workload::Create { file_bytes, .. } if *file_bytes > 0 => create::remove_run(mount, place, run).await,
        _ => Ok(()),
    }
}

/// Runs all threads of one client; gives their curves for each part. Each waits at the gate when it is ready
/// and when it has finished.
pub(crate) async fn run(workload: Workload, station: Station) -> Result<Vec<Vec<Curve>>, Error> {
    time::settle();
    if let Workload::Composed(workload) = workload {
        return Box::pin(composed::run(workload, station)).await;
    }
    if let Workload::SourceTree { directories, files, file_bytes, way } = workload {
        let tree = source_tree::Tree::new(&station, directories, files, file_bytes);
        return Box::pin(source_tree::run(&station, &tree, way)).await;
    }
    let station = Arc::new(station);
    let shared = Arc::new(Shared::of(&workload, &station).await?);
    let mut running = JoinSet::new();
    for thread in 0..workload.threads() {
        let (workload, station, shared) = (workload.clone(), station.clone(), shared.clone());
        let mount = station.mount.clone();
        let work = async move { run_thread(&workload, &station, &shared, thread).await };
        running.spawn(async move { threads::run(&mount, work).await });
    }
    let mut curves = Vec::new();
    while let Some(ended) = running.join_next().await {
        curves.push(ended.map_err(|error| Error::Thread(error.to_string()))??);
    }
    Ok(vec![curves])
}

/// What the threads of one client have in common.
enum Shared {
    Nothing,
    Create(Passes),
    LockedRead(locked_read::Files),
}

impl Shared {
    /// Made, and whatever the workload does before its clock starts is done.
    async fn of(workload: &Workload, station: &Arc<Station>) -> Result<Self, Error> {
        Ok(match workload {
            Workload::Create { files, .. } => Self::Create(Passes::new(*files)),
            Workload::LockedRead { files, .. } => {
                // The way to the directory is no part of reading a file in it.
                station.mount.visit(&files::small_directory(&station.place, station.client)).await?;
                Self::LockedRead(locked_read::Files::new(*files, station))
            }
            Workload::SmallFileRead { files, file_bytes, threads, warm: true, .. } => {
                small_file_read::warm(station, *files, *file_bytes, *threads).await?;
                Self::Nothing
            }
            _ => Self::Nothing,
        })
    }
}

async fn run_thread(
    workload: &Workload,
    station: &Station,
    shared: &Shared,
    thread: u32,
) -> Result<Curve, Error> {
    match (workload, shared) {
        (Workload::SequentialRead { file_bytes, io_bytes, seconds }, _) => {
            sequential_read::run(station, *file_bytes, *io_bytes, *seconds).await
        }
        (Workload::SequentialWrite { file_bytes, io_bytes, sync, seconds }, _) => {
            sequential_write::run(station, *file_bytes, *io_bytes, *sync, *seconds).await
        }
        (Workload::RandomRead { file_bytes, io_bytes, seconds, .. }, _) => {
            random_read::run(station, thread, *file_bytes, *io_bytes, *seconds).await
        }
        (Workload::RandomWrite { file_bytes, io_bytes, sync, seconds, .. }, _) => {
            random_write::run(station, thread, *file_bytes, *io_bytes, *sync, *seconds).await
        }
        (Workload::Create { file_bytes, seconds, .. }, Shared::Create(files)) => {
            create::run(station, files, thread, *file_bytes, *seconds).await
        }
        (Workload::SmallFileRead { files, file_bytes, seconds, .. }, _) => {
            small_file_read::run(station, thread, *files, *file_bytes, *seconds).await
        }
        (Workload::LockedRead { rounds, file_bytes, reopen, seconds, .. }, Shared::LockedRead(files)) => {
            locked_read::run(station, files, *rounds, *file_bytes, *reopen, *seconds).await
        }
        (Workload::Create { .. } | Workload::LockedRead { .. }, _) => {
            unreachable!("`Shared::of` made what this kind needs")
        }
        (Workload::Composed(_) | Workload::SourceTree { .. }, _) => {
            unreachable!("`run` has carried these out")
        }
    }
}

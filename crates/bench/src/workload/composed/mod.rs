//! Composed workloads carried out: the sets are made, and every client's threads go through the phases.

pub(super) mod draw;
mod hands;
mod set;
mod steps;
mod tree;

use std::sync::Arc;

use tokio::task::JoinSet;
use tokio::task::coop::consume_budget;

use super::passes::Passes;
use super::{Curve, Error, Mount, Station, WorkDirectory, threads};
use crate::experiment::Composed;
use crate::experiment::composed::Phase;
use hands::{Done, Hands};
use set::Sets;

/// Makes the files of the sets that all runs use.
pub(super) async fn prepare(
    workload: &Composed,
    mount: &Arc<Mount>,
    place: &WorkDirectory,
) -> Result<(), Error> {
    tree::make(workload, mount, place, None).await
}

/// Makes the files of the sets that each run has of its own.
pub(super) async fn prepare_run(
    workload: &Composed,
    mount: &Arc<Mount>,
    place: &WorkDirectory,
    run: u64,
) -> Result<(), Error> {
    tree::make(workload, mount, place, Some(run)).await
}

/// Removes what [`prepare_run`] made and what the run left.
pub(super) async fn remove_run(
    workload: &Composed,
    mount: &Arc<Mount>,
    place: &WorkDirectory,
    run: u64,
) -> Result<(), Error> {
    if workload.sets.keys().any(|set| workload.is_made_anew(set)) {
        mount.remove_all(&tree::of_run(place, run), None).await?;
    }
    Ok(())
}

/// Runs all phases of one client; gives the curves of its threads for each of them.
pub(super) async fn run(workload: Composed, station: Station) -> Result<Vec<Vec<Curve>>, Error> {
    let station = Arc::new(station);
    let workload = Arc::new(workload);
    let sets = Arc::new(Sets::new(&workload, &station));
    sets.visit(&station).await?;
    let mut parts = Vec::new();
    for part in 0..workload.phases.len() {
        parts.push(run_phase(&workload, &station, &sets, part).await?);
    }
    Ok(parts)
}

async fn run_phase(
    workload: &Arc<Composed>,
    station: &Arc<Station>,
    sets: &Arc<Sets>,
    part: usize,
) -> Result<Vec<Curve>, Error> {
    let phase = &workload.phases[part];
    if !phase.clients.includes(station.client) {
        station.stand_by(part).await;
        return Ok(Vec::new());
    }
    if phase.cold {
        sets.forget(station).await?;
    }
    let passes = Arc::new(Passes::new(phase.passes));
    let mut running = JoinSet::new();
    for thread in 0..workload.threads_of(phase) {
        let (workload, station) = (workload.clone(), station.clone());
        let (sets, passes) = (sets.clone(), passes.clone());
        let mount = station.mount.clone();
        let work = async move {
            let hands = Hands::new(&workload, &station, &sets, part, thread);
            run_thread(&workload.phases[part], &station, &passes, hands, part).await
        };
        running.spawn(async move { threads::run(&mount, work).await });
    }
    let mut curves = Vec::new();
    while let Some(ended) = running.join_next().await {
        curves.push(ended.map_err(|error| Error::Thread(error.to_string()))??);
    }
    Ok(curves)
}

async fn run_thread(
    phase: &Phase,
    station: &Station,
    passes: &Passes,
    mut hands: Hands<'_>,
    part: usize,
) -> Result<Curve, Error> {
    hands.get_ready(&phase.first).await?;
    let keeps_a_file = hands.holds_a_file();
    let (start, limit) = station.begin_part(part, phase.seconds).await;
    let mut curve = station.curve(start);
    'work: while !limit.is_over(curve.stop()) && passes.take() {
        for line in &phase.body {
            for _ in 0..line.times {
                if let Done::NothingLeft = hands.carry_out(phase, &line.step, &mut curve).await? {
                    break 'work;
                }
                consume_budget().await;
                if limit.is_over(curve.stop()) {
                    break 'work;
                }
            }
        }
    }
    if !keeps_a_file {
        // The time may have been over in the middle of the loop.
        hands.put_down().await?;
    }
    let lines = if hands.holds_a_file() == keeps_a_file { phase.last.as_slice() } else { &[] };
    for line in lines {
        for _ in 0..line.times {
            hands.carry_out(phase, &line.step, &mut curve).await?;
        }
    }
    station.finish_part(part).await;
    hands.put_down().await?;
    Ok(curve)
}

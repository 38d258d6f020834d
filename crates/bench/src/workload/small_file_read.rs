//! Opens, reads and closes whole small files, again and again, in random order. Each client has its own.

use std::sync::Arc;

use tokio::task::JoinSet;
use tokio::task::coop::consume_budget;

use super::{Access, Curve, Error, Station, files, time};

/// Reads every file once, with as many threads as the workload has.
pub(super) async fn warm(
    station: &Arc<Station>,
    files: u64,
    file_bytes: u64,
    threads: u32,
) -> Result<(), Error> {
    let mut tasks = JoinSet::new();
    for thread in 0..u64::from(threads) {
        let station = station.clone();
        let mount = station.mount.clone();
        let work = async move {
            for file in (thread..files).step_by(threads as usize) {
                read(&station, file, file_bytes).await?;
            }
            Ok(())
        };
        tasks.spawn(async move { super::threads::run(&mount, work).await });
    }
    files::all(&mut tasks).await
}

pub(super) async fn run(
    station: &Station,
    thread: u32,
    files: u64,
    file_bytes: u64,
    seconds: f64,
) -> Result<Curve, Error> {
    let mut random = station.random(thread);
    let (start, limit) = station.begin(Some(seconds)).await;
    let mut curve = station.curve(start);
    let mut now = start;
    while !limit.is_over(now) {
        read(station, random.below(files), file_bytes).await?;
        now = time::now();
        curve.complete(now, file_bytes);
        curve.read(file_bytes);
        consume_budget().await;
    }
    station.finish().await;
    Ok(curve)
}

async fn read(station: &Station, file: u64, file_bytes: u64) -> Result<(), Error> {
    let pattern = files::small_pattern(&station.place, station.client, file);
    let path = files::small(&station.place, station.client, file);
    let file = station.mount.open(&path, Access::Read).await?;
    let data = file.read(0, file_bytes as usize).await?;
    files::check(pattern, &file, 0, &data, file_bytes)?;
    file.close().await
}

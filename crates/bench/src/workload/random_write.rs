//! Writes aligned pieces in place at random places of one large file. Each client has its own.

use tokio::task::coop::consume_budget;

use super::{Access, Curve, Error, Station, files, time};

pub(super) async fn run(
    station: &Station,
    thread: u32,
    file_bytes: u64,
    io_bytes: u64,
    sync: bool,
    seconds: f64,
) -> Result<Curve, Error> {
    let path = files::large(&station.place, station.client);
    let file = station.mount.open(&path, Access::Write { sync }).await?;
    let pattern = files::large_pattern(&station.place, station.client, station.run);
    let mut random = station.random(thread);
    let (start, limit) = station.begin(Some(seconds)).await;
    let mut curve = station.curve(start);
    let mut now = start;
    let mut last = None;
    while !limit.is_over(now) {
        let offset = files::piece(&mut random, file_bytes, io_bytes);
        file.write(offset, pattern.bytes(offset, io_bytes as usize)).await?;
        now = time::now();
        curve.complete(now, io_bytes);
        last = Some(offset);
        consume_budget().await;
    }
    if !sync {
        file.sync().await?;
    }
    station.finish().await;
    file.close().await?;
    if let Some(offset) = last {
        files::read_back(&station.witness, &path, pattern, offset, io_bytes).await?;
    }
    Ok(curve)
}

//! Reads aligned pieces at random places of one large file, with a cold cache at the start. All clients read
//! the same one.

use tokio::task::coop::consume_budget;

use super::{Access, Curve, Error, Station, files, time};

pub(super) async fn run(
    station: &Station,
    thread: u32,
    file_bytes: u64,
    io_bytes: u64,
    seconds: f64,
) -> Result<Curve, Error> {
    let pattern = files::large_pattern(&station.place, 0, 0);
    let path = files::shared(&station.place);
    let file = station.mount.open(&path, Access::Read).await?;
    // A directory of this machine has what was just written in its cache.
    station.mount.forget(&path).await?;
    let mut random = station.random(thread);
    let (start, limit) = station.begin(Some(seconds)).await;
    let mut curve = station.curve(start);
    let mut now = start;
    while !limit.is_over(now) {
        let offset = files::piece(&mut random, file_bytes, io_bytes);
        let data = file.read(offset, io_bytes as usize).await?;
        files::check(pattern, &file, offset, &data, io_bytes)?;
        now = time::now();
        curve.complete(now, io_bytes);
        curve.read(io_bytes);
        consume_budget().await;
    }
    station.finish().await;
    file.close().await?;
    Ok(curve)
}

//! Writes one large file from its beginning, starting over at its end. Each client has its own.

use tokio::task::coop::consume_budget;

use super::{Access, Curve, Error, Station, files, time};

pub(super) async fn run(
    station: &Station,
    file_bytes: u64,
    io_bytes: u64,
    sync: bool,
    seconds: f64,
) -> Result<Curve, Error> {
    let path = files::large(&station.place, station.client);
    let file = station.mount.open(&path, Access::Write { sync }).await?;
    let pattern = files::large_pattern(&station.place, station.client, station.run);
    let (start, limit) = station.begin(Some(seconds)).await;
    let mut curve = station.curve(start);
    let mut now = start;
    let mut offset = 0;
    let mut last = None;
    while !limit.is_over(now) {
        let length = io_bytes.min(file_bytes - offset);
        file.write(offset, pattern.bytes(offset, length as usize)).await?;
        now = time::now();
        curve.complete(now, length);
        last = Some((offset, length));
        offset = if offset + length >= file_bytes { 0 } else { offset + length };
        consume_budget().await;
    }
    if !sync {
        file.sync().await?;
    }
    station.finish().await;
    file.close().await?;
    if let Some((offset, length)) = last {
        files::read_back(&station.witness, &path, pattern, offset, length).await?;
    }
    Ok(curve)
}

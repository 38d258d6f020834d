//! Scans one large file from its beginning, again and again, with a cold cache each time. All clients scan
//! the same one.

use tokio::task::coop::consume_budget;

use super::{Access, Curve, Error, Station, files, time};

pub(super) async fn run(
    station: &Station,
    file_bytes: u64,
    io_bytes: u64,
    seconds: f64,
) -> Result<Curve, Error> {
    let path = files::shared(&station.place);
    let pattern = files::large_pattern(&station.place, 0, 0);
    let mut file = station.mount.open(&path, Access::Read).await?;
    // An open may bring the beginning of the file with it, before the counters are read.
    station.mount.forget(&path).await?;
    let (start, limit) = station.begin(Some(seconds)).await;
    let mut curve = station.curve(start);
    let mut now = start;
    let mut offset = 0;
    while !limit.is_over(now) {
        if offset >= file_bytes {
            file = station.mount.reopen_cold(file).await?;
            offset = 0;
        }
        let length = io_bytes.min(file_bytes - offset);
        let data = file.read(offset, length as usize).await?;
        files::check(pattern, &file, offset, &data, length)?;
        offset += length;
        now = time::now();
        curve.complete(now, length);
        curve.read(length);
        consume_budget().await;
    }
    station.finish().await;
    file.close().await?;
    Ok(curve)
}

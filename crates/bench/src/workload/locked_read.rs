//! For each small file some rounds of: lock it, read it, unlock it. Each client has its own files; its
//! threads share them out, and a file that was begun is finished, so that the price of its first round is
//! shared by all of them.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::task::coop::consume_budget;

use super::{Access, Curve, Error, File, Pattern, Station, files, time};

/// The files of a client in the order in which they are taken.
#[derive(Debug)]
pub(super) struct Files {
    order: Vec<u64>,
    next: AtomicU64,
}

impl Files {
    pub(super) fn new(files: u64, station: &Station) -> Self {
        let mut order: Vec<u64> = (0..files).collect();
        station.random(u32::MAX).shuffle(&mut order);
        Self { order, next: AtomicU64::new(0) }
    }

    fn take(&self) -> Option<u64> {
        self.order.get(self.next.fetch_add(1, Ordering::Relaxed) as usize).copied()
    }
}

pub(super) async fn run(
    station: &Station,
    files: &Files,
    rounds: u32,
    file_bytes: u64,
    reopen: bool,
    seconds: Option<f64>,
) -> Result<Curve, Error> {
    let (start, limit) = station.begin(seconds).await;
    let mut curve = station.curve(start);
    while !limit.is_over(time::now()) {
        let Some(file) = files.take() else { break };
        let path = files::small(&station.place, station.client, file);
        let pattern = files::small_pattern(&station.place, station.client, file);
        if reopen {
            for _ in 0..rounds {
                let file = station.mount.open(&path, Access::Read).await?;
                round(&file, pattern, file_bytes).await?;
                file.close().await?;
                curve.complete(time::now(), file_bytes);
                curve.read(file_bytes);
                consume_budget().await;
            }
        } else {
            let file = station.mount.open(&path, Access::Read).await?;
            for done in 1..=rounds {
                round(&file, pattern, file_bytes).await?;
                if done < rounds {
                    curve.complete(time::now(), file_bytes);
                    curve.read(file_bytes);
                }
                consume_budget().await;
            }
            // The last round ends with the close, so that all of the file's price is inside its rounds.
            file.close().await?;
            curve.complete(time::now(), file_bytes);
            curve.read(file_bytes);
        }
    }
    station.finish().await;
    Ok(curve)
}

async fn round(file: &File, pattern: Pattern, file_bytes: u64) -> Result<(), Error> {
    file.lock(false).await?;
    let data = file.read(0, file_bytes as usize).await?;
    files::check(pattern, file, 0, &data, file_bytes)?;
    file.unlock().await
}

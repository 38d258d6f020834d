//! Creates new files, each thread in a directory of its own: open, write, close; or, empty, in one request.

use std::sync::Arc;

use tokio::task::coop::consume_budget;

use super::passes::Passes;
use super::{Access, Curve, Error, Mount, Pattern, Station, WorkDirectory, files, time};

/// A new directory for each thread of each client.
pub(super) async fn prepare_run(
    mount: &Arc<Mount>,
    place: &WorkDirectory,
    run: u64,
    threads: u32,
) -> Result<(), Error> {
    files::make_directories(mount, [top(place, run)]).await?;
    files::make_directories(mount, (0..place.clients).map(|client| of_client(place, run, client))).await?;
    let all = (0..place.clients).flat_map(|client| (0..threads).map(move |thread| (client, thread)));
    files::make_directories(mount, all.map(|(client, thread)| of_thread(place, run, client, thread))).await
}

/// Removes the directories and what was created in them.
pub(super) async fn remove_run(mount: &Arc<Mount>, place: &WorkDirectory, run: u64) -> Result<(), Error> {
    mount.remove_all(&top(place, run), None).await
}

pub(super) async fn run(
    station: &Station,
    files: &Passes,
    thread: u32,
    file_bytes: u64,
    seconds: Option<f64>,
) -> Result<Curve, Error> {
    let directory = of_thread(&station.place, station.run, station.client, thread);
    let data = Pattern::new(station.place.seed, u64::from(station.client), station.run)
        .bytes(0, file_bytes as usize);
    // Applications work in a directory; the way there is no part of creating a file.
    station.mount.visit(&directory).await?;
    let (start, limit) = station.begin(seconds).await;
    let mut curve = station.curve(start);
    let mut now = start;
    while !limit.is_over(now) && files.take() {
        let path = format!("{directory}/{}", curve.operations());
        if data.is_empty() {
            station.mount.create(&path).await?;
        } else {
            let file = station.mount.open(&path, Access::Create).await?;
            file.write(0, data.clone()).await?;
            file.close().await?;
        }
        now = time::now();
        curve.complete(now, file_bytes);
        consume_budget().await;
    }
    station.finish().await;
    Ok(curve)
}

fn top(place: &WorkDirectory, run: u64) -> String {
    format!("{}/run-{run}", place.directory)
}

fn of_client(place: &WorkDirectory, run: u64, client: u32) -> String {
    format!("{}/{client}", top(place, run))
}

fn of_thread(place: &WorkDirectory, run: u64, client: u32, thread: u32) -> String {
    format!("{}/{thread}", of_client(place, run, client))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Workload;
    use crate::workload::{Address, Habits, prepare_run, remove_run};

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn files_with_content_are_removed_after_their_run_and_empty_ones_stay() {
        let disk = tempfile::tempdir().unwrap();
        let habits = Habits { delegations: false, readahead: true, data_cache: true };
        let address = Address::Directory(disk.path().to_owned());
        let mount = Arc::new(Mount::connect(&address, "local", habits).await.unwrap());
        let place = WorkDirectory { directory: "/bench".to_owned(), clients: 2, seed: 1 };
        mount.make_directory(&place.directory).await.unwrap();
        for (run, file_bytes, left) in [(1, 0, 1), (2, 4096, 1), (3, 0, 2)] {
            let workload = Workload::Create { threads: 2, file_bytes, files: Some(4), seconds: None };
            prepare_run(&workload, &mount, &place, run).await.unwrap();
            let data = vec![1; file_bytes as usize].into();
            mount.write_file(&format!("{}/0", of_thread(&place, run, 1, 1)), data).await.unwrap();
            remove_run(&workload, &mount, &place, run).await.unwrap();
            assert_eq!(
                std::fs::read_dir(disk.path().join("bench")).unwrap().count(),
                left,
                "after run {run}"
            );
        }
    }
}

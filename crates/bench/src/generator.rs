//! The generator alone: one thread of one client reads one file in a directory of this machine, without
//! versions, blocks or a report.
//!
//! Owns the making of that file. The reads are those of the experiments' workloads; this is for setting them
//! beside what another tool does to the same file.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::experiment::Workload;
use crate::results::LOCAL;
use crate::runner::{Error, Quantity, Recording, outcome};
use crate::workload::{self, Address, Gate, Habits, Mount, Station, WorkDirectory, files};

/// What is read.
#[derive(Debug, Clone, Copy)]
pub struct Reads {
    /// At random places; else from the beginning to the end, again and again.
    pub random: bool,
    /// Of each read.
    pub io_bytes: u64,
    /// How long.
    pub seconds: f64,
    /// Whether the operating system keeps what was read (without it, O_DIRECT).
    pub data_cache: bool,
}

/// A file that is read.
pub struct Generator {
    directory: PathBuf,
    place: WorkDirectory,
    file_bytes: u64,
    runs: AtomicU32,
}

impl Generator {
    /// Makes a file of `file_bytes` bytes in `directory`.
    ///
    /// # Errors
    /// When it cannot be made.
    pub async fn prepare(directory: &Path, file_bytes: u64) -> Result<Self, Error> {
        let place = WorkDirectory { directory: String::new(), clients: 1, seed: 1 };
        let generator = Self { directory: directory.to_owned(), place, file_bytes, runs: AtomicU32::new(0) };
        let mount = generator.mount(true).await?;
        let path = files::shared(&generator.place);
        files::make_large(&mount, &path, generator.place.seed, 0, file_bytes)
            .await
            .map_err(|error| failed(&error))?;
        Ok(generator)
    }

    /// The file.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.directory.join(files::shared(&self.place).trim_start_matches('/'))
    }

    /// Bytes read for each second.
    ///
    /// # Errors
    /// When it cannot be read, or holds something else than it should.
    pub async fn bytes_per_second(&self, reads: Reads) -> Result<f64, Error> {
        let Reads { random, io_bytes, seconds, data_cache } = reads;
        let file_bytes = self.file_bytes;
        let workload = match random {
            true => Workload::RandomRead { file_bytes, io_bytes, threads: 1, seconds },
            false => Workload::SequentialRead { file_bytes, io_bytes, seconds },
        };
        let mount = self.mount(data_cache).await?;
        let gate = Gate::new(1);
        let station = Station {
            place: self.place.clone(),
            mount: mount.clone(),
            witness: mount.clone(),
            client: 0,
            run: 1,
            // Each reads at other places: of the same ones in the same order a cache that is smaller than the
            // file never has any.
            block: self.runs.fetch_add(1, Ordering::Relaxed),
            gates: vec![gate.clone()],
            stagger: Duration::ZERO,
            meters: None,
        };
        let working = tokio::spawn(workload::run(workload, station));
        let passing = async {
            gate.pass_when(|| (), async |()| {}).await;
            gate.pass_when(|| (), async |()| {}).await;
            std::future::pending::<Infallible>().await
        };
        // A thread that fails never comes to the gate.
        let worked = tokio::select! {
            worked = working => worked,
            never = passing => match never {},
        };
        let curves = worked
            .map_err(|error| failed(&workload::Error::Thread(error.to_string())))?
            .map_err(|error| failed(&error))?;
        let outcome = outcome(&[curves.concat()], Quantity::Megabytes, Duration::ZERO, Recording::Nothing);
        Ok(outcome.map_or(0.0, |outcome| outcome.value * 1e6))
    }

    async fn mount(&self, data_cache: bool) -> Result<Arc<Mount>, Error> {
        let habits = Habits { delegations: false, readahead: true, data_cache };
        let address = Address::Directory(self.directory.clone());
        let mount = Mount::connect(&address, LOCAL, habits).await.map_err(|error| failed(&error))?;
        Ok(Arc::new(mount))
    }
}

fn failed(error: &workload::Error) -> Error {
    Error::workload("generator", LOCAL, error)
}

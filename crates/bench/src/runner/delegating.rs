//! Waiting until a server delegates: Linux's grants none of files that were just written.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::Error;
use super::arm::Arm;
use super::measure::Trial;
use crate::terminal::Progress;
use crate::workload::delegated::{depends_on_delegations, is_delegated};

/// How long a server may take to delegate files that are new.
const DELEGATES_WITHIN: Duration = Duration::from_secs(30);
const LOOKS_EVERY: Duration = Duration::from_secs(1);

/// The arms whose server delegated nothing in time: they are waited for once.
#[derive(Debug, Default)]
pub(crate) struct Delegating {
    without: Mutex<BTreeSet<String>>,
}

impl Delegating {
    /// Waits until the servers of `arms` delegate the files of `trial`, where its workload is about that.
    pub(crate) async fn wait(
        &self,
        trial: &Trial<'_>,
        arms: &[Arm],
        progress: &mut Progress,
    ) -> Result<(), Error> {
        if !depends_on_delegations(&trial.setup().workload) {
            return Ok(());
        }
        for arm in arms.iter().filter(|arm| arm.id.delegations) {
            if self.without.lock().contains(&arm.name()) {
                continue;
            }
            let mut started = None;
            while !delegates(trial, arm).await? {
                let began = *started.get_or_insert_with(|| {
                    progress.step(&format!("{}: waiting until {} delegates files", trial.name(), arm.name()));
                    Instant::now()
                });
                if began.elapsed() >= DELEGATES_WITHIN {
                    self.without.lock().insert(arm.name());
                    progress.doubt(&doubt(&arm.name()));
                    break;
                }
                tokio::time::sleep(LOOKS_EVERY).await;
            }
        }
        Ok(())
    }

    /// Returns a doubt about each arm without delegations.
    pub(crate) fn doubts(&self) -> Vec<String> {
        self.without.lock().iter().map(|name| doubt(name)).collect()
    }
}

fn doubt(name: &str) -> String {
    format!(
        "The server delegated no file to {name} within {} s: it was measured without delegations.",
        DELEGATES_WITHIN.as_secs()
    )
}

/// Whether a client of `arm` gets a delegation now.
async fn delegates(trial: &Trial<'_>, arm: &Arm) -> Result<bool, Error> {
    let failed = |error| Error::workload(&trial.placed.experiment.name, &arm.name(), &error);
    let server = trial.server(arm);
    let mount = match server.connect(trial.clients(arm), arm).await? {
        Ok(mount) => mount,
        Err(cause) => {
            let (server, version) = (server.name.clone(), arm.name());
            return Err(Error::NotOffered { server, version, cause });
        }
    };
    let place = &trial.placed.places[arm.server];
    let found = is_delegated(&mount, place).await;
    mount.shut_down().await;
    found.map_err(failed)
}

//! The server that is measured: the one that was named, or one of our own.
//!
//! Owns the directory that the benchmark works in, which is fresh and bears its own name, and its removal. Nothing
//! outside of it is touched.

use std::path::PathBuf;
use std::sync::Arc;

use super::arm::Arm;
use super::own_server::OwnServer;
use super::{Error, Options};
use crate::seeded::mix;
use crate::workload::{Address, Mount, files};

/// What stands in results for the benchmark's own server.
pub(crate) const OWN: &str = "builtin";

/// A server and the directory on it.
pub(crate) struct Server {
    /// How it is named in results: its address, or "builtin".
    pub(crate) name: String,
    /// Where it is without any added delay.
    pub(crate) address: Address,
    /// The directory that all files of the benchmark are in.
    pub(crate) directory: String,
    /// A client that prepares files and checks what was written; it takes no part in any run.
    pub(crate) witness: Arc<Mount>,
    own: Option<OwnServer>,
}

impl Server {
    /// Reaches the server over the first version, and starts one when none is named. It makes nothing there yet.
    pub(crate) async fn open(options: &Options, first: &Arm) -> Result<Self, Error> {
        let own = match &options.server {
            Some(_) => None,
            None => Some(OwnServer::start(&serve_command(options)?).await?),
        };
        let url = own.as_ref().map(OwnServer::url).or(options.server.as_deref()).unwrap_or_default();
        let address = Address::parse(url).map_err(Error::Usage)?;
        let name = if own.is_some() { OWN.to_owned() } else { address.to_string() };
        // What it holds would have to be recalled from it.
        let witness = Arm { delegations: false, ..first.clone() };
        let witness = connect(&address, &name, &witness).await?;
        Ok(Self { name, address, directory: fresh_name(options.seed), witness: Arc::new(witness), own })
    }

    /// Makes the directory of the benchmark.
    pub(crate) async fn make_directory(&self) -> Result<(), Error> {
        self.witness.make_directory(&self.directory).await.map_err(|error| Error::Server {
            server: self.name.clone(),
            version: self.witness.version().to_owned(),
            cause: format!(
                "{error}; the benchmark needs a directory in which it may write (most servers take root for nobody: \
                 work as another user with ?uid=…&gid=… in the address)"
            ),
        })
    }

    /// A client of `arm` without any added delay.
    pub(crate) async fn connect(&self, arm: &Arm) -> Result<Mount, Error> {
        connect(&self.address, &self.name, arm).await
    }

    /// Why the benchmark's own server has ended; none while it runs, or when it is another's.
    pub(crate) fn has_ended(&mut self) -> Option<Error> {
        self.own.as_mut()?.has_ended().map(Error::OwnServer)
    }

    /// Removes everything that was made, and stops the server when it is our own.
    pub(crate) async fn close(self) -> Result<(), Error> {
        if let Some(own) = self.own {
            self.witness.shut_down().await;
            return own.stop().await;
        }
        let removed = files::remove_tree(&self.witness, &self.directory).await;
        self.witness.shut_down().await;
        removed.map_err(|error| Error::LeftBehind {
            server: self.name,
            directory: self.directory,
            cause: error.to_string(),
        })
    }
}

async fn connect(address: &Address, name: &str, arm: &Arm) -> Result<Mount, Error> {
    Mount::connect(address, &arm.version, arm.habits()).await.map_err(|error| Error::Server {
        server: name.to_owned(),
        version: arm.version.clone(),
        cause: error.to_string(),
    })
}

fn serve_command(options: &Options) -> Result<PathBuf, Error> {
    match &options.serve_command {
        Some(command) => Ok(command.clone()),
        None => Err(Error::Usage("there is no server to measure; name one with --server".to_owned())),
    }
}

/// A name that no other benchmark has: the process and a number that neither a seed nor a clock alone decides.
fn fresh_name(seed: u64) -> String {
    let clock = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |elapsed| elapsed.as_nanos() as u64);
    format!("/primetime-bench-{}-{:016x}", std::process::id(), mix(mix(seed) ^ clock))
}

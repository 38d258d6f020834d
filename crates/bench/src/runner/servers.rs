//! All servers of a benchmark: opened, swept, used and closed together.

use std::net::IpAddr;

use super::arm::Arms;
use super::target::{Reach, Server};
use super::{Error, Options};
use crate::terminal::say;

/// The servers, in the order of [`Arms::servers`].
pub(crate) struct Servers(Vec<Server>);

impl Servers {
    /// Reaches every server, or starts it at `listen`, else for this machine alone. It makes nothing there
    /// yet.
    pub(crate) async fn open(options: &Options, arms: &Arms, listen: Option<IpAddr>) -> Result<Self, Error> {
        let how = Reach {
            serve_command: options.serve_command.as_deref(),
            path_of_v3: options.path_of_v3.as_deref(),
            listen,
            maps_ports: options.guests_lock,
            seed: options.seed,
        };
        let mut opened = Self(Vec::new());
        for (target, index) in arms.servers.iter().zip(0..) {
            let own: Vec<_> = arms.arms.iter().filter(|arm| arm.server == index).cloned().collect();
            match Box::pin(Server::open(&how, target, &own)).await {
                Ok(server) => opened.0.push(server),
                Err(error) => {
                    // Nothing was made on the others.
                    let _ = opened.close(false).await;
                    return Err(error);
                }
            }
        }
        Ok(opened)
    }

    /// The servers.
    pub(crate) fn all(&self) -> &[Server] {
        &self.0
    }

    /// The names of all, for people.
    pub(crate) fn name(&self) -> String {
        self.0.iter().map(|server| server.name.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// Removes what killed benchmarks have left, as [`Server::sweep`] does. Returns a sentence for each.
    pub(crate) async fn sweep(&self, all: bool) -> Result<Vec<String>, Error> {
        let mut notes = Vec::new();
        for server in &self.0 {
            notes.extend(server.sweep(all).await?);
        }
        Ok(notes)
    }

    /// Makes the directory on each, where there is room for `needed` bytes. Those on this machine share its
    /// disk.
    pub(crate) async fn make_directories(&self, needed: f64) -> Result<(), Error> {
        let here = self.0.iter().filter(|server| server.is_here()).count();
        for server in &self.0 {
            let share = if server.is_here() { here } else { 1 };
            server.check_space(needed * share as f64).await?;
        }
        for server in &self.0 {
            server.make_directory().await?;
        }
        Ok(())
    }

    /// Why one of the benchmark's own servers has ended; none while they run.
    pub(crate) fn has_ended(&mut self) -> Option<Error> {
        self.0.iter_mut().find_map(Server::has_ended)
    }

    /// The servers with what was made on them, for people.
    pub(crate) fn places(&self) -> (String, String) {
        let directories = self.0.iter().map(|server| server.directory.as_str()).collect::<Vec<_>>();
        (self.name(), directories.join(", "))
    }

    /// Removes everything that was made, as [`Server::close`] does, on all servers. Returns the first error,
    /// and says the others.
    pub(crate) async fn close(self, others_work: bool) -> Result<(), Error> {
        let mut outcome = Ok(());
        for server in self.0 {
            match (server.close(others_work).await, &outcome) {
                (Err(error), Ok(())) => outcome = Err(error),
                (Err(error), Err(_)) => say(&error.to_string()),
                (Ok(()), _) => {}
            }
        }
        outcome
    }
}

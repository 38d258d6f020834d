//! The machine of the server, where an agent tells how busy it is.

use std::time::Duration;

use tokio::sync::Mutex;

use super::host::{Access, Host};
use super::message::{Answer, Order};
use crate::error::Error;
use crate::host_load::{Counted, Load};
use crate::results;
use crate::run_part::Conductor;

/// How often it is asked whether it is still there.
const PULSE: Duration = Duration::from_secs(1);

/// An agent there that has been reached.
pub(crate) struct ServerHost(Mutex<Host>);

impl ServerHost {
    pub(crate) async fn reach(name: &str, access: &Access<'_>) -> Result<Self, Error> {
        Host::reach(name, access).await.map(|host| Self(Mutex::new(host))).map_err(Error::Usage)
    }

    /// What is known of it.
    pub(crate) async fn facts(&self) -> results::Host {
        self.0.lock().await.facts.clone()
    }

    /// Lets it go, and waits until it has ended, for a time.
    pub(crate) async fn dismiss(self) {
        self.0.into_inner().dismiss().await;
    }

    /// Resolves when it is there no more.
    pub(crate) async fn lost(&self) -> Error {
        loop {
            tokio::time::sleep(PULSE).await;
            let is_there = |answer| matches!(answer, Answer::Pong { .. }).then_some(());
            if let Err(error) = self.ask(&Order::Ping, is_there).await {
                return error;
            }
        }
    }

    /// Returns what its kernel has counted, of disks for the device under the first of `exports` that exists.
    async fn look(&self, exports: &[String]) -> Result<Counted, Error> {
        let counted = |answer| match answer {
            Answer::Looked(counted) => Some(counted),
            _ => None,
        };
        self.ask(&Order::Look { exports: exports.to_vec() }, counted).await
    }

    async fn ask<T>(&self, order: &Order, wanted: impl Fn(Answer) -> Option<T>) -> Result<T, Error> {
        let mut host = self.0.lock().await;
        let asked = async {
            host.send(order).await?;
            loop {
                // Others are to questions that nobody waits for any more.
                if let Some(answer) = wanted(host.receive().await?) {
                    return Ok(answer);
                }
            }
        };
        let asked = asked.await;
        asked.map_err(|cause| Error::LostHost { host: host.name.clone(), cause })
    }
}

/// Looks at the machine of the server before and after each part of a run; at nothing where that is not
/// watched.
pub(crate) struct Watch<'a> {
    host: Option<&'a ServerHost>,
    exports: Vec<String>,
    looks: Vec<Result<Counted, Error>>,
}

impl<'a> Watch<'a> {
    /// `exports` are the paths at which that machine may have the export.
    pub(crate) fn new(host: Option<&'a ServerHost>, exports: Vec<String>) -> Self {
        Self { host, exports, looks: Vec::new() }
    }

    /// How busy it was, for each part; nothing where it is not watched.
    pub(crate) fn loads(self) -> Result<Vec<Load>, Error> {
        let looks = self.looks.into_iter().collect::<Result<Vec<_>, _>>()?;
        let part = |of: &[Counted]| match of {
            [before, after] => Some(after.since(before)),
            _ => None,
        };
        Ok(looks.chunks(2).filter_map(part).collect())
    }

    async fn look(&mut self) {
        if let Some(host) = self.host {
            self.looks.push(host.look(&self.exports).await);
        }
    }
}

impl Conductor for Watch<'_> {
    async fn ready(&mut self, _part: usize) {
        self.look().await;
    }

    async fn finished(&mut self, _part: usize) {
        self.look().await;
    }
}

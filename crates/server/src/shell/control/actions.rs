//! From a command to its answer.

use std::io;

use tokio::sync::oneshot;

use super::protocol::{Command, Request, Status};
use super::{Answers, Controlled, Shared};
use crate::shell::observe;

impl Answers {
    /// Sends the rows of an answer; or the sentence that says why there are none.
    pub(super) async fn answer(
        &mut self,
        request: Request,
        shared: &Shared,
    ) -> io::Result<Result<(), String>> {
        let (controlled, reloads) = &**shared;
        match request.command {
            Command::Status => self.row(&controlled.status().await).await?,
            Command::Clients => self.clients(controlled).await?,
            Command::Sessions => self.sessions(controlled).await?,
            Command::Opens => self.opens(controlled).await?,
            Command::Locks => self.locks(controlled).await?,
            Command::Delegations => self.delegations(controlled).await?,
            Command::Mounts => self.mounts(controlled).await?,
            Command::Exports => self.exports(controlled).await?,
            Command::Reload => {
                tracing::info!("the configuration is read again, by command");
                let (sender, answered) = oneshot::channel();
                let outcome = match reloads.send(sender).await {
                    Ok(()) => answered.await.ok(),
                    Err(_) => None,
                };
                match outcome.unwrap_or_else(|| Err("the server is about to stop".to_owned())) {
                    Ok(reloaded) => self.row(&reloaded).await?,
                    Err(sentence) => return Ok(Err(sentence)),
                }
            }
        }
        Ok(Ok(()))
    }
}

impl Controlled {
    async fn status(&self) -> Status {
        let state = self.recaller.state();
        let (clients, sessions) = state.client_and_session_counts();
        let held = observe::held(&self.recaller).await;
        let events = self.recaller.events();
        Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            address: self.address.to_string(),
            process: std::process::id(),
            uptime_seconds: self.started.elapsed().as_secs(),
            in_grace: state.in_grace(),
            grace_clients: state.awaited_clients() as u64,
            connections: events.connections_open(),
            clients: clients as u64,
            sessions: sessions as u64,
            reply_cache_bytes: state.session_bytes(),
            opens: held.opens as u64,
            locks: held.locks as u64,
            delegations: held.delegations as u64,
            shares: held.shares as u64,
            recalls: events.recalls(),
            delegations_revoked: events.delegations_revoked(),
            clients_expired: events.clients_expired(),
        }
    }
}

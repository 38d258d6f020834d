//! From a command to its answer.

use std::io;

use proto::nfs4::ClientId;
use tokio::sync::oneshot;

use super::lists::{client_text, file_text};
use super::protocol::{Command, Expired, Request, Revoked, Status};
use super::{Answers, Controlled, Shared, files};
use crate::observe;

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
            Command::Expire { client } => match controlled.expire(&client).await {
                Ok(expired) => self.row(&expired).await?,
                Err(sentence) => return Ok(Err(sentence)),
            },
            Command::Revoke { file } => match controlled.revoke(&file).await {
                Ok(revoked) => self.row(&revoked).await?,
                Err(sentence) => return Ok(Err(sentence)),
            },
        }
        Ok(Ok(()))
    }
}

impl Controlled {
    async fn status(&self) -> Status {
        let counts = self.services.observe().counts();
        let held = observe::held(&self.services).await;
        let events = self.services.events();
        let memory = self.memory.memory_use();
        Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            address: self.address.to_string(),
            process: std::process::id(),
            uptime_seconds: self.started.elapsed().as_secs(),
            in_grace: counts.in_grace,
            grace_clients: counts.awaited_clients as u64,
            connections: events.connections_open(),
            connections_stopped: memory.stopped_connections,
            memory_budget_bytes: memory.total,
            memory_request_bytes: memory.requests,
            memory_reply_bytes: memory.replies,
            memory_call_bytes: memory.calls,
            memory_connection_bytes: memory.connections,
            memory_state_bytes: memory.state,
            memory_share_bytes: memory.share,
            heaviest_client: memory.heaviest_client.map(|client| client.to_string()),
            heaviest_client_bytes: memory.heaviest,
            clients: counts.clients as u64,
            sessions: counts.sessions as u64,
            reply_cache_bytes: counts.reply_cache_bytes,
            opens: held.opens as u64,
            locks: held.locks as u64,
            delegations: held.delegations as u64,
            shares: held.shares as u64,
            recalls: events.recalls(),
            delegations_revoked: events.delegations_revoked(),
            clients_expired: events.clients_expired(),
            records_fault: self.records.as_ref().and_then(|records| records.fault()),
        }
    }

    async fn expire(&self, client: &str) -> Result<Expired, String> {
        let number = u64::from_str_radix(client, 16)
            .map_err(|_| format!("`{client}` is no client's number; `primetime ctl clients` lists them"))?;
        match self.services.expel_client(ClientId(number)).await {
            true => Ok(Expired { client: client_text(ClientId(number)) }),
            false => Err(format!("there is no client {client}; `primetime ctl clients` lists them")),
        }
    }

    async fn revoke(&self, file: &str) -> Result<Revoked, String> {
        let exports = self.keeper.exports().load_full();
        let file = files::find(&exports, file).await?;
        let revoked = self.services.revoke_file(file).await.map_err(|error| {
            format!(
                "not everything was revoked: that its holders may not reclaim it cannot be written down: \
                 {error}; see to the state directory, and try again"
            )
        })?;
        Ok(Revoked {
            file: file_text(file),
            opens: revoked.opens as u64,
            lock_owners: revoked.locks as u64,
            delegations: revoked.delegations as u64,
            nlm: revoked.nlm as u64,
        })
    }
}

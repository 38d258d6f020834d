//! Revocation by an administrator: of all state of a file, of all state of a client, or of the client itself
//! (RFC 8881 §8.5).
//!
//! Other clients may get the revoked state. So the client's record is removed from stable storage first: a
//! client that does not know of its loss must not reclaim, after a restart, state that another client holds
//! by then (RFC 8881 §8.4.3). Once the client has freed all revoked stateids it is recorded again. It cannot
//! reclaim state that it was granted meanwhile.

use std::io;

use proto::nfs4::ClientId;
use state::{FileId, Revoked};

use super::StateService;

impl StateService {
    /// Revokes the opens, locks and delegations of a file, and the locks and shares that were taken through
    /// NLM. Requests that were let begin under them still end.
    ///
    /// # Errors
    /// A client's record could not be removed: it keeps what it holds, and so do those after it.
    pub async fn revoke_file(&self, file: FileId) -> io::Result<Revoked> {
        let mut revoked = Revoked::default();
        for client in self.state().holders(file) {
            revoked.add(self.clients().revoke(&client, [file]).await?);
        }
        revoked.add(self.state().revoke_nlm(file));
        self.lock_waiters().locks_released(file);
        self.wake_held();
        tracing::info!(?file, ?revoked, "everything that was held of a file was revoked");
        Ok(revoked)
    }

    /// Revokes all state of a client. Its sessions stay, and SEQUENCE reports the loss. `None` when there is
    /// no such client.
    ///
    /// # Errors
    /// Its record could not be removed: it keeps what it holds.
    pub async fn revoke_client(&self, id: ClientId) -> io::Result<Option<Revoked>> {
        let Some(client) = self.state().client(id) else { return Ok(None) };
        let files = self.state().files_of(&client);
        let revoked = self.clients().revoke(&client, files.iter().copied()).await?;
        for file in files {
            self.lock_waiters().locks_released(file);
        }
        self.wake_held();
        tracing::info!(client = id.0, ?revoked, "everything that a client held was revoked");
        Ok(Some(revoked))
    }

    /// Expels a client, whatever its lease: its sessions end at once, and its state when none of its requests
    /// is in progress and its record is removed. The removal is tried until it succeeds. The client may
    /// return as a new one. False when there is no such client.
    pub async fn expel_client(&self, id: ClientId) -> bool {
        self.clients().expel_client(id).await
    }
}

//! What an administrator takes away: all that is held of a file, all that a client holds, or the client
//! itself (RFC 8881 §8.5).
//!
//! What is revoked may be given to others, so before that the client's record is removed from stable storage:
//! it may not know of its loss, and must not take back after a restart what is somebody else's by then (RFC
//! 8881 §8.4.3). When it has freed all that was revoked, it knows, and is recorded again; what it was given
//! meanwhile it cannot reclaim.

use std::io;

use proto::nfs4::ClientId;
use state::{Client, FileId, Revoked};

use super::Recaller;

impl Recaller {
    /// Revokes the opens, locks and delegations of a file, and the locks and shares that were taken through
    /// NLM. Requests that were let begin under them still end.
    ///
    /// # Errors
    /// A client's record could not be removed: it keeps what it holds, and so do those after it.
    pub async fn revoke_file(&self, file: FileId) -> io::Result<Revoked> {
        let mut revoked = Revoked::default();
        for client in self.state().holders(file) {
            revoked.add(self.revoke(&client, [file]).await?);
        }
        revoked.add(self.state().revoke_nlm(file));
        self.locks_released(file);
        self.wake();
        tracing::info!(?file, ?revoked, "everything that was held of a file was revoked");
        Ok(revoked)
    }

    /// Revokes all that a client holds. Its sessions stay, and it is told. `None` when there is no such
    /// client.
    ///
    /// # Errors
    /// Its record could not be removed: it keeps what it holds.
    pub async fn revoke_client(&self, id: ClientId) -> io::Result<Option<Revoked>> {
        let Some(client) = self.state().client(id) else { return Ok(None) };
        let files = self.state().files_of(&client);
        let revoked = self.revoke(&client, files.iter().copied()).await?;
        for file in files {
            self.locks_released(file);
        }
        self.wake();
        tracing::info!(client = id.0, ?revoked, "everything that a client held was revoked");
        Ok(Some(revoked))
    }

    /// Expels a client, whatever its lease: its sessions end at once, and what it held when no request of it
    /// is under way and its record is removed, which is tried until it succeeds. It may come back as a new
    /// client. False when there is none.
    pub async fn expel_client(&self, id: ClientId) -> bool {
        let Some(client) = self.state().evict(id) else { return false };
        tracing::info!(client = id.0, "a client was expelled");
        self.discard(&client).await;
        true
    }

    async fn revoke(&self, client: &Client, files: impl IntoIterator<Item = FileId>) -> io::Result<Revoked> {
        // From here on nobody writes the record again: what was asked for before is done before it is
        // removed.
        client.begin_loss();
        let removed = self.remove_record(client).await;
        let mut revoked = Revoked::default();
        if removed.is_ok() {
            for file in files {
                revoked.add(self.state().revoke(client, file));
            }
        }
        client.end_loss();
        if removed.is_ok() && !client.has_lost_by_order() {
            // It had nothing left of it.
            self.record_again(client).await;
        }
        removed.map(|()| revoked)
    }

    /// Records a client again that has just freed the last of what was revoked by order, and holds something.
    pub(crate) async fn record_again(&self, client: &Client) {
        if client.has_state() && self.add_record(client).await.is_err() {
            // Before it is given anything new it is tried again.
            client.set_unrecorded();
        }
    }
}

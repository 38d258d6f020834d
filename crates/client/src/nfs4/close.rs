//! CLOSE (RFC 8881 §18.2): kept for later while a delegation lasts, and never waited for.

use std::sync::Arc;

use proto::nfs4::{CloseArgs, Operation, StateId};

use super::Mount;
use super::core::Core;
use super::send::Kind;
use super::state::ServerOpen;
use crate::error::Result;
use crate::file::OpenFile;
use crate::node::Handle;

impl Mount {
    /// A file is closed; everything written is at the server and no lock is held.
    pub(crate) async fn close(&self, file: &OpenFile) {
        let returning = file.node.state.lock().delegation.is_some_and(|delegation| delegation.returning);
        // While a delegation is given back, an open at the server may just be made for this file.
        let _gate = if returning { Some(file.node.gate.lock().await) } else { None };
        let open = {
            let mut state = file.node.state.lock();
            let open = file.v4.lock().open.take();
            match open {
                Some(open) if state.is_delegated() && state.parked.is_none() && !open.write => {
                    state.parked = Some(open);
                    None
                }
                open => open,
            }
        };
        if let Some(open) = open {
            self.close_in_background(Some(&file.node.handle), open).await;
        }
    }

    /// Sends CLOSE in a task; waits only while too many are under way.
    pub(super) async fn close_in_background(&self, object: Option<&Handle>, open: ServerOpen) {
        if open.epoch != self.core.epoch() {
            return;
        }
        // CLOSE needs the object; without it only the lease can end the open.
        let Some(object) = object.cloned() else { return };
        let Ok(permit) = Arc::clone(&self.core.closing).acquire_owned().await else { return };
        let core = Arc::clone(&self.core);
        tokio::spawn(async move {
            if let Err(error) = core.close_open(&object, &open).await {
                tracing::debug!(%error, "closing a file");
            }
            drop(permit);
        });
    }
}

impl Core {
    async fn close_open(self: &Arc<Self>, object: &Handle, open: &ServerOpen) -> Result<()> {
        let args = CloseArgs { sequence: 0, state_id: open.state_id };
        let mut results = self
            .compound(Kind::repeatable(Operation::Close), |operations| {
                operations.put_fh(object).put(Operation::Close, &args);
            })
            .await?;
        results.done(Operation::PutFh)?;
        results.get::<StateId>(Operation::Close)?;
        self.owners.lock().give_back(open.owner);
        Ok(())
    }
}

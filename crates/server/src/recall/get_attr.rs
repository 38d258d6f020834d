//! CB_GETATTR: what the holder of a write delegation knows of its file (RFC 8881 §10.4.3, §20.1).

use std::pin::pin;

use futures_util::future::{Either, select};
use proto::nfs4::attributes::{AttributeId, Bitmap};
use proto::nfs4::{CallbackOperation, CbGetAttrArgs, CbGetAttrResult, ClientId, Status};
use state::FileId;

use super::{HOLD, Recaller};

/// Who knows the newest size and times of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holder {
    /// The file system: nobody else holds a write delegation, or its holder has changed nothing.
    Nobody,
    /// The file system, since just now: a delegation was returned.
    Returned,
    /// A client that has changes which it has not written yet.
    Modified {
        /// The size that the file will have.
        size: u64,
    },
}

impl Recaller {
    /// Asks the holder of a write delegation, if it is somebody else, for the size and for whether it has changed the file.
    /// When it does not answer, the delegation is recalled.
    ///
    /// # Errors
    /// DELAY when the delegation does not come back in time.
    pub(crate) async fn ask_holder(
        &self,
        file: FileId,
        client: Option<ClientId>,
        size: u64,
    ) -> Result<Holder, Status> {
        let Some(held) = self.state().write_delegation(file, client, self.now()) else {
            return Ok(Holder::Nobody);
        };
        let granted = self.inner.granted.lock().get(&held.state_id.other).copied();
        if let Some(granted) = granted.filter(|_| held.may_be_asked) {
            let wanted = Bitmap::of(&[AttributeId::Change, AttributeId::Size]);
            let arguments = CbGetAttrArgs { object: granted.object(), wanted };
            let referring = granted.referring_calls();
            let asking = pin!(self.callback(held.client, CallbackOperation::GetAttr, &arguments, referring));
            // Whoever asks for attributes waits for a silent holder no longer than for a recall.
            let answer = match select(asking, self.world().sleep(HOLD)).await {
                Either::Left((answer, _)) => answer,
                Either::Right(_) => None,
            };
            let told = answer.filter(|answer| answer.status == Status::Ok);
            if let Some(told) = told.and_then(|mut answer| answer.body.get::<CbGetAttrResult>().ok()) {
                let told = told.attributes;
                let changed = told.change.is_some_and(|change| change != granted.change);
                let new_size = told.size.unwrap_or(size);
                return Ok(if changed || new_size != size {
                    Holder::Modified { size: new_size }
                } else {
                    Holder::Nobody
                });
            }
        }
        self.before_read(file, client).await?;
        Ok(Holder::Returned)
    }
}

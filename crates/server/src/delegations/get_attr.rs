//! CB_GETATTR: the attributes of a file as the holder of its write delegation knows them (RFC 8881 §10.4.3,
//! §20.1).

use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{Either, select};
use proto::nfs4::attributes::{AttributeId, Bitmap};
use proto::nfs4::{CallbackOperation, CbGetAttrArgs, CbGetAttrResult, ClientId, StateId, Status, Time};
use state::FileId;
use vfs::Timestamp;

use super::{Delegations, HOLD};

/// The attributes that the holder of a write delegation reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HolderAttributes {
    /// The holder has changes that it has not written yet.
    pub(crate) modified: bool,
    /// The size that the file will have.
    pub(crate) size: u64,
    /// The time of access, where the holder keeps it (RFC 9754) and it is valid.
    pub(crate) time_access: Option<Timestamp>,
    /// The time of modification, where the holder keeps it and it is valid.
    pub(crate) time_modify: Option<Timestamp>,
}

const WITHOUT_TIMES: Bitmap = Bitmap::of(&[AttributeId::Change, AttributeId::Size]);
const WITH_TIMES: Bitmap =
    WITHOUT_TIMES.with(AttributeId::TimeDelegAccess).with(AttributeId::TimeDelegModify);

fn timestamp(time: Time) -> Timestamp {
    Timestamp { seconds: time.seconds, nanoseconds: time.nanoseconds.min(999_999_999) }
}

impl Delegations {
    /// The time of modification that the holder of a delegation sets, as it may be taken: between the grant
    /// and now.
    pub(crate) fn modified_by_holder(&self, id: &StateId, told: Timestamp) -> Option<Timestamp> {
        let granted = self.granted(id);
        granted?.modified(told, self.core.world().wall_clock())
    }

    /// Asks another client that holds a write delegation for the size, and whether it has changed the file.
    /// `None` when the attributes of the file system are current: also once the delegation of a holder that
    /// does not answer is recalled. With `times_only` only the time of access is wanted, and only a holder
    /// that keeps it is asked.
    ///
    /// # Errors
    /// DELAY when the delegation does not come back in time.
    pub(crate) async fn ask_holder(
        self: &Arc<Self>,
        file: FileId,
        client: Option<ClientId>,
        size: u64,
        times_only: bool,
    ) -> Result<Option<HolderAttributes>, Status> {
        let Some(held) = self.core.state().write_delegation(file, client, || self.core.now()) else {
            return Ok(None);
        };
        if times_only && !held.timestamps {
            return Ok(None);
        }
        let granted = self.granted(&held.state_id);
        if let Some(granted) = granted.filter(|_| held.may_be_asked) {
            let wanted = if held.timestamps { WITH_TIMES } else { WITHOUT_TIMES };
            let arguments = CbGetAttrArgs { object: granted.object(), wanted };
            let referring = granted.referring_calls();
            let asking =
                pin!(self.callbacks.callback(held.client, CallbackOperation::GetAttr, &arguments, referring));
            // A request for attributes waits for a silent holder no longer than for a recall.
            let answer = match select(asking, self.core.world().sleep(HOLD)).await {
                Either::Left((answer, _)) => answer,
                Either::Right(_) => None,
            };
            let told = answer.filter(|answer| answer.status == Status::Ok);
            if let Some(told) = told.and_then(|mut answer| answer.body.get::<CbGetAttrResult>().ok()) {
                let told = told.attributes;
                let changed = told.change.is_some_and(|change| change != granted.change);
                let new_size = told.size.unwrap_or(size);
                let now = self.core.world().wall_clock();
                let time_access =
                    told.time_deleg_access.and_then(|time| granted.accessed(timestamp(time), now));
                let time_modify =
                    told.time_deleg_modify.and_then(|time| granted.modified(timestamp(time), now));
                return Ok(Some(HolderAttributes {
                    modified: changed || new_size != size,
                    size: new_size,
                    time_access,
                    time_modify,
                }));
            }
        }
        self.before_read(file, client).await?;
        Ok(None)
    }
}

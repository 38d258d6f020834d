//! CB_GETATTR: what the holder of a write delegation knows of its file (RFC 8881 §10.4.3, §20.1).

use std::pin::pin;

use futures_util::future::{Either, select};
use proto::nfs4::attributes::{AttributeId, Bitmap};
use proto::nfs4::{CallbackOperation, CbGetAttrArgs, CbGetAttrResult, ClientId, StateId, Status, Time};
use state::FileId;
use vfs::Timestamp;

use super::{HOLD, Recaller};

/// What the holder of a write delegation tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Told {
    /// It has changes that it has not written yet.
    pub(crate) modified: bool,
    /// The size that the file will have.
    pub(crate) size: u64,
    /// When it has read it and written to it last, if it keeps the times (RFC 9754) and those can be.
    pub(crate) times: (Option<Timestamp>, Option<Timestamp>),
}

const WITHOUT_TIMES: Bitmap = Bitmap::of(&[AttributeId::Change, AttributeId::Size]);
const WITH_TIMES: Bitmap =
    WITHOUT_TIMES.with(AttributeId::TimeDelegAccess).with(AttributeId::TimeDelegModify);

fn timestamp(time: Time) -> Timestamp {
    Timestamp { seconds: time.seconds, nanoseconds: time.nanoseconds.min(999_999_999) }
}

impl Recaller {
    /// The time of modification that the holder of a delegation sets, as it may be taken: between the grant
    /// and now.
    pub(crate) fn modified_by_holder(&self, id: &StateId, told: Timestamp) -> Option<Timestamp> {
        let granted = self.granted(id);
        granted?.modified(told, self.world().wall_clock())
    }

    /// Asks the holder of a write delegation, if it is somebody else, for the size and for whether it has
    /// changed the file. Nothing when the file system knows best, since just now perhaps: when the holder
    /// does not answer, the delegation is recalled. `times_only` is for one who wants no more than the time
    /// of access: only a holder that keeps it is asked.
    ///
    /// # Errors
    /// DELAY when the delegation does not come back in time.
    pub(crate) async fn ask_holder(
        &self,
        file: FileId,
        client: Option<ClientId>,
        size: u64,
        times_only: bool,
    ) -> Result<Option<Told>, Status> {
        let Some(held) = self.state().write_delegation(file, client, || self.now()) else {
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
                let now = self.world().wall_clock();
                let accessed = told.time_deleg_access.and_then(|time| granted.accessed(timestamp(time), now));
                let modified = told.time_deleg_modify.and_then(|time| granted.modified(timestamp(time), now));
                return Ok(Some(Told {
                    modified: changed || new_size != size,
                    size: new_size,
                    times: (accessed, modified),
                }));
            }
        }
        self.before_read(file, client).await?;
        Ok(None)
    }
}

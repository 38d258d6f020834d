//! UNLOCK: gives a range back.

use proto::nlm4::{Response, Status, UnlockArgs};
use vfs::{Access, FileSystem};

use super::context::{Context, denied};
use super::lock_table::LockTable;

pub(super) async fn run<F: FileSystem, L: LockTable>(
    context: &Context<'_, F, L>,
    arguments: UnlockArgs,
) -> Response {
    // Giving back needs no permission: the mode may have changed since.
    let status = match context.lock(&arguments.lock, Access::default()).await {
        Err(status) => status,
        Ok((target, range)) => match context.locks.unlock(target.file, &target.owner, range) {
            // Giving back what one does not hold is a success, as retries need.
            Ok(()) => Status::Granted,
            Err(why) => denied(&why),
        },
    };
    Response { cookie: arguments.cookie, status }
}

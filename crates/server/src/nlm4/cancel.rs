//! CANCEL: gives up waiting for a lock.

use proto::nlm4::{CancelArgs, Response, Status};
use vfs::{Access, FileSystem};

use super::context::Context;
use super::lock_table::LockTable;

/// What does not wait cannot be given up: NLM4_DENIED, and a lock that was granted stays. One that is just
/// being granted is given up: its host does not know of it, or will say the same in its answer.
pub(super) async fn run<F: FileSystem, L: LockTable>(
    context: &Context<'_, F, L>,
    arguments: CancelArgs,
) -> Response {
    let status = match context.lock(&arguments.lock, Access::default()).await {
        Err(status) => status,
        Ok((target, range)) => {
            let waited = context.locks.cancel(target.file, &target.owner, range, arguments.exclusive);
            if waited { Status::Granted } else { Status::Denied }
        }
    };
    Response { cookie: arguments.cookie, status }
}

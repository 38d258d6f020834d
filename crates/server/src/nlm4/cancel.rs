//! CANCEL: gives up waiting for a lock.

use proto::nlm4::{CancelArgs, Response, Status};
use vfs::{Access, FileSystem};

use super::context::Context;
use super::lock_table::LockTable;

/// No request ever waits here, so there is nothing to cancel: NLM4_DENIED. A lock that was granted stays.
pub(super) async fn run<F: FileSystem, L: LockTable>(
    context: &Context<'_, F, L>,
    arguments: CancelArgs,
) -> Response {
    let status = match context.lock(&arguments.lock, Access::default()).await {
        Err(status) => status,
        Ok(_) => Status::Denied,
    };
    Response { cookie: arguments.cookie, status }
}

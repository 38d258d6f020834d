//! LOCKU (RFC 8881 §18.12).

use proto::nfs4::{LockUArgs, LockUResult, Status};
use state::Range;
use vfs::FileSystem;

use super::context::Context;

pub(crate) fn run<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &LockUArgs,
) -> Result<LockUResult, Status> {
    let id = context.resolve_state(arguments.state_id)?;
    let object = context.object()?;
    let range = Range::new(arguments.offset, arguments.length)?;
    let state_id = context.server.state().unlock(context.client()?, object.file(), &id, range)?;
    context.server.services().lock_waiters().locks_released(object.file());
    context.current_state = state_id;
    Ok(LockUResult { state_id })
}

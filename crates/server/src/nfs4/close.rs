//! CLOSE and OPEN_DOWNGRADE (RFC 8881 §18.2, §18.18).

use proto::nfs4::{CloseArgs, OpenDowngradeArgs, StateId, Status};
use vfs::FileSystem;

use super::context::Context;
use super::unsettled;

pub(crate) async fn close<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &CloseArgs,
) -> Result<StateId, Status> {
    if arguments.state_id != StateId::CURRENT {
        unsettled::settle(context).await?;
    }
    let id = context.resolve_state(arguments.state_id)?;
    let object = context.object()?;
    let client = context.client()?;
    context.server.state().close_of(client, object.file(), &id)?;
    // RFC 8881 §18.2.4: the stateid in the result is of no use, and this one says so.
    context.current_state = StateId::INVALID;
    Ok(StateId::INVALID)
}

pub(crate) fn downgrade<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &OpenDowngradeArgs,
) -> Result<StateId, Status> {
    let id = context.resolve_state(arguments.state_id)?;
    let object = context.object()?;
    let client = context.client()?;
    let state = context.server.state();
    state.check_file(client, object.file(), &id)?;
    let id = state.open_downgrade(client, &id, arguments.share_access, arguments.share_deny)?;
    context.current_state = id;
    Ok(id)
}

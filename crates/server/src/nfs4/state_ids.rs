//! TEST_STATEID, FREE_STATEID, DELEGRETURN and RECLAIM_COMPLETE (RFC 8881 §18.48, §18.38, §18.6, §18.51).

use proto::nfs4::{
    DelegReturnArgs, FreeStateIdArgs, ReclaimCompleteArgs, Status, TestStateIdArgs, TestStateIdResult,
};
use vfs::FileSystem;

use super::context::Context;

pub(crate) fn test<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &TestStateIdArgs,
) -> Result<TestStateIdResult, Status> {
    let client = context.client()?;
    let state = context.server.state();
    let statuses = arguments.state_ids.iter().map(|id| state.test_state_id(client, id)).collect();
    Ok(TestStateIdResult { statuses })
}

pub(crate) async fn free<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &FreeStateIdArgs,
) -> Result<(), Status> {
    let id = context.resolve_state(arguments.state_id)?;
    let client = context.client()?;
    let (had_lost, lost) = (client.has_lost_by_order(), client.lost());
    context.server.state().free_state_id(client, &id)?;
    if had_lost && !client.has_lost_by_order() {
        context.server.services().recovery().record_again(client).await;
    } else if client.lost() != lost {
        context.server.services().recovery().record_loss(client).await;
    }
    Ok(())
}

pub(crate) fn return_delegation<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &DelegReturnArgs,
) -> Result<(), Status> {
    let id = context.resolve_state(arguments.state_id)?;
    let object = context.object()?;
    let client = context.client()?;
    let state = context.server.state();
    state.check_file(client, object.file(), &id)?;
    state.return_delegation(client, &id)?;
    context.server.services().delegations().delegation_ended(&id);
    Ok(())
}

pub(crate) async fn reclaim_complete<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &ReclaimCompleteArgs,
) -> Result<(), Status> {
    if arguments.one_fs {
        // There is no migration: a file system's own reclaim has nothing to complete (RFC 8881 §18.51.3).
        context.object()?;
        return Ok(());
    }
    context.server.services().recovery().record_reclaimed(context.client()?).await?;
    context.server.state().reclaim_complete(context.client()?)?;
    // The last one to be waited for need not find the door still closed.
    context.server.services().recovery().end_grace_if_due().await;
    Ok(())
}

//! CLONE (RFC 7862 §15.13): the current file shares a range of the saved one.

use proto::nfs4::{CloneArgs, Status};
use vfs::{FileSystem, Span};

use super::context::Context;
use super::copy::count_within;
use super::{conflict, regular, status};

pub(crate) async fn run<F: FileSystem>(context: &Context<'_, F>, arguments: CloneArgs) -> Result<(), Status> {
    let source_state = context.resolve_saved_state(arguments.source_state_id)?;
    let target_state = context.resolve_state(arguments.target_state_id)?;
    let (source, target) = (context.saved()?, context.object()?);
    context.writable(target)?;
    if !target.fs().capabilities().clone.may_work() {
        return Err(Status::NotSupported);
    }
    if source.export.id() != target.export.id() {
        return Err(Status::CrossDevice);
    }
    let size = regular::check_only(source).await?.size;
    regular::check_only(target).await?;
    let _using = conflict::before_read(context, source, &source_state).await?;
    let _writing = conflict::before_write(context, target, &target_state).await?;
    let identity = context.identity(target)?;
    let CloneArgs { source_offset: from, target_offset: to, .. } = arguments;
    let count = count_within(size, from, arguments.count)?;
    if count == 0 {
        return Ok(());
    }
    let span = Span { from, to, count };
    target.fs().clone_range(&identity, &source.node, &target.node, span).await.map_err(status::of)
}

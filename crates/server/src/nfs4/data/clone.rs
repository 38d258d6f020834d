//! CLONE (RFC 7862 §15.13): the current file shares a range of the saved one.

use proto::nfs4::{CloneArgs, Operation, Status};
use vfs::{FileSystem, Span};
use xdr::{Decoder, Encoder};

use crate::nfs4::data::copy::count_within;
use crate::nfs4::engine::conflict;
use crate::nfs4::engine::context::Context;
use crate::nfs4::engine::descriptor::Descriptor;
use crate::nfs4::engine::regular;
use crate::nfs4::engine::result::{Failure, decode};
use crate::nfs4::engine::status;

pub(crate) const DESCRIPTOR: Descriptor = Descriptor {
    replaced: &[(Status::FileOpen, Status::AccessDenied)],
    ..Descriptor::changes(Operation::Clone)
};

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    _reply: &mut Encoder,
) -> Result<(), Failure> {
    Ok(run(context, decode(arguments)?).await?)
}

async fn run<F: FileSystem>(context: &Context<'_, F>, arguments: CloneArgs) -> Result<(), Status> {
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
    target
        .fs()
        .clone_range(target.request(&identity), &source.node, &target.node, span)
        .await
        .map_err(status::of)
}

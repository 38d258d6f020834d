//! ALLOCATE (RFC 7862 §15.1).

use proto::nfs4::{AllocateArgs, Operation, Status};
use vfs::FileSystem;
use xdr::{Decoder, Encoder};

use crate::nfs4::engine::conflict;
use crate::nfs4::engine::context::Context;
use crate::nfs4::engine::descriptor::Descriptor;
use crate::nfs4::engine::regular;
use crate::nfs4::engine::result::{Failure, decode};
use crate::nfs4::engine::status;

pub(crate) const DESCRIPTOR: Descriptor = Descriptor {
    replaced: &[(Status::FileOpen, Status::AccessDenied)],
    ..Descriptor::changes(Operation::Allocate)
};

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    _reply: &mut Encoder,
) -> Result<(), Failure> {
    Ok(change_space(context, decode(arguments)?, Space::Reserved).await?)
}

/// What becomes of the space of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Space {
    Reserved,
    GivenBack,
}

pub(crate) async fn change_space<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: AllocateArgs,
    space: Space,
) -> Result<(), Status> {
    let AllocateArgs { state_id, offset, length } = arguments;
    let state_id = context.resolve_state(state_id)?;
    let object = context.object()?;
    context.writable(object)?;
    if !object.fs().capabilities().allocate.may_work() {
        return Err(Status::NotSupported);
    }
    regular::check_only(object).await?;
    let _writing = conflict::before_write(context, object, &state_id).await?;
    if length == 0 || offset.checked_add(length).is_none() {
        return Err(Status::Invalid);
    }
    let identity = context.identity(object)?;
    match space {
        Space::Reserved => {
            object.fs().allocate(object.request(&identity), &object.node, offset, length).await
        }
        Space::GivenBack => {
            object.fs().deallocate(object.request(&identity), &object.node, offset, length).await
        }
    }
    .map_err(status::of)
}

//! GET_DIR_DELEGATION (RFC 8881 §18.39): delegations of directories, without notifications: every change by
//! others recalls.

use proto::nfs4::attributes::Bitmap;
use proto::nfs4::{DirDelegation, GetDirDelegationArgs, GetDirDelegationResult, Operation, Status};
use state::recallable::DIRECTORY_DELEGATION;
use vfs::{Access, FileKind, FileSystem};
use xdr::{Decoder, Encoder};

use crate::nfs4::engine::context::Context;
use crate::nfs4::engine::descriptor::{BITMAP_BYTES, Descriptor, STATE_ID_BYTES, STATUS_BYTES};
use crate::nfs4::engine::result::{Failure, decode, put};
use crate::nfs4::engine::status;
use crate::nfs4::names::read_dir;

pub(crate) const DESCRIPTOR: Descriptor = Descriptor {
    room_bytes: STATUS_BYTES + 4 + 8 + STATE_ID_BYTES + 3 * BITMAP_BYTES,
    ..Descriptor::changes(Operation::GetDirDelegation)
};

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    reply: &mut Encoder,
) -> Result<(), Failure> {
    put(reply, &run(context, decode(arguments)?).await?)
}

async fn run<F: FileSystem>(
    context: &mut Context<'_, F>,
    _: GetDirDelegationArgs,
) -> Result<GetDirDelegationResult, Status> {
    let directory = context.object()?;
    let fs = directory.fs();
    if directory.attributes().await.map_err(status::of)?.kind != FileKind::Directory {
        return Err(Status::NotDirectory);
    }
    let identity = context.identity(directory)?;
    let granted =
        fs.access(directory.request(&identity), &directory.node, Access::READ).await.map_err(status::of)?;
    if !granted.contains(Access::READ) {
        return Err(Status::AccessDenied);
    }
    // Nothing is signalled later, whatever the client would like.
    let unavailable = GetDirDelegationResult::Unavailable(false);
    if !context.delegates(directory) || !context.callbacks_work() {
        return Ok(unavailable);
    }
    let (client, services) = (context.client()?, context.server.services());
    services.recovery().record(client).await?;
    let Some(id) = services.state().delegate_directory(client, directory.file(), services.now())? else {
        return Ok(unavailable);
    };
    if !context.note_grant(directory, &id, &DIRECTORY_DELEGATION, None)? {
        return Ok(unavailable);
    }
    context.current_state = id;
    Ok(GetDirDelegationResult::Ok(DirDelegation {
        cookie_verifier: read_dir::VERIFIER,
        state_id: id,
        notification_types: Bitmap::EMPTY,
        child_attributes: Bitmap::EMPTY,
        directory_attributes: Bitmap::EMPTY,
    }))
}

//! LINK (RFC 8881 §18.9): another name in the current directory for the saved object.

use proto::nfs4::{LinkArgs, LinkResult, Operation, Status};
use vfs::{FileKind, FileSystem};
use xdr::{Decoder, Encoder};

use crate::nfs4::engine::change::ChangeBefore;
use crate::nfs4::engine::conflict;
use crate::nfs4::engine::context::Context;
use crate::nfs4::engine::descriptor::{CHANGE_INFO_BYTES, Descriptor, STATUS_BYTES};
use crate::nfs4::engine::name::checked_name;
use crate::nfs4::engine::result::{Failure, decode, put};
use crate::nfs4::engine::status;
use crate::persistent::{Change, Named};

pub(crate) const DESCRIPTOR: Descriptor = Descriptor {
    room_bytes: STATUS_BYTES + CHANGE_INFO_BYTES,
    replaced: &[(Status::NoEntry, Status::Stale)],
    ..Descriptor::changes(Operation::Link)
};

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    reply: &mut Encoder,
) -> Result<(), Failure> {
    put(reply, &run(context, decode(arguments)?).await?)
}

async fn run<F: FileSystem>(context: &mut Context<'_, F>, arguments: LinkArgs) -> Result<LinkResult, Status> {
    let object = context.saved()?;
    let directory = context.object()?;
    let name = checked_name(&arguments.new_name)?;
    context.writable(object)?;
    context.writable(directory)?;
    if !directory.fs().capabilities().hard_links {
        return Err(Status::NotSupported);
    }
    if object.export.id() != directory.export.id() {
        return Err(Status::CrossDevice);
    }
    let identity = context.identity(directory)?;
    if identity != context.identity(object)? {
        return Err(Status::AccessDenied);
    }
    let attributes = object.attributes().await.map_err(status::of)?;
    if attributes.kind == FileKind::Directory {
        return Err(Status::IsDirectory);
    }
    // A RENAME that has found no holder under this name must not replace the link.
    let names = conflict::take_names(context, [(directory, name)]).await?;
    let _changing = conflict::before_name_change(context, &names, &[directory], &[object], None).await?;
    let change = ChangeBefore::of(directory).await?;
    if context.is_persistent() && directory.is_free(name).await {
        let linked = Named { at: directory.entry(name), object: object.handle() };
        context.intend(Change::Link(linked)).await?;
    }
    directory
        .fs()
        .link(directory.request(&identity), &object.node, &directory.node, name)
        .await
        .map_err(status::of)?;
    Ok(LinkResult { change: change.after(directory).await? })
}

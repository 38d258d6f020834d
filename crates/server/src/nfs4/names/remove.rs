//! REMOVE (RFC 8881 §18.25).

use proto::nfs4::{Operation, RemoveArgs, RemoveResult, Status};
use vfs::{FileSystem, RemoveKind};
use xdr::{Decoder, Encoder};

use crate::nfs4::engine::change::ChangeBefore;
use crate::nfs4::engine::conflict;
use crate::nfs4::engine::context::Context;
use crate::nfs4::engine::descriptor::{CHANGE_INFO_BYTES, Descriptor, STATUS_BYTES};
use crate::nfs4::engine::name::checked_name;
use crate::nfs4::engine::result::{Failure, decode, put};
use crate::nfs4::engine::status;
use crate::nfs4::names::lookup;
use crate::persistent::{Change, Named};

pub(crate) const DESCRIPTOR: Descriptor = Descriptor {
    room_bytes: STATUS_BYTES + CHANGE_INFO_BYTES,
    replaced: &[(Status::Symlink, Status::NotDirectory)],
    ..Descriptor::changes(Operation::Remove)
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
    arguments: RemoveArgs,
) -> Result<RemoveResult, Status> {
    let name = checked_name(&arguments.target)?;
    context.not_crossing(context.object()?, name)?;
    let names = conflict::take_names(context, [(context.object()?, name)]).await?;
    // The holder of a delegation learns of the removal (RFC 8881 §10.4.4), so the object is looked up first.
    let (victim, _) = lookup::child(context, &arguments.target).await?;
    let directory = context.object()?;
    context.writable(directory)?;
    let _changing =
        conflict::before_name_change(context, &names, &[directory], &[&victim], Some(&victim)).await?;
    let identity = context.identity(directory)?;
    let change = ChangeBefore::of(directory).await?;
    if context.is_persistent() {
        let removed = Named { at: directory.entry(name), object: victim.handle() };
        context.intend(Change::Remove(removed)).await?;
    }
    let removed =
        directory.fs().remove(directory.request(&identity), &directory.node, name, RemoveKind::Any).await;
    // Also after an error: it may be one of putting the change on the disk.
    context.server.services().delegations().name_removed(victim.fs(), &victim.node).await;
    removed.map_err(status::of)?;
    Ok(RemoveResult { change: change.after(directory).await? })
}

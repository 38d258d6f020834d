//! RENAME (RFC 8881 §18.26): from the saved directory to the current one.

use proto::nfs4::{Operation, RenameArgs, RenameResult, Status};
use vfs::{FileKind, FileSystem, Identity, Name};
use xdr::{Decoder, Encoder};

use crate::nfs4::engine::change::ChangeBefore;
use crate::nfs4::engine::conflict;
use crate::nfs4::engine::context::{Context, Object};
use crate::nfs4::engine::descriptor::{CHANGE_INFO_BYTES, Descriptor, STATUS_BYTES};
use crate::nfs4::engine::name::checked_name;
use crate::nfs4::engine::result::{Failure, decode, put};
use crate::nfs4::engine::status;
use crate::persistent::{Change, Moved};

pub(crate) const DESCRIPTOR: Descriptor = Descriptor {
    room_bytes: STATUS_BYTES + 2 * CHANGE_INFO_BYTES,
    replaced: &[(Status::NotSupported, Status::Invalid)],
    ..Descriptor::changes(Operation::Rename)
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
    arguments: RenameArgs,
) -> Result<RenameResult, Status> {
    let source = context.saved()?;
    let target = context.object()?;
    let (old, new) = (checked_name(&arguments.old_name)?, checked_name(&arguments.new_name)?);
    context.writable(source)?;
    context.writable(target)?;
    if source.export.id() != target.export.id() {
        return Err(Status::CrossDevice);
    }
    context.not_crossing(source, old)?;
    context.not_crossing(target, new)?;
    // Rights are those on both sides.
    let identity = context.identity(source)?;
    if identity != context.identity(target)? {
        return Err(Status::AccessDenied);
    }
    let names = conflict::take_names(context, [(source, old), (target, new)]).await?;
    // Without an object to rename, nothing is recalled.
    let moved = match named(source, &identity, old).await {
        Ok(moved) => moved,
        Err(error) => return Err(refusal(source, target, error).await),
    };
    let replaced = named(target, &identity, new).await.ok();
    // A denial of writing keeps the target also where both names are of one file (RFC 8881 §18.26.4).
    let objects: Vec<_> = [&moved].into_iter().chain(&replaced).collect();
    let _changing =
        conflict::before_name_change(context, &names, &[source, target], &objects, replaced.as_ref()).await?;
    let (source_change, target_change) = (ChangeBefore::of(source).await?, ChangeBefore::of(target).await?);
    let (from, to) = (source.entry(old), target.entry(new));
    if context.is_persistent() && from != to {
        context.intend(Change::Rename(Moved { from, to, object: moved.handle() })).await?;
    }
    let renamed = source.fs().rename(source.request(&identity), &source.node, old, &target.node, new).await;
    if let Some(replaced) = replaced {
        // Also after an error: it may be one of putting the change on the disk.
        context.server.services().delegations().name_removed(replaced.fs(), &replaced.node).await;
    }
    if let Err(error) = renamed {
        return Err(refusal(source, target, error).await);
    }
    Ok(RenameResult {
        source: source_change.after(source).await?,
        target: target_change.after(target).await?,
    })
}

/// An existing target of another kind than the source is NFS4ERR_EXIST (RFC 8881 §18.26.3): what the back end
/// says of the two objects must not be taken for a word on the directories.
async fn refusal<F: FileSystem>(source: &Object<'_, F>, target: &Object<'_, F>, error: vfs::Error) -> Status {
    match error {
        vfs::Error::IsDirectory => Status::Exists,
        // A symbolic link is no directory either, and RENAME has no status of its own for it.
        vfs::Error::IsSymlink => Status::NotDirectory,
        vfs::Error::NotDirectory if is_directory(source).await && is_directory(target).await => {
            Status::Exists
        }
        error => status::of(error),
    }
}

async fn is_directory<F: FileSystem>(object: &Object<'_, F>) -> bool {
    matches!(object.attributes().await, Ok(found) if found.kind == FileKind::Directory)
}

/// The object called `name`.
async fn named<'e, F: FileSystem>(
    directory: &Object<'e, F>,
    identity: &Identity,
    name: Name<'_>,
) -> vfs::Result<Object<'e, F>> {
    let (node, _) = directory.fs().lookup(directory.request(identity), &directory.node, name).await?;
    Ok(directory.beside(node))
}

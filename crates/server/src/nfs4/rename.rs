//! RENAME (RFC 8881 §18.26): from the saved directory to the current one.

use proto::nfs4::{RenameArgs, RenameResult, Status};
use vfs::{FileKind, FileSystem};

use super::change::ChangeBefore;
use super::context::{Context, Object};
use super::{conflict, names, status};
use crate::persistent::{Change, Moved};

pub(crate) async fn run<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: RenameArgs,
) -> Result<RenameResult, Status> {
    let source = context.saved()?;
    let target = context.object()?;
    let (old, new) = (names::checked(&arguments.old_name)?, names::checked(&arguments.new_name)?);
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
    let _names = conflict::take_names(context, [(source, old), (target, new)]).await?;
    let _source = conflict::before_entry_change(context, source).await?;
    let _target = conflict::before_entry_change(context, target).await?;
    let moved = named(context, source, old).await?;
    let _moving = before_change(context, moved.as_ref()).await?;
    let replaced = named(context, target, new).await?;
    let _replacing = before_change(context, replaced.as_ref()).await?;
    // Two names of one object: nothing will happen.
    let lost = replaced.as_ref().filter(|lost| moved.as_ref().is_none_or(|moved| moved.id() != lost.id()));
    if let Some(lost) = lost {
        conflict::check_removal(context, lost).await?;
    }
    let (source_change, target_change) = (ChangeBefore::of(source).await?, ChangeBefore::of(target).await?);
    if let Some(object) = moved.filter(|_| context.is_persistent()) {
        let (from, to) = (source.entry(old), target.entry(new));
        if from != to {
            context.intend(Change::Rename(Moved { from, to, object: object.handle() })).await?;
        }
    }
    let renamed = source.fs().rename(&identity, &source.node, old, &target.node, new).await;
    if let Some(replaced) = replaced {
        // Also after an error: it may be one of putting the change on the disk.
        context.server.recaller().name_removed(replaced.fs(), &replaced.node).await;
    }
    if let Err(error) = renamed {
        return Err(refusal(source, target, error).await);
    }
    Ok(RenameResult {
        source: source_change.after(source).await?,
        target: target_change.after(target).await?,
    })
}

/// An existing target of another kind than the source is NFS4ERR_EXIST (RFC 8881 §18.26.3): what the back end says of the two
/// objects must not be taken for a word on the directories.
async fn refusal<F: FileSystem>(source: &Object<'_, F>, target: &Object<'_, F>, error: vfs::Error) -> Status {
    match error {
        vfs::Error::IsDirectory => Status::Exists,
        vfs::Error::NotDirectory if is_directory(source).await && is_directory(target).await => {
            Status::Exists
        }
        error => status::of(error),
    }
}

async fn is_directory<F: FileSystem>(object: &Object<'_, F>) -> bool {
    matches!(object.fs().attributes(&object.node).await, Ok(found) if found.kind == FileKind::Directory)
}

/// The object called `name`, if there is one; what is wrong with it RENAME itself finds.
async fn named<'e, F: FileSystem>(
    context: &Context<'_, F>,
    directory: &Object<'e, F>,
    name: vfs::Name<'_>,
) -> Result<Option<Object<'e, F>>, Status> {
    let identity = context.identity(directory)?;
    let found = directory.fs().lookup(&identity, &directory.node, name).await.ok();
    Ok(found.map(|(node, _)| Object { export: directory.export, node }))
}

/// Recalls what is delegated of an object.
async fn before_change<'a, F: FileSystem>(
    context: &'a Context<'_, F>,
    object: Option<&Object<'_, F>>,
) -> Result<Option<state::Changing<'a>>, Status> {
    match object {
        Some(object) => conflict::before_change(context, object).await.map(Some),
        None => Ok(None),
    }
}

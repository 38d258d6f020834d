//! RENAME (RFC 8881 §18.26): from the saved directory to the current one.

use proto::nfs4::{RenameArgs, RenameResult, Status};
use vfs::FileSystem;

use super::change::ChangeBefore;
use super::context::{Context, Object};
use super::{conflict, names, status};

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
    // Rights are those on both sides.
    let identity = context.identity(source)?;
    if identity != context.identity(target)? {
        return Err(Status::AccessDenied);
    }
    let _source = conflict::before_entry_change(context, source).await?;
    let _target = conflict::before_entry_change(context, target).await?;
    let _moving = before_change_of_name(context, source, old).await?;
    let _replacing = before_change_of_name(context, target, new).await?;
    let (source_change, target_change) = (ChangeBefore::of(source).await?, ChangeBefore::of(target).await?);
    source.fs().rename(&identity, &source.node, old, &target.node, new).await.map_err(status::of)?;
    Ok(RenameResult {
        source: source_change.after(source).await?,
        target: target_change.after(target).await?,
    })
}

/// Recalls what is delegated of the object called `name`, if there is one; what is wrong with it RENAME itself finds.
async fn before_change_of_name<'a, F: FileSystem>(
    context: &'a Context<'_, F>,
    directory: &Object<F>,
    name: vfs::Name<'_>,
) -> Result<Option<state::Changing<'a>>, Status> {
    let identity = context.identity(directory)?;
    let Ok((node, _)) = directory.fs().lookup(&identity, &directory.node, name).await else {
        return Ok(None);
    };
    let object = Object { export: directory.export.clone(), node };
    conflict::before_change(context, &object).await.map(Some)
}

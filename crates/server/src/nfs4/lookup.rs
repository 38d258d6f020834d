//! LOOKUP (RFC 8881 §18.13).

use proto::nfs4::{LookupArgs, Status};
use vfs::{Attributes, FileKind, FileSystem};

use super::context::{Context, Object};
use super::{names, status};

pub(crate) async fn run<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: LookupArgs,
) -> Result<(), Status> {
    match child(context, &arguments.name).await {
        Ok((object, _)) => context.set_current(object),
        // A symbolic link has a status of its own here, and only here (RFC 8881 §18.13.4).
        Err(Status::NotDirectory) => return Err(not_directory(context.object()?).await),
        Err(status) => return Err(status),
    }
    Ok(())
}

/// The object called `name` in the current directory.
pub(crate) async fn child<F: FileSystem>(
    context: &Context<'_, F>,
    name: &[u8],
) -> Result<(Object<F>, Attributes), Status> {
    let directory = context.object()?;
    let identity = context.identity(directory)?;
    let name = names::checked(name)?;
    let found = directory.fs().lookup(&identity, &directory.node, name).await;
    let (node, attributes) = found.map_err(status::of)?;
    Ok((Object { export: directory.export.clone(), node }, attributes))
}

async fn not_directory<F: FileSystem>(object: &Object<F>) -> Status {
    match object.fs().attributes(&object.node).await {
        Ok(attributes) if attributes.kind == FileKind::Symlink => Status::Symlink,
        _ => Status::NotDirectory,
    }
}

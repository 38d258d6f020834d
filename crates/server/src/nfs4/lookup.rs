//! LOOKUP (RFC 8881 §18.13).

use proto::nfs4::{LookupArgs, Status};
use vfs::{Attributes, FileKind, FileSystem};

use super::context::{Context, Object};
use super::{names, status};

pub(crate) async fn run<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: LookupArgs,
) -> Result<(), Status> {
    let (object, _) = child(context, &arguments.name).await?;
    context.set_current(object);
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
    match directory.fs().lookup(&identity, &directory.node, name).await {
        Ok((node, attributes)) => Ok((Object { export: directory.export.clone(), node }, attributes)),
        // A symbolic link has a status of its own here (RFC 8881 §18.13.4).
        Err(vfs::Error::NotDirectory) => Err(not_directory(directory).await),
        Err(error) => Err(status::of(error)),
    }
}

async fn not_directory<F: FileSystem>(object: &Object<F>) -> Status {
    match object.fs().attributes(&object.node).await {
        Ok(attributes) if attributes.kind == FileKind::Symlink => Status::Symlink,
        _ => Status::NotDirectory,
    }
}

//! LOOKUP (RFC 8881 §18.13).

use proto::nfs4::{LookupArgs, Operation, Status};
use vfs::{Access, Attributes, FileKind, FileSystem};
use xdr::{Decoder, Encoder};

use crate::nfs4::engine::context::{Context, Fresh, Object, refused};
use crate::nfs4::engine::descriptor::Descriptor;
use crate::nfs4::engine::name::checked_name;
use crate::nfs4::engine::result::{Failure, decode};
use crate::nfs4::engine::status;

pub(crate) const DESCRIPTOR: Descriptor =
    Descriptor { is_rerun: true, ..Descriptor::looks(Operation::Lookup) };

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    _reply: &mut Encoder,
) -> Result<(), Failure> {
    Ok(run(context, decode(arguments)?).await?)
}

async fn run<F: FileSystem>(context: &mut Context<'_, F>, arguments: LookupArgs) -> Result<(), Status> {
    let ended_before = Some(context.server.state().write_delegations_ended());
    match child(context, &arguments.name).await {
        Ok((object, attributes)) => {
            context.set_current(object);
            context.fresh = Some(Fresh { attributes, ended_before });
        }
        // A symbolic link has a status of its own here, and only here (RFC 8881 §18.13.4).
        Err(Status::NotDirectory) => return Err(not_directory(context.object()?).await),
        Err(status) => return Err(status),
    }
    Ok(())
}

/// The object called `name` in the current directory: the root of another export, where one is seen there
/// (RFC 8881 §7.7).
pub(crate) async fn child<'e, F: FileSystem>(
    context: &Context<'e, F>,
    name: &[u8],
) -> Result<(Object<'e, F>, Attributes), Status> {
    // Told here and not by the operation that uses the object (RFC 8881 §2.6.3.1.1.3).
    match find(context, name).await {
        Ok((object, _)) if !accepts(context, &object)? => Err(Status::WrongSecurity),
        // As nobody the caller may not look; as somebody it might.
        Err(Status::AccessDenied) if !accepts(context, context.object()?)? => Err(Status::WrongSecurity),
        found => found,
    }
}

/// True when the caller's flavour of authentication is accepted in the export of `object`.
pub(crate) fn accepts<F: FileSystem>(
    context: &Context<'_, F>,
    object: &Object<'_, F>,
) -> Result<bool, Status> {
    let rule = object.export.rule(&context.caller).map_err(refused)?;
    Ok(rule.accepts(&context.caller))
}

/// As [`child`], whatever the caller's flavour of authentication is.
pub(crate) async fn find<'e, F: FileSystem>(
    context: &Context<'e, F>,
    name: &[u8],
) -> Result<(Object<'e, F>, Attributes), Status> {
    let directory = context.object()?;
    let crossing = checked_name(name).map_or(Ok(None), |name| context.crossing(directory, name));
    let export = match crossing {
        Ok(None) => return inside(context, directory, name).await,
        Ok(Some(export)) => Ok(export),
        Err(status) => Err(status),
    };
    // Who may not search the directory learns nothing of what is in it.
    may_search(context, directory).await?;
    let export = export?;
    let root = context.object_of(export, export.file_system().root());
    let attributes = root.attributes().await.map_err(status::of)?;
    Ok((root, attributes))
}

/// What leads out of a directory is only for those who may search it. Where their flavour of authentication
/// is not the directory's they count as nobody.
async fn may_search<F: FileSystem>(
    context: &Context<'_, F>,
    directory: &Object<'_, F>,
) -> Result<(), Status> {
    let identity = directory.export.identity_or_nobody(&context.caller).map_err(refused)?;
    let granted = directory.fs().access(directory.request(&identity), &directory.node, Access::LOOKUP).await;
    if granted.map_err(status::of)?.contains(Access::LOOKUP) { Ok(()) } else { Err(Status::AccessDenied) }
}

/// The object called `name` in a directory, in the same export.
async fn inside<'e, F: FileSystem>(
    context: &Context<'e, F>,
    directory: &Object<'e, F>,
    name: &[u8],
) -> Result<(Object<'e, F>, Attributes), Status> {
    let identity = directory.export.identity_or_nobody(&context.caller).map_err(refused)?;
    let name = checked_name(name)?;
    let found = directory.fs().lookup(directory.request(&identity), &directory.node, name).await;
    let (node, attributes) = found.map_err(status::of)?;
    Ok((directory.beside(node), attributes))
}

async fn not_directory<F: FileSystem>(object: &Object<'_, F>) -> Status {
    match object.attributes().await {
        Ok(attributes) if attributes.kind == FileKind::Symlink => Status::Symlink,
        _ => Status::NotDirectory,
    }
}

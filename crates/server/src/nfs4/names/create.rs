//! CREATE (RFC 8881 §18.4): directories, links, pipes, sockets and devices.

use proto::nfs4::{CreateArgs, CreateResult, CreateType, Operation, Status};
use vfs::{FileSystem, NodeKind};
use xdr::{Decoder, Encoder};

use crate::nfs4::attributes;
use crate::nfs4::attributes::given;
use crate::nfs4::engine::change::ChangeBefore;
use crate::nfs4::engine::conflict;
use crate::nfs4::engine::context::{Context, Object};
use crate::nfs4::engine::descriptor::{
    BITMAP_BYTES, CHANGE_INFO_BYTES, Descriptor, HANDLE_BYTES, STATUS_BYTES,
};
use crate::nfs4::engine::name::checked_name;
use crate::nfs4::engine::result::{Failure, put};
use crate::nfs4::engine::status;
use crate::persistent::Change;

pub(crate) const DESCRIPTOR: Descriptor = Descriptor {
    room_bytes: STATUS_BYTES + CHANGE_INFO_BYTES + BITMAP_BYTES + HANDLE_BYTES,
    replaced: &[
        (Status::NotPermitted, Status::NotPermitted),
        (Status::NotSupported, Status::BadType),
        (Status::NoEntry, Status::Stale),
    ],
    ..Descriptor::changes(Operation::Create)
};

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    reply: &mut Encoder,
) -> Result<(), Failure> {
    put(reply, &run(context, arguments).await?)
}

async fn run<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
) -> Result<CreateResult, Status> {
    let CreateArgs { kind, name } = arguments.get().map_err(|_| Status::BadXdr)?;
    let values = given::decode(arguments, context.minor_version)?;
    let directory = context.object()?;
    context.writable(directory)?;
    let name = checked_name(&name)?;
    check_kind(directory, &kind)?;
    let set = attributes::to_set(context, directory, &values, attributes::SETTABLE).await?;
    let identity = context.identity(directory)?;
    let entry = conflict::before_entry_change(context, directory).await?;
    let change = ChangeBefore::of(directory).await?;
    if context.is_persistent() && directory.is_free(name).await {
        context.intend(Change::Create(directory.entry(name))).await?;
    }
    let (fs, at) = (directory.fs(), &directory.node);
    let request = directory.request(&identity);
    let device = |kind| fs.make_node(request, at, name, kind, &set);
    let (node, made) = match kind {
        CreateType::Directory => fs.make_dir(request, at, name, &set).await,
        CreateType::Symlink(target) if target.is_empty() => return Err(Status::Invalid),
        CreateType::Symlink(target) => fs.make_symlink(request, at, name, &target, &set).await,
        CreateType::Block(data) => device(NodeKind::Block(data.major, data.minor)).await,
        CreateType::Character(data) => device(NodeKind::Character(data.major, data.minor)).await,
        CreateType::Socket => device(NodeKind::Socket).await,
        CreateType::Fifo => device(NodeKind::Fifo).await,
        // Regular files are made by OPEN.
        CreateType::Other(_) => return Err(Status::BadType),
    }
    .map_err(status::of)?;
    let attributes_set = attributes::set_on(made.kind, values.present());
    let result = CreateResult { change: change.after(directory).await?, attributes_set };
    drop(entry);
    let made = directory.beside(node);
    context.set_current(made);
    Ok(result)
}

/// Checks that the back end has objects of this type.
///
/// # Errors
/// BADTYPE (RFC 8881 §18.4.3).
fn check_kind<F: FileSystem>(directory: &Object<'_, F>, kind: &CreateType) -> Result<(), Status> {
    let capabilities = directory.fs().capabilities();
    let has = match kind {
        CreateType::Directory | CreateType::Other(_) => true,
        CreateType::Symlink(_) => capabilities.symlinks,
        CreateType::Block(_) | CreateType::Character(_) | CreateType::Socket | CreateType::Fifo => {
            capabilities.special_files
        }
    };
    if has { Ok(()) } else { Err(Status::BadType) }
}

//! REMOVEXATTR (RFC 8276 §8.4.4).

use proto::nfs4::{Operation, RemoveXattrArgs, RemoveXattrResult, SetXattrOption, Status};
use vfs::FileSystem;
use xdr::{Decoder, Encoder};

use crate::nfs4::attributes::xattrs;
use crate::nfs4::engine::change::ChangeBefore;
use crate::nfs4::engine::conflict;
use crate::nfs4::engine::context::Context;
use crate::nfs4::engine::descriptor::{CHANGE_INFO_BYTES, Descriptor, STATUS_BYTES};
use crate::nfs4::engine::result::{Failure, decode, put};
use crate::nfs4::engine::status;
use crate::persistent::{Change, Xattr};

pub(crate) const DESCRIPTOR: Descriptor = Descriptor {
    room_bytes: STATUS_BYTES + CHANGE_INFO_BYTES,
    replaced: &[
        (Status::NotPermitted, Status::NotPermitted),
        (Status::FileOpen, Status::AccessDenied),
        (Status::XattrTooBig, Status::Io),
        (Status::Grace, Status::Delay),
    ],
    ..Descriptor::changes(Operation::RemoveXattr)
};

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    reply: &mut Encoder,
) -> Result<(), Failure> {
    put(reply, &run(context, decode(arguments)?).await?)
}

async fn run<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: RemoveXattrArgs,
) -> Result<RemoveXattrResult, Status> {
    let object = context.object()?;
    context.writable(object)?;
    let name = xattrs::checked(object, &arguments.name)?;
    let identity = context.identity(object)?;
    let _changing = conflict::before_change(context, object).await?;
    let change = ChangeBefore::of(object).await?;
    if context.is_persistent() && xattrs::may_set(object, name, SetXattrOption::Replace).await {
        let xattr = Xattr { object: object.handle(), name: arguments.name.clone() };
        context.intend(Change::RemoveXattr(xattr)).await?;
    }
    object.fs().remove_xattr(object.request(&identity), &object.node, name).await.map_err(status::of)?;
    Ok(RemoveXattrResult { change: change.after(object).await? })
}

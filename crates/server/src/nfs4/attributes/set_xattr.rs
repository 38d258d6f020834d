//! SETXATTR (RFC 8276 §8.4.2).

use proto::nfs4::{Operation, SetXattrArgs, SetXattrOption, SetXattrResult, Status};
use vfs::{FileSystem, XATTR_BYTES_MAX, XattrMode};
use xdr::{Decoder, Encoder};

use crate::nfs4::attributes::xattrs;
use crate::nfs4::engine::change::ChangeBefore;
use crate::nfs4::engine::conflict;
use crate::nfs4::engine::context::Context;
use crate::nfs4::engine::descriptor::{CHANGE_INFO_BYTES, Descriptor, STATUS_BYTES};
use crate::nfs4::engine::result::{Failure, decode, put};
use crate::nfs4::engine::status;
use crate::persistent::{Change, Xattr, XattrSetting};

pub(crate) const DESCRIPTOR: Descriptor = Descriptor {
    room_bytes: STATUS_BYTES + CHANGE_INFO_BYTES,
    replaced: &[
        (Status::NotPermitted, Status::NotPermitted),
        (Status::FileOpen, Status::AccessDenied),
        (Status::Grace, Status::Delay),
    ],
    ..Descriptor::changes(Operation::SetXattr)
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
    arguments: SetXattrArgs,
) -> Result<SetXattrResult, Status> {
    let object = context.object()?;
    context.writable(object)?;
    let name = xattrs::checked(object, &arguments.name)?;
    if arguments.value.len() > XATTR_BYTES_MAX {
        return Err(Status::XattrTooBig);
    }
    let identity = context.identity(object)?;
    let _changing = conflict::before_change(context, object).await?;
    let change = ChangeBefore::of(object).await?;
    let (option, value) = (arguments.option, &arguments.value);
    if context.is_persistent() && xattrs::may_set(object, name, option).await {
        let xattr = Xattr { object: object.handle(), name: arguments.name.clone() };
        context.intend(Change::SetXattr(XattrSetting { xattr, value: value.clone() })).await?;
    }
    let mode = match option {
        SetXattrOption::Either => XattrMode::Either,
        SetXattrOption::Create => XattrMode::Create,
        SetXattrOption::Replace => XattrMode::Replace,
    };
    object
        .fs()
        .set_xattr(object.request(&identity), &object.node, name, value, mode)
        .await
        .map_err(status::of)?;
    Ok(SetXattrResult { change: change.after(object).await? })
}

//! SETXATTR (RFC 8276 §8.4.2).

use proto::nfs4::{SetXattrArgs, SetXattrOption, SetXattrResult, Status};
use vfs::{FileSystem, XATTR_BYTES_MAX, XattrMode};

use super::change::ChangeBefore;
use super::context::Context;
use super::{conflict, status, xattrs};
use crate::persistent::{Change, Xattr, XattrSetting};

pub(crate) async fn run<F: FileSystem>(
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
    object.fs().set_xattr(&identity, &object.node, name, value, mode).await.map_err(status::of)?;
    Ok(SetXattrResult { change: change.after(object).await? })
}

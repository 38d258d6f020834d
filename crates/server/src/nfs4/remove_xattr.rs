//! REMOVEXATTR (RFC 8276 §8.4.4).

use proto::nfs4::{RemoveXattrArgs, RemoveXattrResult, SetXattrOption, Status};
use vfs::FileSystem;

use super::change::ChangeBefore;
use super::context::Context;
use super::{conflict, status, xattrs};
use crate::persistent::{Change, Xattr};

pub(crate) async fn run<F: FileSystem>(
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
    object.fs().remove_xattr(&identity, &object.node, name).await.map_err(status::of)?;
    Ok(RemoveXattrResult { change: change.after(object).await? })
}

//! SETATTR (RFC 1813 §3.3.2).

use proto::nfs3::{SetAttrArgs, SetAttrFail, SetAttrOk, Status, Time, WccData};
use vfs::{Attributes, FileSystem, SetAttributes};

use super::context::{Context, Outcome, bare};
use super::object::Object;
use super::{attributes, status};
use crate::conflicts::Conflicts;

pub(super) async fn run<F: FileSystem, C: Conflicts>(
    context: &Context<'_, F, C>,
    arguments: SetAttrArgs,
) -> Outcome<SetAttrArgs> {
    let object = context.object(&arguments.object).await.map_err(bare)?;
    let set = object.to_set(&arguments.attributes);
    let before = object.before().await;
    match apply(context, &object, &set, arguments.guard).await {
        Ok(now) => {
            let object = WccData { before, after: Some(attributes::to_wire(&now)) };
            Ok(SetAttrOk { object })
        }
        Err(status) => Err((status, SetAttrFail { object: object.around(before).await })),
    }
}

async fn apply<F: FileSystem, C: Conflicts>(
    context: &Context<'_, F, C>,
    object: &Object<'_, F>,
    set: &SetAttributes,
    guard: Option<Time>,
) -> Result<Attributes, Status> {
    object.writable()?;
    let _changing = context.before_write(object).await?;
    if let Some(changed) = guard {
        // Compared as the client saw it.
        if attributes::time(object.attributes().await?.changed) != changed {
            return Err(Status::NotSync);
        }
    }
    object.fs().set_attributes(object.request(), &object.node, set).await.map_err(|error| match error {
        // SETATTR knows no NFS3ERR_ISDIR (RFC 1813 §3.3.2).
        vfs::Error::IsDirectory => Status::Invalid,
        other => status::of(other),
    })
}

//! SECINFO and SECINFO_NO_NAME (RFC 8881 §18.29, §18.45). Both consume the current file handle.

use proto::nfs4::{SecInfoArgs, SecInfoNoNameArgs, SecInfoResult, SecInfoStyle, SecurityFlavor, Status};
use vfs::FileSystem;

use super::context::{Context, Object, refused};
use super::{lookup, lookup_parent};

pub(crate) async fn by_name<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: SecInfoArgs,
) -> Result<SecInfoResult, Status> {
    let (object, _) = lookup::find(context, &arguments.name).await?;
    flavors(context, &object)
}

pub(crate) async fn without_name<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: SecInfoNoNameArgs,
) -> Result<SecInfoResult, Status> {
    let object = context.object()?.clone();
    let object = match arguments.style {
        SecInfoStyle::CurrentHandle => object,
        SecInfoStyle::Parent => lookup_parent::parent(context, &object).await?,
    };
    flavors(context, &object)
}

fn flavors<F: FileSystem>(
    context: &mut Context<'_, F>,
    object: &Object<'_, F>,
) -> Result<SecInfoResult, Status> {
    let rule = object.export.rule(&context.caller).map_err(refused)?;
    let flavors = rule.flavors.iter().map(|flavor| SecurityFlavor::Plain(flavor.number())).collect();
    // RFC 8881 §18.45.3: the current file handle is gone after success.
    context.current = None;
    context.current_state = proto::nfs4::StateId::ANONYMOUS;
    Ok(SecInfoResult { flavors })
}

//! SETATTR (RFC 8881 §18.30).

use proto::nfs4::attributes::Bitmap;
use proto::nfs4::{SetAttrArgs, Status};
use vfs::FileSystem;
use xdr::Decoder;

use super::context::Context;
use super::{attributes, conflict, regular, status, verify};
use crate::persistent::{Change, Setting};

/// Returns the attributes that were set: all or none.
pub(crate) async fn run<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
) -> Result<Bitmap, Status> {
    let SetAttrArgs { state_id } = arguments.get().map_err(|_| Status::BadXdr)?;
    let values = verify::decode(arguments, context.minor_version)?;
    let state_id = context.resolve_state(state_id)?;
    let object = context.object()?;
    context.writable(object)?;
    let set = attributes::to_set(context, object.fs(), &values, attributes::SETTABLE_BY_SETATTR).await?;
    let identity = context.identity(object)?;
    let _using = match set.size {
        Some(_) => {
            regular::check(object).await?;
            conflict::begin(context, object.file(), &state_id, state::Io::Write).await?
        }
        None => None,
    };
    let _changing = conflict::before_change(context, object).await?;
    if context.is_persistent() {
        let before = object.fs().attributes(&object.node).await.map_err(status::of)?.change;
        context.intend(Change::SetAttributes(Setting::new(object.handle(), before, &set))).await?;
    }
    object.fs().set_attributes(&identity, &object.node, &set).await.map_err(|error| match error {
        // The object has no such attribute: a symbolic link has no mode.
        vfs::Error::NotSupported => Status::AttributeNotSupported,
        error => status::of(error),
    })?;
    Ok(values.present())
}

//! GETATTR (RFC 8881 §18.7).

use proto::nfs4::attributes::{AttributeId, Bitmap};
use proto::nfs4::{GetAttrArgs, Status};
use vfs::{Attributes, FileSystem, Identity, SetAttributes, SetTime};
use xdr::Encoder;

use super::context::{Context, Object};
use super::{attributes, status};
use crate::recall::Holder;

/// Change when data is written: the holder of a write delegation may know better than the file system.
pub(crate) const OF_DATA: Bitmap = Bitmap::of(&[
    AttributeId::Change,
    AttributeId::Size,
    AttributeId::SpaceUsed,
    AttributeId::TimeMetadata,
    AttributeId::TimeModify,
]);

/// Appends the result's body.
pub(crate) async fn run<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: GetAttrArgs,
    reply: &mut Encoder,
) -> Result<(), Status> {
    let object = context.object()?;
    if arguments.wanted.intersects(attributes::WRITE_ONLY) {
        return Err(Status::Invalid);
    }
    let found = match &context.fresh {
        Some(fresh) => *fresh,
        None => newest(context, object, arguments.wanted).await?,
    };
    let values = attributes::of(context, object, &found, arguments.wanted).await?;
    values.encode_wanted(arguments.wanted, reply);
    Ok(())
}

/// The attributes as if what the holder of a write delegation has changed were written already (RFC 8881 §10.4.3).
pub(crate) async fn newest<F: FileSystem>(
    context: &Context<'_, F>,
    object: &Object<F>,
    wanted: Bitmap,
) -> Result<Attributes, Status> {
    let found = object.fs().attributes(&object.node).await.map_err(status::of)?;
    if wanted.intersects(OF_DATA) { newer(context, object, found).await } else { Ok(found) }
}

/// What the file system has found, or newer if somebody else knows it.
pub(crate) async fn newer<F: FileSystem>(
    context: &Context<'_, F>,
    object: &Object<F>,
    found: Attributes,
) -> Result<Attributes, Status> {
    match context.server.recaller().ask_holder(object.file(), context.client_id(), found.size).await? {
        Holder::Nobody => Ok(found),
        Holder::Returned => object.fs().attributes(&object.node).await.map_err(status::of),
        Holder::Modified { size } => {
            // Change and times must never be seen to go back: the file system has to know that they moved.
            let now = SetAttributes { modified: Some(SetTime::Now), ..SetAttributes::default() };
            let touched = object.fs().set_attributes(&Identity::root(), &object.node, &now).await;
            Ok(Attributes { size, ..touched.map_err(status::of)? })
        }
    }
}

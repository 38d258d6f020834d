//! GETATTR (RFC 8881 §18.7).

use proto::nfs4::attributes::{AttributeId, Bitmap};
use proto::nfs4::{GetAttrArgs, Status};
use vfs::{Attributes, FileSystem, Identity, SetAttributes, SetTime, Timestamp};
use xdr::Encoder;

use super::context::{Context, Object};
use super::{attributes, status};
use crate::recall::{Holder, Told};

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
    if arguments.wanted.intersects(attributes::write_only(context.minor_version)) {
        return Err(Status::Invalid);
    }
    let found = match &context.fresh {
        Some(fresh) => *fresh,
        None => newest(context, object, arguments.wanted).await?,
    };
    attributes::encode(context, object, &found, arguments.wanted, reply).await
}

/// The attributes as if what the holder of a write delegation has changed were written already (RFC 8881 §10.4.3).
pub(crate) async fn newest<F: FileSystem>(
    context: &Context<'_, F>,
    object: &Object<F>,
    wanted: Bitmap,
) -> Result<Attributes, Status> {
    let found = object.fs().attributes(&object.node).await.map_err(status::of)?;
    if wanted.intersects(OF_DATA) || wanted.contains(AttributeId::TimeAccess) {
        newer(context, object, found, wanted).await
    } else {
        Ok(found)
    }
}

/// What the file system has found, or newer if somebody else knows it.
pub(crate) async fn newer<F: FileSystem>(
    context: &Context<'_, F>,
    object: &Object<F>,
    found: Attributes,
    wanted: Bitmap,
) -> Result<Attributes, Status> {
    let recaller = context.server.recaller();
    let only_times = !wanted.intersects(OF_DATA);
    match recaller.ask_holder(object.file(), context.client_id(), found.size, only_times).await? {
        Holder::Nobody => Ok(found),
        Holder::Returned => object.fs().attributes(&object.node).await.map_err(status::of),
        Holder::Told(told) => as_told(object, found, told).await,
    }
}

/// The attributes as the holder of a write delegation has them.
async fn as_told<F: FileSystem>(
    object: &Object<F>,
    found: Attributes,
    told: Told,
) -> Result<Attributes, Status> {
    let (accessed, modified) = told.times;
    let now = if told.modified {
        // Change and times must never be seen to go back: the file system has to know that they moved.
        Attributes { size: told.size, ..touch(object, modified).await.map_err(status::of)? }
    } else {
        found
    };
    // That it was read is told, and not written down: the host would take it for a change.
    Ok(Attributes { accessed: accessed.map_or(now.accessed, |told| told.max(now.accessed)), ..now })
}

/// Sets the time of modification, for the holder of a write delegation.
///
/// # Errors
/// Those of the file system. Where it does not let the server choose a time, it is now.
pub(super) async fn touch<F: FileSystem>(
    object: &Object<F>,
    modified: Option<Timestamp>,
) -> vfs::Result<Attributes> {
    let set = |modified| SetAttributes { modified: Some(modified), ..SetAttributes::default() };
    let (fs, root) = (object.fs(), Identity::root());
    if let Some(time) = modified {
        match fs.set_attributes(&root, &object.node, &set(SetTime::To(time))).await {
            Err(vfs::Error::NotPermitted) => {}
            touched => return touched,
        }
    }
    fs.set_attributes(&root, &object.node, &set(SetTime::Now)).await
}

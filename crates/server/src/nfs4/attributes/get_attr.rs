//! GETATTR (RFC 8881 §18.7).

use proto::nfs4::attributes::{AttributeId, Bitmap};
use proto::nfs4::{DelegReturnArgs, GetAttrArgs, Operation, Status};
use vfs::{Attributes, FileSystem, SetAttributes, SetTime, Timestamp};
use xdr::{Decoder, Encoder};

use crate::delegations::HolderAttributes;
use crate::nfs4::attributes;
use crate::nfs4::engine::context::{Context, Fresh, Object};
use crate::nfs4::engine::descriptor::Descriptor;
use crate::nfs4::engine::result::{Failure, decode};
use crate::nfs4::engine::status;

pub(crate) const DESCRIPTOR: Descriptor = Descriptor {
    runs_unsettled: true,
    keeps_fresh: true,
    is_rerun: true,
    ..Descriptor::looks(Operation::GetAttr)
};

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    reply: &mut Encoder,
) -> Result<(), Failure> {
    let asked = decode(arguments)?;
    Ok(run(context, asked, arguments, reply).await?)
}

/// Change when data is written: the holder of a write delegation may know better than the file system.
pub(crate) const OF_DATA: Bitmap = Bitmap::of(&[
    AttributeId::Change,
    AttributeId::Size,
    AttributeId::SpaceUsed,
    AttributeId::TimeMetadata,
    AttributeId::TimeModify,
]);

/// Appends the result's body; `rest` stands at the next operation.
async fn run<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: GetAttrArgs,
    rest: &Decoder,
    reply: &mut Encoder,
) -> Result<(), Status> {
    let object = context.object()?;
    if arguments.wanted.intersects(attributes::write_only(context.minor_version)) {
        return Err(Status::Invalid);
    }
    let wanted = arguments.wanted;
    let found = match &context.fresh {
        Some(fresh) if is_newest(context, object, fresh, wanted) => fresh.attributes,
        _ => newest(context, object, wanted).await?,
    };
    attributes::encode(context, object, &found, wanted, reply).await?;
    // After the look: who holds a delegation here has held it then.
    if gives_back_what_is_lost(context, object, rest) { Err(Status::AccessDenied) } else { Ok(()) }
}

/// True when the next operation returns a delegation that the client has lost. Linux takes the attributes
/// that come along with its DELEGRETURN for what its own changes have left, whatever becomes of that: it
/// would keep what it has cached of a file that others have changed since. Refused them (RFC 8881 §15.2 lists
/// ACCESS), it returns the delegation without asking, learns of the loss, and looks at the file anew.
fn gives_back_what_is_lost<F: FileSystem>(
    context: &Context<'_, F>,
    object: &Object<'_, F>,
    rest: &Decoder,
) -> bool {
    if context.index + 1 >= context.operations {
        return false;
    }
    let mut rest = rest.clone();
    if rest.u32().ok().and_then(Operation::from_number) != Some(Operation::DelegReturn) {
        return false;
    }
    // What cannot be decoded it says itself.
    let Ok(asked) = rest.get::<DelegReturnArgs>() else { return false };
    let check = || {
        let id = context.resolve_state(asked.state_id)?;
        context.server.state().check_file(context.client()?, object.file(), &id)
    };
    check().is_err()
}

/// The attributes as if what the holder of a write delegation has changed were written already (RFC 8881
/// §10.4.3).
pub(crate) async fn newest<F: FileSystem>(
    context: &Context<'_, F>,
    object: &Object<'_, F>,
    wanted: Bitmap,
) -> Result<Attributes, Status> {
    // Asked before the look, which sees what a holder has written that gives its delegation back meanwhile.
    let is_held = is_known_better(context, object, wanted);
    let found = object.attributes().await.map_err(status::of)?;
    if is_held { newer(context, object, found, wanted).await } else { Ok(found) }
}

/// True when nobody has known the file better than the file system since an operation before has looked at
/// it.
fn is_newest<F: FileSystem>(
    context: &Context<'_, F>,
    object: &Object<'_, F>,
    fresh: &Fresh,
    wanted: Bitmap,
) -> bool {
    // In this order: who is not seen to hold a delegation that it held at the look is seen to have ended it.
    !is_known_better(context, object, wanted)
        && fresh.ended_before.is_none_or(|before| before == context.server.state().write_delegations_ended())
}

/// True when somebody else holds a write delegation and may know some of the `wanted` attributes better than
/// the file system.
fn is_known_better<F: FileSystem>(context: &Context<'_, F>, object: &Object<'_, F>, wanted: Bitmap) -> bool {
    let services = context.server.services();
    let held = || services.state().write_delegation(object.file(), context.client_id(), || services.now());
    (wanted.intersects(OF_DATA) || wanted.contains(AttributeId::TimeAccess)) && held().is_some()
}

/// What the file system has found of a file that somebody else has held, or newer if that one knows it.
pub(crate) async fn newer<F: FileSystem>(
    context: &Context<'_, F>,
    object: &Object<'_, F>,
    found: Attributes,
    wanted: Bitmap,
) -> Result<Attributes, Status> {
    let services = context.server.services();
    let only_times = !wanted.intersects(OF_DATA);
    match services
        .delegations()
        .ask_holder(object.file(), context.client_id(), found.size, only_times)
        .await?
    {
        Some(told) => as_told(object, found, told).await,
        // It may have written since the look.
        None => object.attributes().await.map_err(status::of),
    }
}

/// The attributes as the holder of a write delegation has them.
async fn as_told<F: FileSystem>(
    object: &Object<'_, F>,
    found: Attributes,
    told: HolderAttributes,
) -> Result<Attributes, Status> {
    let (accessed, modified) = (told.time_access, told.time_modify);
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
pub(crate) async fn touch<F: FileSystem>(
    object: &Object<'_, F>,
    modified: Option<Timestamp>,
) -> vfs::Result<Attributes> {
    let set = |modified| SetAttributes { modified: Some(modified), ..SetAttributes::default() };
    let (fs, request) = (object.fs(), object.request_of_server());
    if let Some(time) = modified {
        match fs.set_attributes(request, &object.node, &set(SetTime::To(time))).await {
            Err(vfs::Error::NotPermitted) => {}
            touched => return touched,
        }
    }
    fs.set_attributes(request, &object.node, &set(SetTime::Now)).await
}

//! SETATTR (RFC 8881 §18.30).

use proto::nfs4::attributes::{AttributeValues, Bitmap};
use proto::nfs4::{Operation, SetAttrArgs, SetAttrResult, StateId, Status, Time};
use vfs::{FileSystem, SetAttributes, Timestamp};
use xdr::{Decoder, Encoder};

use crate::nfs4::attributes;
use crate::nfs4::attributes::get_attr;
use crate::nfs4::attributes::given;
use crate::nfs4::engine::conflict;
use crate::nfs4::engine::context::{Context, Object};
use crate::nfs4::engine::descriptor::{Descriptor, STATE_ID_BYTES, STATUS_BYTES};
use crate::nfs4::engine::regular;
use crate::nfs4::engine::result::{Failure, put};
use crate::nfs4::engine::status;
use crate::persistent::{Change, Setting};

pub(crate) const DESCRIPTOR: Descriptor = Descriptor {
    room_bytes: STATUS_BYTES + STATE_ID_BYTES,
    replaced: &[
        (Status::NotPermitted, Status::NotPermitted),
        (Status::FileOpen, Status::AccessDenied),
        (Status::IsDirectory, Status::WrongType),
        (Status::Symlink, Status::WrongType),
        (Status::NotSupported, Status::Invalid),
    ],
    ..Descriptor::changes(Operation::SetAttr)
};

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    reply: &mut Encoder,
) -> Result<(), Failure> {
    let attributes_set = run(context, arguments).await?;
    put(reply, &SetAttrResult { attributes_set })
}

/// Returns the attributes that were set: all or none, but for the mode of a symbolic link, which stays as
/// it is.
async fn run<F: FileSystem>(context: &mut Context<'_, F>, arguments: &mut Decoder) -> Result<Bitmap, Status> {
    let SetAttrArgs { state_id } = arguments.get().map_err(|_| Status::BadXdr)?;
    let values = given::decode(arguments, context.minor_version)?;
    let state_id = context.resolve_state(state_id)?;
    let object = context.object()?;
    context.writable(object)?;
    let set = attributes::to_set(context, object, &values, attributes::SETTABLE_BY_SETATTR).await?;
    let identity = context.identity(object)?;
    if values.present().intersects(attributes::DELEGATED_TIMES) {
        let now = context.server.services().now();
        context.server.state().check_timestamps(context.client()?, object.file(), &state_id, now)?;
    }
    let _using = match set.size {
        Some(_) => {
            regular::check(object).await?;
            conflict::begin(context, object.file(), &state_id, state::Io::Write).await?
        }
        None => None,
    };
    let _changing = conflict::before_change(context, object).await?;
    let of_holder = values.present().intersects(attributes::DELEGATED_TIMES);
    let mut attributes_set = values.present();
    if !of_holder || set != SetAttributes::default() {
        if context.is_persistent() {
            let before = object.attributes().await.map_err(status::of)?.change;
            context.intend(Change::SetAttributes(Setting::new(object.handle(), before, &set))).await?;
        }
        let now = object.fs().set_attributes(object.request(&identity), &object.node, &set).await;
        let now = now.map_err(|error| match error {
            // The file system has no such attribute.
            vfs::Error::NotSupported => Status::AttributeNotSupported,
            error => status::of(error),
        })?;
        attributes_set = attributes::set_on(now.kind, attributes_set);
    }
    set_delegated_times(context, object, &state_id, &values).await?;
    Ok(attributes_set)
}

/// Sets the time of modification that the holder of a delegation has kept (RFC 9754). Its own writes have
/// moved it since, to when they came here. That it was read is not written down: no host lets a server set
/// that time without a change of the object.
async fn set_delegated_times<F: FileSystem>(
    context: &Context<'_, F>,
    object: &Object<'_, F>,
    state_id: &StateId,
    values: &AttributeValues,
) -> Result<(), Status> {
    let Some(Time { seconds, nanoseconds }) = values.time_deleg_modify else { return Ok(()) };
    let told = Timestamp { seconds, nanoseconds };
    let Some(modified) = context.server.services().delegations().modified_by_holder(state_id, told) else {
        return Ok(());
    };
    get_attr::touch(object, Some(modified)).await.map(drop).map_err(status::of)
}

//! From the attributes that a client wants set to the back end's terms (RFC 8881 §18.30).

use proto::nfs4::attributes::{AttributeValues, Bitmap, Principal, SetTime};
use proto::nfs4::{Status, Time};
use vfs::{FileSystem, SetAttributes, Timestamp};

use super::sets::check_supported;
use crate::nfs4::engine::context::{Context, Object, refused};
use crate::nfs4::owners::{Owners, PrincipalKind};

/// Bits of a mode (RFC 8881 §6.2.4).
const MODE_BITS: u32 = 0o7777;

/// What a client wants set on `object`, or on what is made in it, by an operation that can set `allowed`. Ids
/// are replaced as those of the caller are. Times that the holder of a delegation has kept are checked, and
/// not part of it.
///
/// # Errors
/// ATTRNOTSUPP for an attribute that is not supported, INVAL for one that can only be read, BADOWNER or DELAY
/// for a name without a number (RFC 8881 §5.9), INVAL for an impossible time or mode, and for a mode given
/// twice.
pub(crate) async fn to_set<F: FileSystem>(
    context: &Context<'_, F>,
    object: &Object<'_, F>,
    values: &AttributeValues,
    allowed: Bitmap,
) -> Result<SetAttributes, Status> {
    let given = values.present();
    check_supported(object.fs(), context.minor_version, given)?;
    if !given.without(allowed).is_empty() {
        return Err(Status::Invalid);
    }
    let delegated = [values.time_deleg_access, values.time_deleg_modify];
    if delegated.into_iter().flatten().any(|time| time.nanoseconds >= 1_000_000_000) {
        return Err(Status::Invalid);
    }
    let (mode, mode_mask) = mode(values)?;
    let server = context.server;
    let set = SetAttributes {
        mode,
        mode_mask,
        uid: id(server.owners(), PrincipalKind::User, &values.owner).await?,
        gid: id(server.owners(), PrincipalKind::Group, &values.owner_group).await?,
        size: values.size,
        accessed: values.time_access_set.map(set_time).transpose()?,
        modified: values.time_modify_set.map(set_time).transpose()?,
    };
    let rule = object.export.rule(&context.caller).map_err(refused)?;
    Ok(rule.squash.owners(set))
}

/// The mode and which of its bits count (RFC 8881 §6.2.5).
fn mode(values: &AttributeValues) -> Result<(Option<u32>, Option<u32>), Status> {
    let valid = |mode: u32| if mode & !MODE_BITS == 0 { Ok(mode) } else { Err(Status::Invalid) };
    match (values.mode, values.mode_set_masked) {
        (Some(_), Some(_)) => Err(Status::Invalid),
        (None, Some(masked)) => Ok((Some(valid(masked.value)?), Some(valid(masked.mask)?))),
        (mode, None) => Ok((mode.map(valid).transpose()?, None)),
    }
}

async fn id(
    owners: &Owners,
    kind: PrincipalKind,
    principal: &Option<Principal>,
) -> Result<Option<u32>, Status> {
    match principal {
        Some(principal) => owners.id(kind, principal).await.map(Some),
        None => Ok(None),
    }
}

fn set_time(set: SetTime) -> Result<vfs::SetTime, Status> {
    match set {
        SetTime::Server => Ok(vfs::SetTime::Now),
        SetTime::Client(Time { seconds, nanoseconds }) if nanoseconds < 1_000_000_000 => {
            Ok(vfs::SetTime::To(Timestamp { seconds, nanoseconds }))
        }
        SetTime::Client(_) => Err(Status::Invalid),
    }
}

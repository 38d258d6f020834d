//! VERIFY and NVERIFY (RFC 8881 §18.31, §18.15).

use proto::nfs4::Status;
use proto::nfs4::attributes::{AttributeError, AttributeId, AttributeValues, Bitmap, Principal};
use vfs::FileSystem;
use xdr::{Decoder, Encoder};

use super::context::Context;
use super::owners::{Owners, PrincipalKind};
use super::{attributes, get_attr};

/// Cannot be compared (RFC 8881 §18.31.3).
const NOT_COMPARABLE: Bitmap = attributes::WRITE_ONLY.with(AttributeId::RdattrError);

/// Fails unless the attributes are the same, or, `negated`, unless they differ.
pub(crate) async fn run<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    negated: bool,
) -> Result<(), Status> {
    let mut given = AttributeValues::decode(arguments).map_err(bad_attributes)?;
    let object = context.object()?;
    let compared = given.present();
    if compared.intersects(NOT_COMPARABLE) {
        return Err(Status::Invalid);
    }
    if !compared.without(attributes::supported(object.fs())).is_empty() {
        return Err(Status::AttributeNotSupported);
    }
    let found = get_attr::newest(context, object, compared).await?;
    let values = attributes::of(context.server, object, &found, compared).await?;
    let owners = context.server.owners();
    as_told(owners, PrincipalKind::User, &mut given.owner).await?;
    as_told(owners, PrincipalKind::Group, &mut given.owner_group).await?;
    let encoded = |values: &AttributeValues| {
        let mut to = Encoder::new();
        values.encode_wanted(compared, &mut to);
        to.into_inner()
    };
    match (encoded(&given) == encoded(&values), negated) {
        (true, true) => Err(Status::Same),
        (false, false) => Err(Status::NotSame),
        _ => Ok(()),
    }
}

/// One owner has several spellings, of which GETATTR tells one.
async fn as_told(owners: &Owners, kind: PrincipalKind, given: &mut Option<Principal>) -> Result<(), Status> {
    let Some(principal) = given else { return Ok(()) };
    match owners.id(kind, principal).await {
        Ok(id) => *principal = owners.principal(kind, id).await,
        // It owns nothing, so it differs.
        Err(Status::BadOwner) => {}
        Err(status) => return Err(status),
    }
    Ok(())
}

/// The status for attributes that cannot be decoded.
pub(crate) fn bad_attributes(error: AttributeError) -> Status {
    match error {
        AttributeError::NotSupported(_) => Status::AttributeNotSupported,
        AttributeError::Malformed(_) => Status::BadXdr,
    }
}

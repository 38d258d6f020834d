//! VERIFY and NVERIFY (RFC 8881 §18.31, §18.15).

use proto::nfs4::Status;
use proto::nfs4::attributes::{AttributeError, AttributeId, AttributeValues, Bitmap, Principal};
use vfs::FileSystem;
use xdr::{Decoder, Encoder};

use super::context::Context;
use super::owners::{Owners, PrincipalKind};
use super::{attributes, get_attr};

/// Fails unless the attributes are the same, or, `negated`, unless they differ.
pub(crate) async fn run<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    negated: bool,
) -> Result<(), Status> {
    let mut given = decode(arguments, context.minor_version)?;
    let object = context.object()?;
    let compared = given.present();
    // What cannot be compared (RFC 8881 §18.31.3).
    if compared.intersects(attributes::write_only(context.minor_version).with(AttributeId::RdattrError)) {
        return Err(Status::Invalid);
    }
    attributes::check_supported(object.fs(), context.minor_version, compared)?;
    let found = get_attr::newest(context, object, compared).await?;
    let values = attributes::of(context, object, &found, compared).await?;
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

/// Decodes attributes as a server of this minor version does: of those that it does not know it cannot tell
/// where they end (RFC 8178 §8.2).
pub(crate) fn decode(arguments: &mut Decoder, minor_version: u32) -> Result<AttributeValues, Status> {
    if let Ok(given) = arguments.clone().get::<Bitmap>()
        && let Some(number) = given.numbers().last()
        && attributes::not_supported(number, minor_version) == Status::Invalid
    {
        return Err(Status::Invalid);
    }
    AttributeValues::decode(arguments).map_err(|error| bad_attributes(error, minor_version))
}

/// The status for attributes that cannot be decoded.
pub(crate) fn bad_attributes(error: AttributeError, minor_version: u32) -> Status {
    match error {
        AttributeError::NotSupported(number) => attributes::not_supported(number, minor_version),
        AttributeError::Malformed(_) => Status::BadXdr,
    }
}

//! VERIFY (RFC 8881 §18.31).

use proto::nfs4::attributes::{AttributeId, AttributeValues, Principal};
use proto::nfs4::{Operation, Status};
use vfs::FileSystem;
use xdr::{Decoder, Encoder};

use crate::nfs4::attributes;
use crate::nfs4::attributes::{get_attr, given};
use crate::nfs4::engine::context::Context;
use crate::nfs4::engine::descriptor::Descriptor;
use crate::nfs4::engine::result::Failure;
use crate::nfs4::owners::{Owners, PrincipalKind};

pub(crate) const DESCRIPTOR: Descriptor = Descriptor::looks(Operation::Verify);

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    _reply: &mut Encoder,
) -> Result<(), Failure> {
    Ok(compare(context, arguments, false).await?)
}

/// Fails unless the attributes are the same, or, `negated`, unless they differ.
pub(crate) async fn compare<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    negated: bool,
) -> Result<(), Status> {
    let mut given = given::decode(arguments, context.minor_version)?;
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

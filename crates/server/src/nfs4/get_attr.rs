//! GETATTR (RFC 8881 §18.7).

use proto::nfs4::attributes::{AttributeId, Bitmap};
use proto::nfs4::{GetAttrArgs, Status};
use vfs::FileSystem;
use xdr::Encoder;

use super::context::Context;
use super::{attributes, status};

/// Can only be set: to ask for them is an error (RFC 8881 §18.7.3).
const WRITE_ONLY: Bitmap = Bitmap::of(&[AttributeId::TimeAccessSet, AttributeId::TimeModifySet]);

/// Appends the result's body.
pub(crate) async fn run<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: GetAttrArgs,
    reply: &mut Encoder,
) -> Result<(), Status> {
    let object = context.object()?;
    if arguments.wanted.intersects(WRITE_ONLY) {
        return Err(Status::Invalid);
    }
    let found = object.fs().attributes(&object.node).await.map_err(status::of)?;
    let values = attributes::of(object, &found, arguments.wanted, context.server.lease_seconds()).await?;
    values.encode_wanted(arguments.wanted, reply);
    Ok(())
}

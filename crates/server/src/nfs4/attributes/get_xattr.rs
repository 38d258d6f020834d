//! GETXATTR (RFC 8276 §8.4.1).

use proto::nfs4::{GetXattrArgs, GetXattrResult, Operation, Status};
use vfs::FileSystem;
use xdr::{Decoder, Encoder};

use crate::nfs4::attributes::xattrs;
use crate::nfs4::engine::context::Context;
use crate::nfs4::engine::descriptor::Descriptor;
use crate::nfs4::engine::result::{Failure, decode, put};
use crate::nfs4::engine::status;

pub(crate) const DESCRIPTOR: Descriptor = Descriptor {
    replaced: &[(Status::NotPermitted, Status::NotPermitted), (Status::BadCharacter, Status::Invalid)],
    ..Descriptor::looks(Operation::GetXattr)
};

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    reply: &mut Encoder,
) -> Result<(), Failure> {
    put(reply, &run(context, decode(arguments)?).await?)
}

async fn run<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: GetXattrArgs,
) -> Result<GetXattrResult, Status> {
    let object = context.object()?;
    let name = xattrs::checked(object, &arguments.name)?;
    let identity = context.identity(object)?;
    let value =
        object.fs().get_xattr(object.request(&identity), &object.node, name).await.map_err(status::of)?;
    Ok(GetXattrResult { value })
}

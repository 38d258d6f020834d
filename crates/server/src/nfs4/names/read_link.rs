//! READLINK (RFC 8881 §18.24).

use proto::nfs4::{Operation, ReadLinkResult, Status};
use vfs::FileSystem;
use xdr::{Decoder, Encoder};

use crate::nfs4::engine::context::Context;
use crate::nfs4::engine::descriptor::Descriptor;
use crate::nfs4::engine::result::{Failure, put};
use crate::nfs4::engine::status;

pub(crate) const DESCRIPTOR: Descriptor =
    Descriptor { is_rerun: true, ..Descriptor::looks(Operation::ReadLink) };

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    _arguments: &mut Decoder,
    reply: &mut Encoder,
) -> Result<(), Failure> {
    put(reply, &run(context).await?)
}

async fn run<F: FileSystem>(context: &mut Context<'_, F>) -> Result<ReadLinkResult, Status> {
    let object = context.object()?;
    let identity = context.identity(object)?;
    match object.fs().read_link(object.request(&identity), &object.node).await {
        Ok(link) => Ok(ReadLinkResult { link }),
        // Not a symbolic link (RFC 8881 §18.24.3).
        Err(vfs::Error::Invalid) => Err(Status::WrongType),
        Err(error) => Err(status::of(error)),
    }
}

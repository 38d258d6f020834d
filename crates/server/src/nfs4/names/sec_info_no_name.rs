//! SECINFO_NO_NAME (RFC 8881 §18.45). It consumes the current file handle.

use proto::nfs4::{Operation, SecInfoNoNameArgs, SecInfoResult, SecInfoStyle, Status};
use vfs::FileSystem;
use xdr::{Decoder, Encoder};

use crate::nfs4::engine::context::Context;
use crate::nfs4::engine::descriptor::Descriptor;
use crate::nfs4::engine::result::{Failure, decode, put};
use crate::nfs4::names::lookup_parent;
use crate::nfs4::names::sec_info::flavors;

pub(crate) const DESCRIPTOR: Descriptor = Descriptor {
    replaced: &[(Status::Io, Status::ServerFault)],
    ..Descriptor::looks(Operation::SecInfoNoName)
};

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    reply: &mut Encoder,
) -> Result<(), Failure> {
    put(reply, &run(context, decode(arguments)?).await?)
}

async fn run<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: SecInfoNoNameArgs,
) -> Result<SecInfoResult, Status> {
    let object = context.object()?.clone();
    let object = match arguments.style {
        SecInfoStyle::CurrentHandle => object,
        SecInfoStyle::Parent => lookup_parent::parent(context, &object).await?,
    };
    flavors(context, &object)
}

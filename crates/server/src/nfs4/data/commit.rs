//! COMMIT (RFC 8881 §18.3).

use proto::nfs4::{CommitArgs, CommitResult, Operation, Status, Verifier};
use vfs::FileSystem;
use xdr::{Decoder, Encoder};

use crate::nfs4::engine::context::Context;
use crate::nfs4::engine::descriptor::Descriptor;
use crate::nfs4::engine::regular;
use crate::nfs4::engine::result::{Failure, decode, put};
use crate::nfs4::engine::status;

pub(crate) const DESCRIPTOR: Descriptor = Descriptor {
    replaced: &[(Status::NotSupported, Status::Io), (Status::Invalid, Status::Io)],
    ..Descriptor::changes(Operation::Commit)
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
    arguments: CommitArgs,
) -> Result<CommitResult, Status> {
    let object = context.object()?;
    let identity = context.identity(object)?;
    regular::check(object).await?;
    // Beyond the largest offset there is nothing, and NFS4ERR_INVAL is not listed (RFC 8881 §15.2): 0 is to
    // the end.
    let count = u64::from(arguments.count);
    let count = if arguments.offset.checked_add(count).is_some() { count } else { 0 };
    let done = object
        .fs()
        .commit(object.request(&identity), &object.node, arguments.offset, count)
        .await
        .map_err(status::of)?;
    Ok(CommitResult { verifier: Verifier(done.verifier) })
}

//! PUTFH (RFC 8881 §18.19).

use proto::nfs4::{HANDLE_BYTES_MAX, Operation, Status};
use vfs::FileSystem;
use xdr::{Decoder, Encoder};

use crate::exports::{Reached, Unreachable};
use crate::nfs4::engine::context::{Context, refused};
use crate::nfs4::engine::descriptor::Descriptor;
use crate::nfs4::engine::flavor::check_flavor;
use crate::nfs4::engine::result::Failure;
use crate::nfs4::engine::status;

pub(crate) const DESCRIPTOR: Descriptor = Descriptor {
    runs_unsettled: true,
    is_rerun: true,
    replaced: &[(Status::Io, Status::ServerFault)],
    ..Descriptor::looks(Operation::PutFh)
};

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    _reply: &mut Encoder,
) -> Result<(), Failure> {
    let bytes = arguments.opaque_ref(HANDLE_BYTES_MAX).map_err(|_| Status::BadXdr)?;
    // A copy, so that nothing is held of the request.
    let handle = vfs::Handle::new(bytes).filter(|handle| !handle.as_bytes().is_empty());
    let handle = handle.ok_or(Status::BadHandle)?;
    let Reached { export, node, rule } =
        context.exports.resolve(handle.as_bytes(), &context.caller).await.map_err(|error| match error {
            Unreachable::Handle(error) => status::of(error),
            Unreachable::Denied(denied) => refused(denied),
        })?;
    check_flavor(context, rule, arguments)?;
    context.set_current(context.object_of(export, node));
    Ok(())
}

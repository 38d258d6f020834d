//! DEALLOCATE (RFC 7862 §15.4).

use proto::nfs4::{Operation, Status};
use vfs::FileSystem;
use xdr::{Decoder, Encoder};

use crate::nfs4::data::allocate::{Space, change_space};
use crate::nfs4::engine::context::Context;
use crate::nfs4::engine::descriptor::Descriptor;
use crate::nfs4::engine::result::{Failure, decode};

// To give space back may take some.
pub(crate) const DESCRIPTOR: Descriptor = Descriptor {
    replaced: &[
        (Status::FileOpen, Status::AccessDenied),
        (Status::NoSpace, Status::Io),
        (Status::QuotaExceeded, Status::Io),
    ],
    ..Descriptor::changes(Operation::Deallocate)
};

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    _reply: &mut Encoder,
) -> Result<(), Failure> {
    Ok(change_space(context, decode(arguments)?, Space::GivenBack).await?)
}

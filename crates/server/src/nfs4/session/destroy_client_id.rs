//! DESTROY_CLIENTID (RFC 8881 §18.50).

use proto::nfs4::{DestroyClientIdArgs, Operation, Status};
use vfs::FileSystem;
use xdr::{Decoder, Encoder};

use crate::nfs4::engine::context::Context;
use crate::nfs4::engine::descriptor::{Descriptor, OperationOrder};
use crate::nfs4::engine::result::{Failure, decode};
use crate::nfs4::session::exchange_id::principal;

pub(crate) const DESCRIPTOR: Descriptor =
    Descriptor { place: OperationOrder::InSessionOrAlone, ..Descriptor::changes(Operation::DestroyClientId) };

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    _reply: &mut Encoder,
) -> Result<(), Failure> {
    Ok(run(context, &decode(arguments)?).await?)
}

async fn run<F: FileSystem>(context: &Context<'_, F>, arguments: &DestroyClientIdArgs) -> Result<(), Status> {
    context.check_minor_version(context.server.state().minor_version_of(arguments.client)?)?;
    let client = context.server.state().destroy_client(arguments.client, &principal(context))?;
    if client.is_recorded() {
        context.server.services().recovery().forget(&client).await;
    }
    Ok(())
}

//! DELEGRETURN (RFC 8881 §18.6).

use proto::nfs4::{DelegReturnArgs, Operation, Status};
use state::recallable::Class;
use vfs::FileSystem;
use xdr::{Decoder, Encoder};

use crate::nfs4::engine::context::Context;
use crate::nfs4::engine::descriptor::Descriptor;
use crate::nfs4::engine::result::{Failure, decode};

pub(crate) const DESCRIPTOR: Descriptor = Descriptor::changes(Operation::DelegReturn);

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    _reply: &mut Encoder,
) -> Result<(), Failure> {
    Ok(run(context, &decode(arguments)?)?)
}

fn run<F: FileSystem>(context: &Context<'_, F>, arguments: &DelegReturnArgs) -> Result<(), Status> {
    let id = context.resolve_state(arguments.state_id)?;
    let object = context.object()?;
    let client = context.client()?;
    context.server.state().check_file(client, object.file(), &id)?;
    context.server.services().delegations().return_grant(client, &id, Class::DELEGATION)
}

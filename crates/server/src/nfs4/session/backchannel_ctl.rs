//! BACKCHANNEL_CTL (RFC 8881 §18.33): another callback program, and other credentials for callbacks.

use proto::nfs4::{BackchannelCtlArgs, CallbackSecurity, Operation, Status};
use vfs::FileSystem;
use xdr::{Decoder, Encoder};

use crate::callbacks::CallbackTarget;
use crate::nfs4::engine::context::Context;
use crate::nfs4::engine::descriptor::Descriptor;
use crate::nfs4::engine::result::{Failure, decode};

pub(crate) const DESCRIPTOR: Descriptor = Descriptor::changes(Operation::BackchannelCtl);

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    _reply: &mut Encoder,
) -> Result<(), Failure> {
    Ok(run(context, &decode(arguments)?)?)
}

fn run<F: FileSystem>(context: &Context<'_, F>, arguments: &BackchannelCtlArgs) -> Result<(), Status> {
    check_gss(&arguments.callback_security)?;
    let session = context.actor.slot().ok_or(Status::OperationNotInSession)?.session();
    let target = CallbackTarget::choose(arguments.callback_program, &arguments.callback_security);
    let backchannels = context.server.services().callbacks().backchannels();
    match (backchannels.get(session.id()), target) {
        (Some(channel), Some(target)) => channel.retarget(target),
        (Some(channel), None) => channel.set_program(arguments.callback_program),
        (None, target) => {
            // There is no program to replace, or no callback fits what was negotiated.
            let is_made = target.is_some_and(|target| backchannels.insert_usable(session, target));
            return if is_made { Ok(()) } else { Err(Status::Invalid) };
        }
    }
    Ok(())
}

/// This server has no RPCSEC_GSS contexts that callbacks could use (RFC 8881 §18.33.3, §18.36.3).
pub(crate) fn check_gss(offers: &[CallbackSecurity]) -> Result<(), Status> {
    if offers.iter().any(|offer| matches!(offer, CallbackSecurity::Gss(_))) {
        return Err(Status::NoEntry);
    }
    Ok(())
}

//! DESTROY_SESSION (RFC 8881 §18.37).

use proto::nfs4::{DestroySessionArgs, Operation, Status};
use state::ConnectionId;
use vfs::FileSystem;
use xdr::{Decoder, Encoder};

use crate::nfs4::engine::context::Context;
use crate::nfs4::engine::descriptor::{Descriptor, OperationOrder};
use crate::nfs4::engine::result::{Failure, decode};
use crate::nfs4::session::exchange_id::principal;

pub(crate) const DESCRIPTOR: Descriptor =
    Descriptor { place: OperationOrder::InSessionOrAlone, ..Descriptor::changes(Operation::DestroySession) };

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    _reply: &mut Encoder,
) -> Result<(), Failure> {
    let decoded = decode(arguments)?;
    Ok(run(context, &decoded, arguments.remaining() == 0)?)
}

fn run<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &DestroySessionArgs,
    is_last: bool,
) -> Result<(), Status> {
    let server = context.server;
    let session = match server.state().session(arguments.session) {
        Err(Status::DeadSession) => {
            return server.state().destroy_dead_session(arguments.session, &principal(context));
        }
        found => found?,
    };
    context.check_minor_version(session.client().minor_version())?;
    let own = context.actor.slot().filter(|own| own.session().id() == session.id());
    // RFC 8881 §18.37.3: a request may end its own session only as its last operation.
    if own.is_some() && !is_last {
        return Err(Status::NotOnlyOperation);
    }
    // The connection must be associated with the session (§18.37.3), for every caller: a client whose
    // connection was lost binds the new one, or sends SEQUENCE over it.
    let connection = context.call.connection.id();
    let backchannels = server.services().callbacks().backchannels();
    let is_associated = session.is_associated(ConnectionId(connection))
        || backchannels.get(session.id()).is_some_and(|channel| channel.is_bound(connection));
    if !is_associated {
        return Err(Status::ConnectionNotBoundToSession);
    }
    // Requests under way still need their slots (§18.37.3: NFS4ERR_DELAY is for the client to come again).
    if session.is_busy(own.map(crate::nfs4::engine::in_session::InSession::slot)) {
        return Err(Status::Delay);
    }
    server.state().destroy_session(arguments.session)?;
    backchannels.remove(arguments.session);
    backchannels.look_for_paths(server.state(), session.client());
    Ok(())
}
